//! `member-mail migrate`

use super::{Error, log_to_stderr};
use crate::{config::Config, postgres::database::Database};

/// Applies the migrations that the database lacks.
///
/// # Errors
/// [`Error`].
pub async fn run() -> Result<(), Error> {
    let config = Config::load()?;
    log_to_stderr(&config);
    let database = Database::open_beside_others(&config).await?;
    let migrated = database.migrate().await;
    if migrated.is_ok() {
        println!("The database at {} has every migration.", database.place);
    }
    database.close().await;
    Ok(migrated?)
}
