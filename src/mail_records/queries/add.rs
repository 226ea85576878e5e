//! One mail record, unless it is there already.

use sqlx::{Connection, PgConnection, PgExecutor, query, types::Json};
use uuid::Uuid;

use super::{get, query_mail_record, query_new_mail_record};
use crate::{
    http::audit::Audit,
    mail_records::{
        events::consequences::{FailureLimit, follow_first, may_follow},
        model::{MailCategory, MailRecord, MailRecordInput, MailStatus},
    },
    problem::{Code, OnConstraint, Problem},
    values::{EmailAddress, JsonObject, Line, Tags, Text, Timestamp, fold},
};

/// What became of a mail record that was to be added.
pub(in crate::mail_records) enum Added {
    Created(MailRecord),
    /// It was there already, written with the same body.
    Standing(MailRecord),
}

/// Adds a mail record to a member, or finds that it is there already; none if there is no such
/// member. `fingerprint` is that of what was given.
pub(in crate::mail_records) async fn add(
    connection: &mut PgConnection,
    member_id: Uuid,
    record: &MailRecordInput,
    fingerprint: &[u8],
    limit: FailureLimit,
    audit: &Audit,
) -> Result<Option<Added>, Problem> {
    if !may_follow(record.status) {
        return add_record(connection, member_id, record, fingerprint, audit).await;
    }
    let mut transaction = connection.begin().await?;
    let added = add_record(&mut transaction, member_id, record, fingerprint, audit).await?;
    if let Some(Added::Created(record)) = &added {
        follow_first(&mut transaction, record, limit, audit).await?;
    }
    transaction.commit().await?;
    Ok(added)
}

async fn add_record(
    connection: &mut PgConnection,
    member_id: Uuid,
    record: &MailRecordInput,
    fingerprint: &[u8],
    audit: &Audit,
) -> Result<Option<Added>, Problem> {
    // Once, unless what has the key vanishes between the two statements.
    for _ in 0..3 {
        let id = Uuid::now_v7();
        let inserted = insert(&mut *connection, member_id, id, record, fingerprint, audit).await?;
        if let Some(record) = inserted {
            return Ok(Some(Added::Created(record)));
        }
        let Some(member) = standing(&mut *connection, member_id, record).await? else {
            return Ok(None);
        };
        match member.verdict(record, fingerprint) {
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

/// The mail record that is there already, written with the same body.
pub(in crate::mail_records) async fn repeated(
    connection: &mut PgConnection,
    member_id: Uuid,
    record: &MailRecordInput,
    fingerprint: &[u8],
) -> sqlx::Result<Option<MailRecord>> {
    let member = standing(&mut *connection, member_id, record).await?;
    match member.and_then(|member| member.verdict(record, fingerprint)) {
        Some(Verdict::Standing(id)) => get(connection, member_id, id).await,
        _ => Ok(None),
    }
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
    audit: &Audit,
) -> Result<Option<MailRecord>, Problem> {
    let inserted = query_new_mail_record!(
        "INSERT INTO mail_records
            (member_id, id, recipient, recipient_folded, sender, subject, category, tags, metadata,
             message_id, provider, provider_message_id, external_id, retry_of, status, status_at,
             status_reason, fingerprint, subject_folded, status_event_id, delivered_at, bounced_at)
         SELECT m.id, $2, coalesce($3, m.email), coalesce($4, m.email_folded), $5, $6, $7, $8, $9,
                $10, $11, $12, $13, $14, $15, coalesce($16, now()), $17, $18, $19, $2,
                CASE $15 WHEN 'delivered' THEN coalesce($16, now()) END,
                CASE $15 WHEN 'bounced' THEN coalesce($16, now()) END
         FROM members m
         WHERE m.id = $1 AND coalesce($4, m.email_folded) IS NOT NULL
         ON CONFLICT DO NOTHING",
        by "$20",
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
        Json(audit) as _,
    )
    .fetch_optional(executor)
    .await;
    let inserted = inserted.on_constraint("mail_records_retry_of_fkey", no_first_attempt);
    Ok(inserted.on_constraint("mail_records_member_id_fkey", || {
        Code::MemberNotFound.into()
    })?)
}

pub(super) fn no_first_attempt() -> Problem {
    let detail = "This member has no mail record with that id.";
    Problem::invalid_field("retry_of", "mail_record_not_found", detail)
}

/// What there is already of a member.
pub(super) struct Member {
    pub(super) has_email: bool,
    pub(super) records: Vec<Standing>,
}

/// A mail record that has a key.
pub(super) struct Standing {
    pub(super) id: Uuid,
    pub(super) external_id: Option<String>,
    pub(super) fingerprint: Option<Vec<u8>>,
}

impl Standing {
    /// Whether it has the key still that `record` gives it.
    fn keeps(&self, record: &MailRecordInput) -> bool {
        let key = record.external_id.as_ref().map(Line::as_str);
        key.is_none() || key == self.external_id.as_deref()
    }
}

/// Why a mail record was not added.
pub(super) enum Verdict {
    /// It is there already, with this id.
    Standing(Uuid),
    Refused(Problem),
}

impl Member {
    /// Why `record` was not added; none if nothing stands in its way any more.
    pub(super) fn verdict(&self, record: &MailRecordInput, fingerprint: &[u8]) -> Option<Verdict> {
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
