//! All SQL on mail records. `Ok(None)` means that the member or the mail record is not there.
//!
//! - `list`: the lists, put together from the filters that are given

mod list;

use sqlx::{PgExecutor, query, query_scalar};
use uuid::Uuid;

pub use list::newest_of_member;
pub(super) use list::{list_all, list_of_member};

use super::model::{MailCategory, MailRecord, MailRecordInput, MailRecordReplacement, MailStatus};
use crate::{
    problem::{Code, OnConstraint, Problem, QueryError},
    values::{EmailAddress, JsonObject, Line, Tags, Text, Timestamp},
};

/// A checked query that answers whole mail records: what stands before the columns, and what
/// behind.
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
    let inserted = name_constraints(inserted).on_constraint("mail_records_retry_of_fkey", || {
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
         SET recipient = coalesce($3, r.recipient),
             recipient_folded = coalesce($4, r.recipient_folded),
             sender = $5, subject = $6, category = $7, tags = $8, metadata = $9, message_id = $10,
             provider = $11, provider_message_id = $12, external_id = $13, updated_at = now(),
             version = r.version + 1
         WHERE r.member_id = $1 AND r.id = $2
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
    Ok(name_constraints(updated)?)
}

fn name_constraints<T>(result: sqlx::Result<T>) -> Result<T, QueryError> {
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

/// Adds mail to try things on, each made from a number; says how many were new. What is there
/// already stays.
pub async fn insert_examples(
    executor: impl PgExecutor<'_>,
    members: &[Uuid],
    ids: &[Uuid],
    numbers: &[i32],
) -> sqlx::Result<u64> {
    // A member whom the register has under another id already is left alone, and so is her mail.
    let inserted = query!(
        "INSERT INTO mail_records
             (member_id, id, recipient, recipient_folded, sender, subject, category, status, status_at)
         SELECT m.id, mail.id, m.email, m.email_folded, 'news@club.example',
                'News ' || n + 1, CASE WHEN n % 4 = 0 THEN 'transactional' ELSE 'marketing' END,
                (ARRAY['delivered', 'delivered', 'delivered', 'sent', 'deferred', 'bounced'])[1 + n % 6],
                now()
         FROM unnest($1::uuid[], $2::uuid[], $3::int[]) AS mail (member_id, id, n)
         JOIN members m ON m.id = mail.member_id AND m.email IS NOT NULL
         ON CONFLICT DO NOTHING",
        members,
        ids,
        numbers,
    )
    .execute(executor)
    .await?;
    Ok(inserted.rows_affected())
}
