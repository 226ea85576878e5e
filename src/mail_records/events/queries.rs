//! All SQL on mail events, and the change of the mail record that follows from them.

use std::collections::{BTreeMap, HashMap};

use base64::{Engine, prelude::BASE64_STANDARD};
use futures_util::Stream;
use serde::Serialize;
use sqlx::{
    Connection, PgConnection, PgExecutor, Postgres, QueryBuilder, query, query_scalar, types::Json,
};
use uuid::Uuid;

use super::{
    consequences::{FailureLimit, follow},
    failure::Failure,
    fold::{Fold, Folded},
    model::{
        MAIL_EVENTS, MailEvent, MailEventEffect, MailEventFilter, MailEventInput, MailEventType,
    },
};
use crate::{
    http::{
        audit::Audit,
        list::{Listed, Purpose, Selection, order::SortKey},
        views::Resource,
    },
    mail_records::{
        model::{MailCategory, MailRecord, MailStatus},
        queries::{lock, query_mail_record},
    },
    problem::Code,
    values::{EmailAddress, EnhancedCode, JsonObject, Line, SmtpCode, Tags, Text, Timestamp},
};

/// A checked query that answers whole events: what stands before the columns, and what behind.
macro_rules! query_mail_event {
    ($before:tt, $after:tt $(, $argument:expr)* $(,)?) => {
        sqlx::query_as!(
            MailEvent,
            $before
                + r#" e.id, e.member_id, e.mail_record_id, e.type AS "kind: MailEventType",
                    e.occurred_at AS "occurred_at: Timestamp", e.received_at AS "received_at: Timestamp",
                    e.source AS "source: Line<1, 100>",
                    e.provider_event_id AS "provider_event_id: Line<1, 255>",
                    e.smtp_code AS "smtp_code: SmtpCode", e.enhanced_code AS "enhanced_code: EnhancedCode",
                    e.diagnostic AS "diagnostic: Text<1, 4000>", e.remote_mta AS "remote_mta: Line<1, 255>",
                    e.url AS "url: Line<1, 2048>", e.effect AS "effect: MailEventEffect", e.dedupe_key "#
                + $after,
            $($argument),*
        )
    };
}

/// What became of events that were reported.
pub(in crate::mail_records) struct Reported {
    /// The mail record with all that is known now.
    pub(in crate::mail_records) record: MailRecord,
    /// The events in the order of the report, and for one that was known already, that.
    pub(in crate::mail_records) events: Vec<MailEvent>,
}

/// Adds events to a mail record, which says from then on what follows from all it has; none if there is
/// no such mail record.
pub(in crate::mail_records) async fn report(
    connection: &mut PgConnection,
    member_id: Uuid,
    mail_record_id: Uuid,
    reports: Vec<MailEventInput>,
    limit: FailureLimit,
    audit: &Audit,
) -> sqlx::Result<Option<Reported>> {
    let mut transaction = connection.begin().await?;
    // Of reports that come at the same time, each must see what the one before left.
    let Some(record) = lock(&mut *transaction, member_id, mail_record_id).await? else {
        return Ok(None);
    };
    let reported = report_on(&mut transaction, record, reports, limit, audit).await?;
    transaction.commit().await?;
    Ok(Some(reported))
}

/// The same for a mail record that the transaction has locked.
pub(in crate::mail_records) async fn report_on(
    connection: &mut PgConnection,
    record: MailRecord,
    reports: Vec<MailEventInput>,
    limit: FailureLimit,
    audit: &Audit,
) -> sqlx::Result<Reported> {
    let known = all_of(&mut *connection, &record).await?;
    let mut by_key: HashMap<_, _> = known
        .iter()
        .filter_map(|event| Some((event.dedupe_key.clone()?, event.clone())))
        .collect();
    let mut events = Vec::with_capacity(reports.len());
    for report in reports {
        let (key, event) = MailEvent::reported(&record, report);
        let known = by_key.get(&key).map(|known| MailEvent {
            effect: MailEventEffect::Duplicate,
            ..known.clone()
        });
        events.push(known.unwrap_or_else(|| event.clone()));
        by_key.entry(key).or_insert(event);
    }

    let mut fold = Fold::default();
    for event in &known {
        fold.add(event);
    }
    let mut folded = fold.folded();
    let mut effects = Vec::with_capacity(events.len());
    for event in &events {
        let before = folded.clone();
        fold.add(event);
        folded = fold.folded();
        effects.push(match event.effect {
            MailEventEffect::Duplicate => MailEventEffect::Duplicate,
            _ if folded == before => MailEventEffect::Superseded,
            _ => MailEventEffect::Applied,
        });
    }
    for (event, effect) in events.iter_mut().zip(effects) {
        event.effect = effect;
    }

    insert(&mut *connection, &events, audit).await?;
    let record = if folded == Folded::from(&record) {
        record
    } else {
        apply(&mut *connection, record, folded).await?
    };
    let new = events
        .iter()
        .filter(|event| event.effect != MailEventEffect::Duplicate);
    follow(connection, &record, new, limit, audit).await?;
    Ok(Reported { record, events })
}

/// Whether the last mails to an address failed for a time, this many in a row and none delivered between.
///
/// Whoever asks waits for the others who do, since each must see how the mails of those before it ended.
pub(super) async fn failed_in_a_row(
    connection: &mut PgConnection,
    address: &EmailAddress,
    limit: u32,
) -> sqlx::Result<bool> {
    let folded = address.folded();
    query!(
        "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))",
        folded
    )
    .execute(&mut *connection)
    .await?;
    // Some were about the message, and do not count.
    let some_more = i64::from(limit) * 10;
    let endings = query_mail_event!(
        "SELECT",
        "FROM (
             SELECT member_id, id, status_event_id, status_at FROM mail_records
             WHERE recipient_folded = $1 AND status IN ('delivered', 'failed', 'bounced')
             ORDER BY status_at DESC, id DESC LIMIT $2
         ) r
         JOIN mail_events e
             ON e.member_id = r.member_id AND e.mail_record_id = r.id AND e.id = r.status_event_id
         ORDER BY r.status_at DESC, r.id DESC",
        folded,
        some_more,
    )
    .fetch_all(connection)
    .await?;
    let in_a_row = endings
        .iter()
        .take_while(|event| event.kind != MailEventType::Delivered);
    let failed = in_a_row.filter(|event| Failure::of(event) == Some(Failure::Transient));
    Ok(failed.count() >= limit as usize)
}

async fn all_of(
    executor: impl PgExecutor<'_>,
    record: &MailRecord,
) -> sqlx::Result<Vec<MailEvent>> {
    query_mail_event!(
        "SELECT",
        "FROM mail_events e WHERE e.member_id = $1 AND e.mail_record_id = $2",
        record.member_id,
        record.id,
    )
    .fetch_all(executor)
    .await
}

/// All events of a member's mail, by mail record and oldest first.
pub fn all_of_member(
    connection: &mut PgConnection,
    member_id: Uuid,
) -> impl Stream<Item = sqlx::Result<MailEvent>> {
    query_mail_event!(
        "SELECT",
        "FROM mail_events e WHERE e.member_id = $1 ORDER BY e.mail_record_id, e.id",
        member_id,
    )
    .fetch(connection)
}

pub(super) async fn get(
    executor: impl PgExecutor<'_>,
    member_id: Uuid,
    mail_record_id: Uuid,
    id: Uuid,
) -> sqlx::Result<Option<MailEvent>> {
    query_mail_event!(
        "SELECT",
        "FROM mail_events e WHERE e.member_id = $1 AND e.mail_record_id = $2 AND e.id = $3",
        member_id,
        mail_record_id,
        id,
    )
    .fetch_optional(executor)
    .await
}

/// Writes down those that are new.
async fn insert(
    executor: impl PgExecutor<'_>,
    events: &[MailEvent],
    audit: &Audit,
) -> sqlx::Result<()> {
    #[derive(Serialize)]
    struct Row<'a> {
        #[serde(flatten)]
        event: &'a MailEvent,
        /// In base64.
        key: Option<String>,
    }

    let new = events.iter().enumerate();
    let new = new.filter(|(_, event)| event.effect != MailEventEffect::Duplicate);
    let audits: BTreeMap<_, _> = new
        .clone()
        .map(|(index, event)| (event.id, audit.of_item(index)))
        .collect();
    let rows: Vec<_> = new
        .map(|(_, event)| Row {
            event,
            key: event
                .dedupe_key
                .as_ref()
                .map(|key| BASE64_STANDARD.encode(key)),
        })
        .collect();
    if rows.is_empty() {
        return Ok(());
    }
    query_scalar!(
        "INSERT INTO mail_events
             (member_id, mail_record_id, id, type, occurred_at, received_at, source, provider_event_id,
              smtp_code, enhanced_code, diagnostic, remote_mta, url, effect, dedupe_key)
         SELECT member_id, mail_record_id, id, type, occurred_at, received_at, source, provider_event_id,
                smtp_code, enhanced_code, diagnostic, remote_mta, url, effect, decode(key, 'base64')
         FROM jsonb_to_recordset($1) AS row (
             member_id uuid, mail_record_id uuid, id uuid, type text, occurred_at timestamptz,
             received_at timestamptz, source text, provider_event_id text, smtp_code smallint,
             enhanced_code text, diagnostic text, remote_mta text, url text, effect text, key text
         )
         RETURNING record_write($2::jsonb -> id::text, 'mail_event', id, member_id)",
        Json(rows) as _,
        Json(audits) as _,
    )
    .fetch_all(executor)
    .await?;
    Ok(())
}

/// Lets a mail record say what follows from its events.
async fn apply(
    executor: impl PgExecutor<'_>,
    record: MailRecord,
    folded: Folded,
) -> sqlx::Result<MailRecord> {
    // Without an event on it, the status stays as it was written past the program.
    let (status, status_at, status_reason, status_event_id) = match folded.decision {
        Some(decision) => (
            decision.status,
            decision.status_at,
            decision.status_reason,
            Some(decision.status_event_id),
        ),
        None => (
            record.status,
            record.status_at,
            record.status_reason,
            record.status_event_id,
        ),
    };
    query_mail_record!(
        "UPDATE mail_records r
         SET status = $3, status_at = $4, status_reason = $5, status_event_id = $6, delivered_at = $7,
             bounced_at = $8, opened_count = $9, first_opened_at = $10, clicked_count = $11,
             first_clicked_at = $12, complained_at = $13, unsubscribed_at = $14,
             updated_at = greatest(r.updated_at, clock_timestamp()), version = r.version + 1
         WHERE r.member_id = $1 AND r.id = $2
         RETURNING r.id",
        "",
        record.member_id,
        record.id,
        status as _,
        status_at as _,
        status_reason.as_ref() as _,
        status_event_id,
        folded.delivered_at as _,
        folded.bounced_at as _,
        folded.opened_count,
        folded.first_opened_at as _,
        folded.clicked_count,
        folded.first_clicked_at as _,
        folded.complained_at as _,
        folded.unsubscribed_at as _,
    )
    .fetch_one(executor)
    .await
}

impl Listed for MailEvent {
    const COLUMNS: &'static str = "e.id, e.member_id, e.mail_record_id, e.type, e.occurred_at, e.received_at, \
                                   e.source, e.provider_event_id, e.smtp_code, e.enhanced_code, \
                                   e.diagnostic, e.remote_mta, e.url, e.effect";
    const TABLE: &'static str = "mail_events e";
    const ID: &'static str = "e.id";
    const SORT_KEYS: &'static [SortKey] = &[SortKey::timestamp("occurred_at", "e.occurred_at")];
    const RESOURCE: Option<&'static Resource> = Some(&MAIL_EVENTS);
    const WIDE: &'static [(&'static str, &'static str, &'static str)] =
        &[("diagnostic", "e.diagnostic", "NULL::text AS diagnostic")];
    const NAME: &'static str = "mail_event";
    const FIELDS: &'static [&'static str] = &[
        "id",
        "member_id",
        "mail_record_id",
        "type",
        "occurred_at",
        "received_at",
        "source",
        "provider_event_id",
        "smtp_code",
        "enhanced_code",
        "diagnostic",
        "remote_mta",
        "url",
        "effect",
    ];
}

impl Selection for MailEventFilter {
    fn push_filters(&self, query: &mut QueryBuilder<Postgres>, _purpose: Purpose) {
        if let Some(kind) = self.kind {
            query.push(" AND e.type = ").push_bind(kind);
        }
    }
}

/// The events of one mail record, which must be there.
pub(super) struct OfMailRecord {
    pub(super) member_id: Uuid,
    pub(super) mail_record_id: Uuid,
    pub(super) filter: MailEventFilter,
}

impl Selection for OfMailRecord {
    const ABSENT: Code = Code::MailRecordNotFound;

    fn push_filters(&self, query: &mut QueryBuilder<Postgres>, purpose: Purpose) {
        query
            .push(" AND e.member_id = ")
            .push_bind(self.member_id)
            .push(" AND e.mail_record_id = ")
            .push_bind(self.mail_record_id);
        self.filter.push_filters(query, purpose);
    }

    fn push_parent(&self, query: &mut QueryBuilder<Postgres>) {
        query
            .push(" FROM mail_records r WHERE r.member_id = ")
            .push_bind(self.member_id)
            .push(" AND r.id = ")
            .push_bind(self.mail_record_id);
    }
}
