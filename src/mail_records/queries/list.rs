//! The lists of mail records, put together at run time from the filters that are given.

use sqlx::{FromRow, PgExecutor, Postgres, QueryBuilder, Row};
use uuid::Uuid;

use crate::mail_records::model::{ListMailRecords, MailRecord};

/// By name and not by `*`: a column that a later version adds must not change what a statement,
/// once prepared, answers.
const COLUMNS: &str = "r.id, r.member_id, r.recipient, r.sender, r.subject, r.category, r.tags, \
                       r.metadata, r.message_id, r.provider, r.provider_message_id, r.external_id, \
                       r.retry_of, r.status, r.status_at, r.status_reason, r.created_at, r.updated_at, \
                       r.version";

pub(in crate::mail_records) async fn list_all(
    executor: impl PgExecutor<'_>,
    filter: &ListMailRecords,
    after: Option<Uuid>,
) -> sqlx::Result<Vec<MailRecord>> {
    let mut query = QueryBuilder::new("SELECT ");
    query.push(COLUMNS).push(" FROM mail_records r WHERE true");
    push_filters(&mut query, filter, after);
    push_order(&mut query, filter.limit.and_one());
    query.build_query_as().fetch_all(executor).await
}

/// A member's mail records, newest first; none if there is no such member.
pub(in crate::mail_records) async fn list_of_member(
    executor: impl PgExecutor<'_>,
    member_id: Uuid,
    filter: &ListMailRecords,
    after: Option<Uuid>,
) -> sqlx::Result<Option<Vec<MailRecord>>> {
    of_member(executor, member_id, filter, after, filter.limit.and_one()).await
}

/// The newest mail records of a member; none if there is no such member.
pub async fn newest_of_member(
    executor: impl PgExecutor<'_>,
    member_id: Uuid,
    rows: i64,
) -> sqlx::Result<Option<Vec<MailRecord>>> {
    of_member(executor, member_id, &ListMailRecords::default(), None, rows).await
}

/// The member is in the statement so that one snapshot tells both: no row means no member, a row of
/// nulls means a member with no mail. Asked for apart, a member deleted in between would look like
/// one with an emptied history.
async fn of_member(
    executor: impl PgExecutor<'_>,
    member_id: Uuid,
    filter: &ListMailRecords,
    after: Option<Uuid>,
    rows: i64,
) -> sqlx::Result<Option<Vec<MailRecord>>> {
    let mut query = QueryBuilder::new("SELECT r.* FROM members m LEFT JOIN LATERAL (SELECT ");
    query
        .push(COLUMNS)
        .push(" FROM mail_records r WHERE r.member_id = m.id");
    push_filters(&mut query, filter, after);
    push_order(&mut query, rows);
    query
        .push(") r ON true WHERE m.id = ")
        .push_bind(member_id)
        .push(" ORDER BY r.id DESC");
    let rows = query.build().fetch_all(executor).await?;
    if rows.is_empty() {
        return Ok(None);
    }
    let mut records = Vec::with_capacity(rows.len());
    for row in rows {
        if row.try_get::<Option<Uuid>, _>("id")?.is_some() {
            records.push(MailRecord::from_row(&row)?);
        }
    }
    Ok(Some(records))
}

/// The filters that both lists share, on the table as `r`.
fn push_filters(query: &mut QueryBuilder<Postgres>, filter: &ListMailRecords, after: Option<Uuid>) {
    if let Some(id) = after {
        query.push(" AND r.id < ").push_bind(id);
    }
    if let Some(status) = filter.status {
        query.push(" AND r.status = ").push_bind(status);
    }
    if let Some(recipient) = &filter.recipient {
        query
            .push(" AND r.recipient_folded = ")
            .push_bind(recipient.folded());
    }
    if let Some(category) = filter.category {
        query.push(" AND r.category = ").push_bind(category);
    }
    if let Some(from) = filter.created_from {
        query.push(" AND r.created_at >= ").push_bind(from);
    }
    if let Some(to) = filter.created_to {
        query.push(" AND r.created_at < ").push_bind(to);
    }
}

fn push_order(query: &mut QueryBuilder<Postgres>, rows: i64) {
    query.push(" ORDER BY r.id DESC LIMIT ").push_bind(rows);
}
