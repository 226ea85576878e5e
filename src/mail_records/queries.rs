//! All SQL on mail records. `Ok(None)` means that the member or the mail record is not there.

use sqlx::{
    FromRow, PgExecutor, Postgres, QueryBuilder, Row, postgres::PgRow, query, query_scalar,
};
use uuid::Uuid;

use super::model::{
    MailCategory, MailRecord, MailRecordFilter, MailRecordInput, MailRecordReplacement, MailStatus,
};
use crate::{
    problem::{Code, OnConstraint, Problem, QueryError},
    values::{EmailAddress, JsonObject, Line, Tags, Text, Timestamp},
};

/// A checked query that answers whole mail records: what stands before the columns, and what behind.
macro_rules! query_mail_record {
    ($before:tt, $after:tt $(, $argument:expr)* $(,)?) => {
        sqlx::query_as!(
            MailRecord,
            $before
                + r#" r.id, r.member_id, r.recipient as "recipient!: EmailAddress",
                    r.sender as "sender: EmailAddress", r.subject as "subject: Line<0, 998>",
                    r.category as "category: MailCategory", r.tags as "tags: Tags",
                    r.metadata as "metadata: JsonObject", r.message_id as "message_id: Line<1, 255>",
                    r.provider as "provider: Line<1, 100>",
                    r.provider_message_id as "provider_message_id: Line<1, 255>",
                    r.external_id as "external_id: Line<1, 255>", r.retry_of,
                    r.status as "status: MailStatus", r.status_at as "status_at: Timestamp",
                    r.status_reason as "status_reason: Text<1, 1000>",
                    r.created_at as "created_at: Timestamp", r.updated_at as "updated_at: Timestamp",
                    r.version "#
                + $after,
            $($argument),*
        )
    };
}

/// Adds a mail record to a member; none if there is no such member.
///
/// The member is in the statement for her address. Should she be deleted while it runs, the foreign
/// key tells.
pub(super) async fn insert(
    executor: impl PgExecutor<'_>,
    member_id: Uuid,
    id: Uuid,
    record: &MailRecordInput,
) -> Result<Option<MailRecord>, Problem> {
    let inserted = query_mail_record!(
        "INSERT INTO mail_records AS r
            (member_id, id, recipient, recipient_folded, sender, subject, category, tags, metadata,
             message_id, provider, provider_message_id, external_id, retry_of, status, status_at,
             status_reason)
         SELECT m.id, $2, coalesce($3, m.email), coalesce($4, m.email_folded), $5, $6, $7, $8, $9,
                $10, $11, $12, $13, $14, $15, coalesce($16, now()), $17
         FROM members m
         WHERE m.id = $1
         RETURNING",
        "",
        member_id,
        id,
        record.recipient.as_ref() as _,
        record.recipient.as_ref().map(EmailAddress::folded),
        record.sender.as_ref() as _,
        &record.subject as _,
        record.category as _,
        &record.tags as _,
        &record.metadata as _,
        record.message_id.as_ref() as _,
        record.provider.as_ref() as _,
        record.provider_message_id.as_ref() as _,
        record.external_id.as_ref() as _,
        record.retry_of,
        record.status as _,
        record.status_at as _,
        record.status_reason.as_ref() as _,
    )
    .fetch_optional(executor)
    .await;
    let inserted = name_conflicts(inserted).on_constraint("mail_records_retry_of_fkey", || {
        let detail = "This member has no mail record with that id.";
        Problem::invalid_field("retry_of", "mail_record_not_found", detail)
    });
    Ok(inserted.on_constraint("mail_records_member_id_fkey", || {
        Code::MemberNotFound.into()
    })?)
}

pub(super) async fn get(
    executor: impl PgExecutor<'_>,
    member_id: Uuid,
    id: Uuid,
) -> sqlx::Result<Option<MailRecord>> {
    query_mail_record!(
        "SELECT",
        "FROM mail_records r WHERE r.member_id = $1 AND r.id = $2",
        member_id,
        id,
    )
    .fetch_optional(executor)
    .await
}

/// What is missing where a mail record was not found: it, or its member.
pub(super) async fn missing(executor: impl PgExecutor<'_>, member_id: Uuid) -> Problem {
    let member = query_scalar!("SELECT id FROM members WHERE id = $1", member_id)
        .fetch_optional(executor)
        .await;
    match member {
        Ok(Some(_)) => Code::MailRecordNotFound.into(),
        Ok(None) => Code::MemberNotFound.into(),
        Err(error) => error.into(),
    }
}

pub(super) async fn update(
    executor: impl PgExecutor<'_>,
    member_id: Uuid,
    id: Uuid,
    record: &MailRecordReplacement,
) -> Result<Option<MailRecord>, Problem> {
    let updated = query_mail_record!(
        "UPDATE mail_records r
         SET recipient = coalesce($3, m.email), recipient_folded = coalesce($4, m.email_folded),
             sender = $5, subject = $6, category = $7, tags = $8, metadata = $9, message_id = $10,
             provider = $11, provider_message_id = $12, external_id = $13, updated_at = now(),
             version = r.version + 1
         FROM members m
         WHERE m.id = $1 AND r.member_id = $1 AND r.id = $2
         RETURNING",
        "",
        member_id,
        id,
        record.recipient.as_ref() as _,
        record.recipient.as_ref().map(EmailAddress::folded),
        record.sender.as_ref() as _,
        &record.subject as _,
        record.category as _,
        &record.tags as _,
        &record.metadata as _,
        record.message_id.as_ref() as _,
        record.provider.as_ref() as _,
        record.provider_message_id.as_ref() as _,
        record.external_id.as_ref() as _,
    )
    .fetch_optional(executor)
    .await;
    Ok(name_conflicts(updated)?)
}

fn name_conflicts<T>(result: sqlx::Result<T>) -> Result<T, QueryError> {
    result
        .on_constraint("mail_records_external_id_key", || {
            Code::ExternalIdTaken.into()
        })
        .on_constraint("mail_records_provider_message_id_key", || {
            Code::ProviderMessageIdTaken.into()
        })
        .on_constraint("mail_records_recipient_required", || {
            let detail = "The member has no address, so the mail record needs one.";
            Problem::invalid_field("recipient", "required", detail)
        })
}

pub(super) async fn delete(
    executor: impl PgExecutor<'_>,
    member_id: Uuid,
    id: Uuid,
) -> sqlx::Result<bool> {
    let deleted = query!(
        "DELETE FROM mail_records WHERE member_id = $1 AND id = $2",
        member_id,
        id,
    )
    .execute(executor)
    .await?;
    Ok(deleted.rows_affected() > 0)
}

pub(super) async fn list_all(
    executor: impl PgExecutor<'_>,
    filter: &MailRecordFilter,
    after: Option<Uuid>,
) -> sqlx::Result<Vec<MailRecord>> {
    let mut query = QueryBuilder::new("SELECT * FROM mail_records r WHERE true");
    select_rows(&mut query, filter, after);
    query.build_query_as().fetch_all(executor).await
}

/// A member's mail records, newest first; none if there is no such member.
pub(super) async fn list_of_member(
    executor: impl PgExecutor<'_>,
    member_id: Uuid,
    filter: &MailRecordFilter,
    after: Option<Uuid>,
) -> sqlx::Result<Option<Vec<MailRecord>>> {
    let mut query = QueryBuilder::new(
        "SELECT r.* FROM members m LEFT JOIN LATERAL (
             SELECT * FROM mail_records r WHERE r.member_id = m.id",
    );
    select_rows(&mut query, filter, after);
    query
        .push(") r ON true WHERE m.id = ")
        .push_bind(member_id)
        .push(" ORDER BY r.id DESC");
    records_if_member(&query.build().fetch_all(executor).await?)
}

/// The newest mail records of a member; none if there is no such member.
pub async fn newest_of_member(
    executor: impl PgExecutor<'_>,
    member_id: Uuid,
    limit: i64,
) -> sqlx::Result<Option<Vec<MailRecord>>> {
    let rows = sqlx::query(
        "SELECT r.* FROM members m LEFT JOIN LATERAL (
             SELECT * FROM mail_records r WHERE r.member_id = m.id ORDER BY r.id DESC LIMIT $2
         ) r ON true
         WHERE m.id = $1
         ORDER BY r.id DESC",
    )
    .bind(member_id)
    .bind(limit)
    .fetch_all(executor)
    .await?;
    records_if_member(&rows)
}

/// Reads rows of members outer-joined with their mail records.
///
/// The member is in the statement so that one snapshot tells both: no row means no member, a row
/// of nulls means a member with no mail. Asked for apart, a member deleted in between would look
/// like one with an emptied history.
fn records_if_member(rows: &[PgRow]) -> sqlx::Result<Option<Vec<MailRecord>>> {
    if rows.is_empty() {
        return Ok(None);
    }
    let mut records = Vec::with_capacity(rows.len());
    for row in rows {
        if row.try_get::<Option<Uuid>, _>("id")?.is_some() {
            records.push(MailRecord::from_row(row)?);
        }
    }
    Ok(Some(records))
}

/// The filters and the order that both lists share, on the table as `r`.
fn select_rows(query: &mut QueryBuilder<Postgres>, filter: &MailRecordFilter, after: Option<Uuid>) {
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
    query
        .push(" ORDER BY r.id DESC LIMIT ")
        .push_bind(filter.limit.and_one());
}
