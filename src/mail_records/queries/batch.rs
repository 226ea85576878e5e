//! Many mail records in one statement.

use std::collections::{BTreeMap, HashMap};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::Serialize;
use sqlx::{PgConnection, PgExecutor, query, types::Json};
use uuid::Uuid;

use super::{
    add::{Member, Standing, Verdict, no_first_attempt},
    query_mail_record, query_new_mail_record,
};
use crate::{
    http::{
        audit::Audit,
        batch::{Outcome, in_turn},
    },
    mail_records::{
        events::consequences::{FailureLimit, follow_first},
        item::MailRecordItem,
        model::{MailCategory, MailRecord, MailRecordInput, MailStatus},
    },
    problem::{Code, Problem},
    values::{EmailAddress, JsonObject, Line, Tags, Text, Timestamp, fold},
};

/// A mail record as a row of the statement.
#[derive(Serialize)]
struct Row<'a> {
    /// When it is inserted: a statement follows the order of its rows.
    turn: usize,
    id: Uuid,
    member_id: Uuid,
    recipient_folded: Option<String>,
    subject_folded: String,
    /// In base64.
    fingerprint: String,
    #[serde(flatten)]
    record: &'a MailRecordInput,
}

impl<'a> Row<'a> {
    fn new(item: &'a MailRecordItem) -> Self {
        let MailRecordItem { member_id, record } = item;
        Self {
            turn: 0,
            id: Uuid::now_v7(),
            member_id: *member_id,
            recipient_folded: record.recipient.as_ref().map(EmailAddress::folded),
            subject_folded: fold(record.subject.as_str()),
            fingerprint: BASE64_STANDARD.encode(record.fingerprint()),
            record,
        }
    }

    /// Its member with its own key, and with its provider's.
    fn keys(&self) -> Vec<(Uuid, Option<&'a str>, &'a str)> {
        let record = self.record;
        let provider = record.provider.as_ref().map_or("", Line::as_str);
        let external_id = record.external_id.as_ref();
        let external_id = external_id.map(|key| (self.member_id, None, key.as_str()));
        let of_provider = record.provider_message_id.as_ref();
        let of_provider = of_provider.map(|key| (self.member_id, Some(provider), key.as_str()));
        external_id.into_iter().chain(of_provider).collect()
    }
}

/// Adds mail records or finds that they are there already, and says what became of each; none if
/// another write was met that has gone.
pub(in crate::mail_records) async fn add_all(
    connection: &mut PgConnection,
    items: &[(&MailRecordItem, Audit)],
    limit: FailureLimit,
) -> sqlx::Result<Option<Vec<Outcome<MailRecord>>>> {
    let mut rows: Vec<_> = items.iter().map(|(item, _)| Row::new(item)).collect();
    for (turn, index) in in_turn(&rows, Row::keys).into_iter().enumerate() {
        rows[index].turn = turn;
    }
    let audits = items.iter().map(|(_, audit)| audit);
    let audits: BTreeMap<_, _> = rows.iter().map(|row| row.id).zip(audits).collect();
    let inserted = insert(&mut *connection, &rows, &audits).await?;
    for record in &inserted {
        follow_first(&mut *connection, record, limit, audits[&record.id]).await?;
    }
    let mut outcomes: HashMap<_, _> = inserted
        .into_iter()
        .map(|record| (record.id, Outcome::Created(record)))
        .collect();
    let left_out = rows.iter().filter(|row| !outcomes.contains_key(&row.id));
    let left_out: Vec<_> = left_out.collect();
    if !left_out.is_empty() {
        outcomes.extend(explain(connection, &left_out).await?);
    }
    let in_order = rows.iter().map(|row| outcomes.remove(&row.id));
    Ok(in_order.collect())
}

async fn insert(
    executor: impl PgExecutor<'_>,
    rows: &[Row<'_>],
    audits: &BTreeMap<Uuid, &Audit>,
) -> sqlx::Result<Vec<MailRecord>> {
    query_new_mail_record!(
        "INSERT INTO mail_records
            (member_id, id, recipient, recipient_folded, sender, subject, category, tags, metadata,
             message_id, provider, provider_message_id, external_id, retry_of, status, status_at,
             status_reason, fingerprint, subject_folded, status_event_id, delivered_at, bounced_at)
         SELECT m.id, row.id, coalesce(row.recipient, m.email),
                coalesce(row.recipient_folded, m.email_folded), row.sender, row.subject, row.category,
                row.tags, row.metadata, row.message_id, row.provider, row.provider_message_id,
                row.external_id, row.retry_of, row.status, coalesce(row.status_at, now()),
                row.status_reason, decode(row.fingerprint, 'base64'), row.subject_folded, row.id,
                CASE row.status WHEN 'delivered' THEN coalesce(row.status_at, now()) END,
                CASE row.status WHEN 'bounced' THEN coalesce(row.status_at, now()) END
         FROM jsonb_to_recordset($1) AS row (
             turn int, id uuid, member_id uuid, recipient text, recipient_folded text, sender text,
             subject text, category text, tags text[], metadata jsonb, message_id text, provider text,
             provider_message_id text, external_id text, retry_of uuid, status text,
             status_at timestamptz, status_reason text, fingerprint text, subject_folded text
         )
         JOIN members m ON m.id = row.member_id
         WHERE coalesce(row.recipient_folded, m.email_folded) IS NOT NULL
             AND (row.retry_of IS NULL OR EXISTS (
                 SELECT FROM mail_records f WHERE f.member_id = m.id AND f.id = row.retry_of
             ))
         ORDER BY row.turn
         ON CONFLICT DO NOTHING",
        by "$2::jsonb -> r.id::text",
        Json(rows) as _,
        Json(audits) as _,
    )
    .fetch_all(executor)
    .await
}

/// What became of rows that were left out; without those whose keys nobody has any more.
async fn explain(
    connection: &mut PgConnection,
    rows: &[&Row<'_>],
) -> sqlx::Result<Vec<(Uuid, Outcome<MailRecord>)>> {
    let hindrances = hindrances(&mut *connection, rows).await?;
    let mut outcomes = Vec::new();
    let mut standing = HashMap::new();
    for (row, hindrance) in rows
        .iter()
        .filter_map(|row| Some((row, hindrances.get(&row.id)?)))
    {
        match hindrance.verdict(row.record) {
            None => {}
            Some(Verdict::Refused(problem)) => {
                outcomes.push((row.id, Outcome::Refused(in_its_field(problem))));
            }
            Some(Verdict::Standing(id)) => {
                standing.insert(row.id, (row.member_id, id));
            }
        }
    }
    if !standing.is_empty() {
        let records = get_all(connection, standing.values().copied()).await?;
        let found = standing.into_iter().filter_map(|(row, (_, id))| {
            let record = records.iter().find(|record| record.id == id)?;
            Some((row, Outcome::Standing(record.clone())))
        });
        outcomes.extend(found);
    }
    Ok(outcomes)
}

/// What stands in the way of a row.
struct Hindrance {
    /// None if there is no such member.
    member: Option<Member>,
    /// Whether the mail record that it is another attempt of is missing.
    no_first_attempt: bool,
}

impl Hindrance {
    fn verdict(&self, record: &MailRecordInput) -> Option<Verdict> {
        let Some(member) = &self.member else {
            return Some(Verdict::Refused(Code::MemberNotFound.into()));
        };
        let refused = || Verdict::Refused(no_first_attempt());
        member
            .verdict(record, &record.fingerprint())
            .or_else(|| self.no_first_attempt.then(refused))
    }
}

async fn hindrances(
    executor: impl PgExecutor<'_>,
    rows: &[&Row<'_>],
) -> sqlx::Result<HashMap<Uuid, Hindrance>> {
    let found = query!(
        r#"SELECT row.id AS "row_id!", m.id IS NOT NULL AS "has_member!",
               m.email IS NOT NULL AS "has_email!",
               row.retry_of IS NOT NULL AND NOT EXISTS (
                   SELECT FROM mail_records f
                   WHERE f.member_id = row.member_id AND f.id = row.retry_of
               ) AS "no_first_attempt!",
               r.id AS "id?", r.external_id, r.fingerprint
           FROM jsonb_to_recordset($1) AS row (
               id uuid, member_id uuid, external_id text, provider text, provider_message_id text,
               retry_of uuid
           )
           LEFT JOIN members m ON m.id = row.member_id
           LEFT JOIN mail_records r ON r.member_id = row.member_id
               AND (r.external_id = row.external_id
                    OR (coalesce(r.provider, '') = coalesce(row.provider, '')
                        AND r.provider_message_id = row.provider_message_id))"#,
        Json(rows) as _,
    )
    .fetch_all(executor)
    .await?;
    let mut hindrances = HashMap::new();
    for row in found {
        let hindrance = hindrances.entry(row.row_id).or_insert_with(|| Hindrance {
            member: row.has_member.then(|| Member {
                has_email: row.has_email,
                records: Vec::new(),
            }),
            no_first_attempt: row.no_first_attempt,
        });
        if let (Some(member), Some(id)) = (&mut hindrance.member, row.id) {
            member.records.push(Standing {
                id,
                external_id: row.external_id,
                fingerprint: row.fingerprint,
            });
        }
    }
    Ok(hindrances)
}

async fn get_all(
    executor: impl PgExecutor<'_>,
    keys: impl Iterator<Item = (Uuid, Uuid)>,
) -> sqlx::Result<Vec<MailRecord>> {
    let (member_ids, ids): (Vec<_>, Vec<_>) = keys.unzip();
    query_mail_record!(
        "SELECT r.id",
        "FROM unnest($1::uuid[], $2::uuid[]) AS key (member_id, id)
         JOIN mail_records r ON r.member_id = key.member_id AND r.id = key.id",
        &member_ids,
        &ids,
    )
    .fetch_all(executor)
    .await
}

/// Says in which field of its item a problem lies.
fn in_its_field(problem: Problem) -> Problem {
    match problem.code {
        Code::MemberNotFound => Problem::at_field(problem.code, "member_id"),
        Code::ExternalIdTaken => Problem::at_field(problem.code, "external_id"),
        Code::ProviderMessageIdTaken => Problem::at_field(problem.code, "provider_message_id"),
        _ => problem,
    }
}
