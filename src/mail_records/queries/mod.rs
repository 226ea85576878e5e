//! All SQL on mail records. `Ok(None)` means that the member or the mail record is not there.
//!
//! - `add`: one mail record, unless it is there already
//! - `batch`: many mail records in one statement
//! - `summary`: all mail of a member in figures
//! - `list`: the lists, put together from the filters that are given

mod add;
mod batch;
mod list;
mod summary;

use futures_util::Stream;
use sqlx::{PgConnection, PgExecutor, query_scalar, types::Json};
use uuid::Uuid;

pub(super) use add::{Added, add, repeated};
pub(super) use batch::add_all;
pub(super) use list::OfMember;
pub use list::newest_of_member;
pub use summary::summary_of_member;

use super::model::{MailCategory, MailRecord, MailRecordReplacement, MailStatus};
use crate::{
    http::{audit::Audit, conditional::Guard},
    problem::{Code, OnConstraint, Problem, QueryError},
    values::{EmailAddress, JsonObject, Line, Tags, Text, Timestamp, fold},
};

/// A checked query that answers whole mail records: what stands before the columns, and what
/// behind.
macro_rules! query_mail_record {
    ($before:tt $(+ $more:tt)*, $after:tt $(, $argument:expr)* $(,)?) => {
        sqlx::query_as!(
            MailRecord,
            $before $(+ $more)*
                + r#" AS "id!", r.member_id AS "member_id!", r.recipient AS "recipient!: EmailAddress",
                    r.sender AS "sender: EmailAddress", r.subject AS "subject!: Line<0, 998>",
                    r.category AS "category!: MailCategory", r.tags AS "tags!: Tags",
                    r.metadata AS "metadata!: JsonObject", r.message_id AS "message_id: Line<1, 255>",
                    r.provider AS "provider: Line<1, 100>",
                    r.provider_message_id AS "provider_message_id: Line<1, 255>",
                    r.external_id AS "external_id: Line<1, 255>", r.retry_of, r.retried_by,
                    r.status AS "status!: MailStatus", r.status_at AS "status_at!: Timestamp",
                    r.status_reason AS "status_reason: Text<1, 4000>", r.status_event_id,
                    r.delivered_at AS "delivered_at: Timestamp", r.bounced_at AS "bounced_at: Timestamp",
                    r.opened_count AS "opened_count!", r.first_opened_at AS "first_opened_at: Timestamp",
                    r.clicked_count AS "clicked_count!", r.first_clicked_at AS "first_clicked_at: Timestamp",
                    r.complained_at AS "complained_at: Timestamp",
                    r.unsubscribed_at AS "unsubscribed_at: Timestamp",
                    r.created_at AS "created_at!: Timestamp", r.updated_at AS "updated_at!: Timestamp",
                    r.version AS "version!" "#
                + $after,
            $($argument),*
        )
    };
}

pub(super) use query_mail_record;

/// A checked query that answers the mail records that `$insert` made, each by the author `$audit`. With each comes the event that its
/// status follows from, and what it is a retry of points to it.
macro_rules! query_new_mail_record {
    ($insert:tt, by $audit:tt $(, $argument:expr)* $(,)?) => {
        query_mail_record!(
            "WITH inserted AS (" + $insert + " RETURNING *),
             first_event AS (
                 INSERT INTO mail_events
                     (member_id, mail_record_id, id, type, occurred_at, diagnostic, effect)
                 SELECT member_id, id, id, status, status_at, status_reason, 'applied' FROM inserted
             ),
             retried AS (
                 UPDATE mail_records f
                 SET retried_by = i.id, updated_at = greatest(f.updated_at, clock_timestamp()),
                     version = f.version + 1
                 FROM inserted i WHERE f.member_id = i.member_id AND f.id = i.retry_of
             )
             SELECT record_write(" + $audit + ", 'mail_record', r.id, r.member_id)",
            "FROM inserted r"
            $(, $argument)*
        )
    };
}

use query_new_mail_record;

pub(super) async fn get(
    executor: impl PgExecutor<'_>,
    member_id: Uuid,
    id: Uuid,
) -> sqlx::Result<Option<MailRecord>> {
    query_mail_record!(
        "SELECT r.id",
        "FROM mail_records r WHERE r.member_id = $1 AND r.id = $2",
        member_id,
        id,
    )
    .fetch_optional(executor)
    .await
}

/// All mail records of a member, oldest first.
pub fn all_of_member(
    connection: &mut PgConnection,
    member_id: Uuid,
) -> impl Stream<Item = sqlx::Result<MailRecord>> {
    query_mail_record!(
        "SELECT r.id",
        "FROM mail_records r WHERE r.member_id = $1 ORDER BY r.id",
        member_id,
    )
    .fetch(connection)
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

/// Reads a mail record and keeps others from writing it until the transaction ends.
pub(super) async fn lock(
    executor: impl PgExecutor<'_>,
    member_id: Uuid,
    id: Uuid,
) -> sqlx::Result<Option<MailRecord>> {
    query_mail_record!(
        "SELECT r.id",
        "FROM mail_records r WHERE r.member_id = $1 AND r.id = $2 FOR NO KEY UPDATE",
        member_id,
        id,
    )
    .fetch_optional(executor)
    .await
}

/// Replaces a mail record in one of the versions that `guard` lets through.
pub(super) async fn replace(
    executor: impl PgExecutor<'_>,
    member_id: Uuid,
    id: Uuid,
    record: &MailRecordReplacement,
    guard: &Guard,
    audit: &Audit,
) -> Result<Option<MailRecord>, Problem> {
    let updated = query_mail_record!(
        "UPDATE mail_records r
         SET recipient = coalesce($3, r.recipient),
             recipient_folded = coalesce($4, r.recipient_folded),
             sender = $5, subject = $6, category = $7, tags = $8, metadata = $9, message_id = $10,
             provider = $11, provider_message_id = $12, external_id = $13, subject_folded = $14,
             updated_at = greatest(r.updated_at, clock_timestamp()), version = r.version + 1
         WHERE r.member_id = $1 AND r.id = $2
             AND ($15::bigint[] IS NULL OR r.version = ANY ($15)) AND r.version <> ALL ($16)
         RETURNING record_write($17, 'mail_record', r.id, r.member_id)",
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
        fold(record.subject.as_str()),
        guard.only.as_deref(),
        &guard.except,
        Json(audit) as _,
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
}

/// Deletes a mail record in one of the versions that `guard` lets through.
pub(super) async fn delete(
    executor: impl PgExecutor<'_>,
    member_id: Uuid,
    id: Uuid,
    guard: &Guard,
    audit: &Audit,
) -> sqlx::Result<bool> {
    // The foreign keys would clear `retry_of` and `retried_by` as well, but leave the version as it was.
    let deleted = query_scalar!(
        r#"WITH deleted AS (
               DELETE FROM mail_records
               WHERE member_id = $1 AND id = $2
                   AND ($3::bigint[] IS NULL OR version = ANY ($3)) AND version <> ALL ($4)
               RETURNING record_write($5, 'mail_record', id, member_id) AS id
           ), others AS (
               UPDATE mail_records r
               SET retry_of = nullif(r.retry_of, d.id), retried_by = nullif(r.retried_by, d.id),
                   updated_at = greatest(r.updated_at, clock_timestamp()), version = r.version + 1
               FROM deleted d
               WHERE r.member_id = $1 AND (r.retry_of = d.id OR r.retried_by = d.id)
           )
           SELECT EXISTS (SELECT FROM deleted) AS "deleted!""#,
        member_id,
        id,
        guard.only.as_deref(),
        &guard.except,
        Json(audit) as _,
    )
    .fetch_one(executor)
    .await?;
    Ok(deleted)
}

/// The mail that a deleted member had.
#[derive(Debug)]
pub struct DeletedMail {
    pub ids: Vec<Uuid>,
    /// The addresses that it went to, folded, each once.
    pub recipients: Vec<String>,
}

/// Deletes all mail of a member, with its events.
pub async fn delete_of_member(
    executor: impl PgExecutor<'_>,
    member_id: Uuid,
) -> sqlx::Result<DeletedMail> {
    sqlx::query_as!(
        DeletedMail,
        r#"WITH deleted AS (
               DELETE FROM mail_records WHERE member_id = $1 RETURNING id, recipient_folded
           )
           SELECT coalesce(array_agg(id), '{}') AS "ids!",
                  coalesce(array_agg(DISTINCT recipient_folded), '{}') AS "recipients!"
           FROM deleted"#,
        member_id,
    )
    .fetch_one(executor)
    .await
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
    let inserted = query_scalar!(
        r#"WITH inserted AS (
               INSERT INTO mail_records
                   (member_id, id, recipient, recipient_folded, sender, subject, subject_folded, category,
                    status, status_at, status_reason, status_event_id, delivered_at, bounced_at)
               SELECT m.id, mail.id, m.email, m.email_folded, 'news@club.example',
                      'News ' || n + 1, 'news ' || n + 1,
                      CASE WHEN n % 4 = 0 THEN 'transactional' ELSE 'marketing' END,
                      s.status, now(), CASE s.status WHEN 'bounced' THEN '4.2.2' END, mail.id,
                      CASE s.status WHEN 'delivered' THEN now() END,
                      CASE s.status WHEN 'bounced' THEN now() END
               FROM unnest($1::uuid[], $2::uuid[], $3::int[]) AS mail (member_id, id, n)
               JOIN members m ON m.id = mail.member_id AND m.email IS NOT NULL,
               LATERAL (
                   SELECT (ARRAY['delivered', 'delivered', 'delivered', 'sent', 'deferred', 'bounced'])[1 + n % 6]
               ) AS s (status)
               ON CONFLICT DO NOTHING
               RETURNING *
           ),
           first_event AS (
               INSERT INTO mail_events
                   (member_id, mail_record_id, id, type, occurred_at, enhanced_code, effect)
               SELECT member_id, id, id, status, status_at, status_reason, 'applied' FROM inserted
           )
           SELECT count(*) AS "count!" FROM inserted"#,
        members,
        ids,
        numbers,
    )
    .fetch_one(executor)
    .await?;
    Ok(inserted.cast_unsigned())
}
