//! All SQL on mail records. `Ok(None)` means that the member or the mail record is not there.
//!
//! - `batch`: many mail records in one statement
//! - `list`: the lists, put together from the filters that are given

mod batch;
mod list;

use sqlx::{PgConnection, PgExecutor, query, query_scalar};
use uuid::Uuid;

pub(super) use batch::add_all;
pub(super) use list::OfMember;
pub use list::newest_of_member;

use super::model::{MailCategory, MailRecord, MailRecordInput, MailRecordReplacement, MailStatus};
use crate::{
    http::conditional::Guard,
    problem::{Code, OnConstraint, Problem, QueryError},
    values::{EmailAddress, JsonObject, Line, Tags, Text, Timestamp, fold},
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

use query_mail_record;

/// What became of a mail record that was to be added.
pub(super) enum Added {
    Created(MailRecord),
    /// It was there already, written with the same body.
    Standing(MailRecord),
}

/// Adds a mail record to a member, or finds that it is there already; none if there is no such
/// member.
pub(super) async fn add(
    connection: &mut PgConnection,
    member_id: Uuid,
    record: &MailRecordInput,
) -> Result<Option<Added>, Problem> {
    let fingerprint = record.fingerprint();
    // Once, unless what has the key vanishes between the two statements.
    for _ in 0..3 {
        let id = Uuid::now_v7();
        let inserted = insert(&mut *connection, member_id, id, record, &fingerprint).await?;
        if let Some(record) = inserted {
            return Ok(Some(Added::Created(record)));
        }
        let Some(member) = standing(&mut *connection, member_id, record).await? else {
            return Ok(None);
        };
        match member.verdict(record, &fingerprint) {
            None => {}
            Some(Verdict::Refused(problem)) => return Err(problem),
            Some(Verdict::Standing(id)) => {
                if let Some(record) = get(&mut *connection, member_id, id).await? {
                    return Ok(Some(Added::Standing(record)));
                }
            }
        }
    }
    Err(Code::ExternalIdTaken.into())
}

/// Adds a mail record to a member; none if there is no such member, if one of its keys is taken, or if
/// neither it nor the member has an address.
///
/// The member is in the statement for her address. Should she be deleted while it runs, the foreign
/// key tells.
async fn insert(
    executor: impl PgExecutor<'_>,
    member_id: Uuid,
    id: Uuid,
    record: &MailRecordInput,
    fingerprint: &[u8],
) -> Result<Option<MailRecord>, Problem> {
    let inserted = query_mail_record!(
        "INSERT INTO mail_records AS r
            (member_id, id, recipient, recipient_folded, sender, subject, category, tags, metadata,
             message_id, provider, provider_message_id, external_id, retry_of, status, status_at,
             status_reason, fingerprint, subject_folded)
         SELECT m.id, $2, coalesce($3, m.email), coalesce($4, m.email_folded), $5, $6, $7, $8, $9,
                $10, $11, $12, $13, $14, $15, coalesce($16, now()), $17, $18, $19
         FROM members m
         WHERE m.id = $1 AND coalesce($4, m.email_folded) IS NOT NULL
         ON CONFLICT DO NOTHING
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
        fingerprint,
        fold(record.subject.as_str()),
    )
    .fetch_optional(executor)
    .await;
    let inserted = inserted.on_constraint("mail_records_retry_of_fkey", no_first_attempt);
    Ok(inserted.on_constraint("mail_records_member_id_fkey", || {
        Code::MemberNotFound.into()
    })?)
}

fn no_first_attempt() -> Problem {
    let detail = "This member has no mail record with that id.";
    Problem::invalid_field("retry_of", "mail_record_not_found", detail)
}

/// What there is already of a member.
struct Member {
    has_email: bool,
    records: Vec<Standing>,
}

/// A mail record that has a key.
struct Standing {
    id: Uuid,
    external_id: Option<String>,
    fingerprint: Option<Vec<u8>>,
}

impl Standing {
    /// Whether it has the key still that `record` gives it.
    fn keeps(&self, record: &MailRecordInput) -> bool {
        let key = record.external_id.as_ref().map(Line::as_str);
        key.is_none() || key == self.external_id.as_deref()
    }
}

/// Why a mail record was not added.
enum Verdict {
    /// It is there already, with this id.
    Standing(Uuid),
    Refused(Problem),
}

impl Member {
    /// Why `record` was not added; none if nothing stands in its way any more.
    fn verdict(&self, record: &MailRecordInput, fingerprint: &[u8]) -> Option<Verdict> {
        match self.records.as_slice() {
            [] if record.recipient.is_none() && !self.has_email => {
                let detail = "The member has no address, so the mail record needs one.";
                let problem = Problem::invalid_field("recipient", "required", detail);
                Some(Verdict::Refused(problem))
            }
            [] => None,
            [one] if one.fingerprint.as_deref() == Some(fingerprint) && one.keeps(record) => {
                Some(Verdict::Standing(one.id))
            }
            others => {
                let key = record.external_id.as_ref().map(Line::as_str);
                let has_key =
                    |other: &Standing| key.is_some() && other.external_id.as_deref() == key;
                let code = if others.iter().any(has_key) {
                    Code::ExternalIdTaken
                } else {
                    Code::ProviderMessageIdTaken
                };
                Some(Verdict::Refused(code.into()))
            }
        }
    }
}

/// The mail records of a member that have one of the keys of `record`; none if there is no such
/// member.
async fn standing(
    executor: impl PgExecutor<'_>,
    member_id: Uuid,
    record: &MailRecordInput,
) -> sqlx::Result<Option<Member>> {
    let rows = query!(
        r#"SELECT m.email IS NOT NULL AS "has_email!", r.id AS "id?", r.external_id, r.fingerprint
           FROM members m
           LEFT JOIN mail_records r ON r.member_id = m.id
               AND (r.external_id = $2
                    OR (coalesce(r.provider, '') = coalesce($3, '') AND r.provider_message_id = $4))
           WHERE m.id = $1"#,
        member_id,
        record.external_id.as_ref() as _,
        record.provider.as_ref() as _,
        record.provider_message_id.as_ref() as _,
    )
    .fetch_all(executor)
    .await?;
    let has_email = rows.first().map(|row| row.has_email);
    let records = rows.into_iter().filter_map(|row| {
        Some(Standing {
            id: row.id?,
            external_id: row.external_id,
            fingerprint: row.fingerprint,
        })
    });
    Ok(has_email.map(|has_email| Member {
        has_email,
        records: records.collect(),
    }))
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

/// Reads a mail record and keeps others from writing it until the transaction ends.
pub(super) async fn lock(
    executor: impl PgExecutor<'_>,
    member_id: Uuid,
    id: Uuid,
) -> sqlx::Result<Option<MailRecord>> {
    query_mail_record!(
        "SELECT",
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
        fold(record.subject.as_str()),
        guard.only.as_deref(),
        &guard.except,
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
) -> sqlx::Result<bool> {
    // The foreign key would clear `retry_of` as well, but leave the version as it was.
    let deleted = query_scalar!(
        r#"WITH deleted AS (
               DELETE FROM mail_records
               WHERE member_id = $1 AND id = $2
                   AND ($3::bigint[] IS NULL OR version = ANY ($3)) AND version <> ALL ($4)
               RETURNING id
           ), retries AS (
               UPDATE mail_records
               SET retry_of = NULL, updated_at = greatest(updated_at, clock_timestamp()),
                   version = version + 1
               WHERE member_id = $1 AND retry_of IN (SELECT id FROM deleted)
           )
           SELECT EXISTS (SELECT FROM deleted) AS "deleted!""#,
        member_id,
        id,
        guard.only.as_deref(),
        &guard.except,
    )
    .fetch_one(executor)
    .await?;
    Ok(deleted)
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
             (member_id, id, recipient, recipient_folded, sender, subject, subject_folded, category,
              status, status_at)
         SELECT m.id, mail.id, m.email, m.email_folded, 'news@club.example',
                'News ' || n + 1, 'news ' || n + 1, CASE WHEN n % 4 = 0 THEN 'transactional' ELSE 'marketing' END,
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
