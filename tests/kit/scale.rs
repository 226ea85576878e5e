//! A register as large as one gets.

use sqlx::{AssertSqlSafe, PgConnection};

/// A script that adds members, `count` of them.
pub(crate) fn members(count: u32) -> String {
    include_str!("scale/members.sql").replace(":members", &count.to_string())
}

/// Runs a script that fills tables. They are without their indexes meanwhile, which are faster made than
/// kept.
pub(crate) async fn fill(sql: &mut PgConnection, script: &str) {
    let indexes: Vec<(String, String)> = sqlx::query_as(
        "SELECT indexname::text, indexdef FROM pg_indexes
         WHERE tablename IN ('members', 'mail_records')
           AND indexname NOT IN (SELECT conname FROM pg_constraint)",
    )
    .fetch_all(&mut *sql)
    .await
    .expect("indexes");
    let mut whole = String::new();
    whole.extend(
        indexes
            .iter()
            .map(|(name, _)| format!("DROP INDEX {name};\n")),
    );
    whole.push_str(script);
    whole.push_str("SET maintenance_work_mem = '512MB';\n");
    whole.extend(
        indexes
            .iter()
            .map(|(_, definition)| format!("{definition};\n")),
    );
    for script in [&whole, "VACUUM ANALYZE"] {
        sqlx::raw_sql(AssertSqlSafe(script.to_owned()))
            .execute(&mut *sql)
            .await
            .expect("filled");
    }
}
