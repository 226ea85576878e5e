//! The migrations, compiled into the binary.

use std::collections::HashSet;

use sqlx::{
    ConnectOptions, PgPool,
    error::DatabaseError,
    migrate::{MigrateError, Migrator},
    postgres::PgConnectOptions,
};

/// The same files that `sqlx migrate run` reads.
pub static MIGRATIONS: Migrator = sqlx::migrate!();

/// Applies what the database lacks. Instances that start together wait for one another.
///
/// On a connection of its own: a migration may take longer than a request is allowed to.
///
/// Migrations that this version does not know are a later version's, and left alone: the versions
/// run beside each other while one replaces the other.
///
/// # Errors
/// If the database cannot be reached, a migration fails, or one was changed after it was applied.
pub async fn run(options: &PgConnectOptions) -> Result<(), MigrateError> {
    let mut migrations = sqlx::migrate!();
    migrations.set_ignore_missing(true);
    let mut connection = options.connect().await?;
    migrations.run(&mut connection).await
}

/// How many migrations the database lacks.
///
/// # Errors
/// If the database cannot be reached.
pub async fn pending(pool: &PgPool) -> sqlx::Result<usize> {
    let applied = sqlx::query_scalar("SELECT version FROM _sqlx_migrations WHERE success")
        .fetch_all(pool)
        .await;
    let applied: HashSet<i64> = match applied {
        Ok(versions) => versions.into_iter().collect(),
        Err(error) if is_undefined_table(&error) => HashSet::new(),
        Err(error) => return Err(error),
    };
    let wanted = MIGRATIONS
        .iter()
        .filter(|migration| migration.migration_type.is_up_migration());
    Ok(wanted
        .filter(|migration| !applied.contains(&migration.version))
        .count())
}

/// A database that was never migrated has no table of migrations.
fn is_undefined_table(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(DatabaseError::code);
    code.as_deref() == Some("42P01")
}
