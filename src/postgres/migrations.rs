//! The migrations, compiled into the binary.

use std::collections::HashSet;

use sqlx::{
    ConnectOptions, PgExecutor,
    error::DatabaseError,
    migrate::{MigrateError, Migrator},
    postgres::PgConnectOptions,
};

/// The same files that `sqlx migrate run` reads.
pub static MIGRATIONS: Migrator = sqlx::migrate!();

/// Applies what the database lacks. Instances that start together wait for one another.
///
/// On a connection of its own: a migration may take longer than a request is allowed to. Where
/// nothing is lacking nothing is written, so that a role without the right to create tables will
/// do. Migrations that this version does not know are a later version's, and left alone: the
/// versions run beside each other while one replaces the other.
///
/// # Errors
/// If the database cannot be reached, a migration fails, or one was changed after it was applied.
pub async fn run(options: &PgConnectOptions) -> Result<(), MigrateError> {
    let mut connection = options.connect().await?;
    if pending(&mut connection).await? == 0 {
        return Ok(());
    }
    let mut migrations = sqlx::migrate!();
    migrations.set_ignore_missing(true);
    migrations.run(&mut connection).await
}

/// How many migrations the database lacks, or has in another form.
///
/// # Errors
/// If the database cannot be reached.
pub async fn pending(executor: impl PgExecutor<'_>) -> sqlx::Result<usize> {
    let applied = sqlx::query_as("SELECT version, checksum FROM _sqlx_migrations WHERE success")
        .fetch_all(executor)
        .await;
    let applied: HashSet<(i64, Vec<u8>)> = match applied {
        Ok(rows) => rows.into_iter().collect(),
        Err(error) if is_undefined_table(&error) => HashSet::new(),
        Err(error) => return Err(error),
    };
    let wanted = MIGRATIONS
        .iter()
        .filter(|migration| migration.migration_type.is_up_migration());
    Ok(wanted
        .filter(|wanted| !applied.contains(&(wanted.version, wanted.checksum.to_vec())))
        .count())
}

/// A database that was never migrated has no table of migrations.
fn is_undefined_table(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(DatabaseError::code);
    code.as_deref() == Some("42P01")
}
