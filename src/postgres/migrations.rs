//! The migrations, compiled into the binary.

use std::collections::HashSet;

use sqlx::{
    ConnectOptions, PgPool,
    migrate::{MigrateError, Migrator},
    postgres::PgConnectOptions,
};

/// The same files that `sqlx migrate run` reads.
pub static MIGRATIONS: Migrator = sqlx::migrate!();

/// Applies what the database lacks. Instances that start together wait for one another.
///
/// On a connection of its own: a migration may take longer than a request is allowed to.
///
/// # Errors
/// If the database cannot be reached, a migration fails, or one was changed after it was applied.
pub async fn run(options: &PgConnectOptions) -> Result<(), MigrateError> {
    let mut connection = options.connect().await?;
    MIGRATIONS.run(&mut connection).await
}

/// How many migrations the database lacks.
///
/// # Errors
/// If the database cannot be reached, or was never migrated.
pub async fn pending(pool: &PgPool) -> sqlx::Result<usize> {
    let applied: HashSet<i64> =
        sqlx::query_scalar("SELECT version FROM _sqlx_migrations WHERE success")
            .fetch_all(pool)
            .await?
            .into_iter()
            .collect();
    let wanted = MIGRATIONS
        .iter()
        .filter(|migration| migration.migration_type.is_up_migration());
    Ok(wanted
        .filter(|migration| !applied.contains(&migration.version))
        .count())
}
