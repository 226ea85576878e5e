//! All SQL on the audit log but the function that adds to it.

use std::time::Duration;

use sqlx::{PgExecutor, Postgres, QueryBuilder, query};

use super::model::{AuditLogEntry, AuditLogFilter};
use crate::http::list::{
    Listed, Purpose, Selection,
    order::{Order, SortKey},
};

const AT: SortKey = SortKey::timestamp("at", "a.at");

impl Listed for AuditLogEntry {
    const COLUMNS: &'static str = "a.id, a.at, a.key_id, a.request_id, a.operation, a.resource, \
                                   a.resource_id, a.member_id, a.fields";
    const TABLE: &'static str = "audit_log a";
    const ID: &'static str = "a.id";
    const SORT_KEYS: &'static [SortKey] = &[AT];
    const NAME: &'static str = "audit_log_entry";
    const FIELDS: &'static [&'static str] = &[
        "id",
        "at",
        "key_id",
        "request_id",
        "operation",
        "resource",
        "resource_id",
        "member_id",
        "fields",
    ];
}

impl Selection for AuditLogFilter {
    /// By id, all that is newer than `to` would be read first, and behind the last page all that is older
    /// than `from`.
    fn default_order(&self) -> Order {
        if self.from.is_some() || self.to.is_some() {
            Order::descending(&AT)
        } else {
            Order::default()
        }
    }

    fn push_filters(&self, query: &mut QueryBuilder<Postgres>, _: Purpose) {
        for (column, id) in [
            ("key_id", self.key_id),
            ("resource_id", self.resource_id),
            ("member_id", self.member_id),
        ] {
            if let Some(id) = id {
                query.push(format_args!(" AND a.{column} = ")).push_bind(id);
            }
        }
        if let Some(operation) = &self.operation {
            query
                .push(" AND a.operation = ")
                .push_bind(operation.as_str().to_owned());
        }
        if let Some(resource) = self.resource {
            query.push(" AND a.resource = ").push_bind(resource);
        }
        if let Some(request_id) = &self.request_id {
            query
                .push(" AND a.request_id = ")
                .push_bind(request_id.as_str().to_owned());
        }
        if let Some(from) = self.from {
            query.push(" AND a.at >= ").push_bind(from);
        }
        if let Some(to) = self.to {
            query.push(" AND a.at < ").push_bind(to);
        }
    }
}

/// Removes some of the entries that are older than this, and says how many.
///
/// What another instance is removing is left to it.
pub async fn delete_older(
    executor: impl PgExecutor<'_>,
    age: Duration,
    limit: i64,
) -> sqlx::Result<u64> {
    let deleted = query!(
        "DELETE FROM audit_log
         WHERE id IN (
             SELECT id FROM audit_log WHERE at < now() - make_interval(secs => $1)
             ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED
         )",
        age.as_secs_f64(),
        limit,
    )
    .execute(executor)
    .await?;
    Ok(deleted.rows_affected())
}
