//! `member-mail migrate`

use std::io::{self, Write};

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
    let place = database.place.clone();
    database.close().await;
    migrated?;
    writeln!(io::stdout(), "The database at {place} has every migration.")?;
    Ok(())
}
