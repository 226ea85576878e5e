//! Many members in one statement.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;
use sqlx::{PgConnection, PgExecutor, query, types::Json};
use uuid::Uuid;

use super::{name_folded, query_member, search_text};
use crate::{
    http::{
        audit::Audit,
        batch::{Outcome, in_turn},
    },
    members::model::{Mailability, Member, MemberInput, MemberStatus},
    problem::{Code, Problem},
    values::{Date, EmailAddress, JsonObject, Line, Tags, Timestamp},
};

/// A member as a row of the statement.
#[derive(Serialize)]
struct Row<'a> {
    /// When it is inserted: a statement follows the order of its rows.
    turn: usize,
    id: Uuid,
    email_folded: Option<String>,
    name_folded: String,
    search_text: String,
    #[serde(flatten)]
    member: &'a MemberInput,
}

impl Row<'_> {
    fn external_id(&self) -> Option<&str> {
        self.member.external_id.as_ref().map(Line::as_str)
    }

    fn keys(&self) -> Vec<(&'static str, String)> {
        let external_id = self.external_id().map(str::to_owned);
        let keys = [
            ("email", self.email_folded.clone()),
            ("external_id", external_id),
        ];
        let given = keys
            .into_iter()
            .filter_map(|(name, key)| Some((name, key?)));
        given.collect()
    }
}

/// Adds members, and says what became of each; none if another write was met that has gone.
pub(in crate::members) async fn insert_all(
    connection: &mut PgConnection,
    members: &[(&MemberInput, Audit)],
    (): (),
) -> sqlx::Result<Option<Vec<Outcome<Member>>>> {
    let rows = members.iter().map(|(member, _)| Row {
        turn: 0,
        id: Uuid::now_v7(),
        email_folded: member.email.as_ref().map(EmailAddress::folded),
        name_folded: name_folded(member),
        search_text: search_text(member),
        member,
    });
    let mut rows: Vec<_> = rows.collect();
    for (turn, index) in in_turn(&rows, Row::keys).into_iter().enumerate() {
        rows[index].turn = turn;
    }
    let audits = members.iter().map(|(_, audit)| audit);
    let audits = rows.iter().map(|row| row.id).zip(audits).collect();
    let inserted = insert(&mut *connection, &rows, &audits).await?;
    let mut outcomes: HashMap<_, _> = inserted
        .into_iter()
        .map(|member| (member.id, Outcome::Created(member)))
        .collect();
    let left_out = rows.iter().filter(|row| !outcomes.contains_key(&row.id));
    let left_out: Vec<_> = left_out.collect();
    if !left_out.is_empty() {
        let taken = taken(&mut *connection, &left_out).await?;
        let refused = left_out.iter().filter_map(|row| {
            let problem = taken.problem(row)?;
            Some((row.id, Outcome::Refused(problem)))
        });
        outcomes.extend(refused);
    }
    let in_order = rows.iter().map(|row| outcomes.remove(&row.id));
    Ok(in_order.collect())
}

async fn insert(
    executor: impl PgExecutor<'_>,
    rows: &[Row<'_>],
    audits: &BTreeMap<Uuid, &Audit>,
) -> sqlx::Result<Vec<Member>> {
    query_member!(
        "INSERT INTO members
            (id, external_id, email, email_folded, name, birth, joined, status, tags, attributes,
             name_folded, search_text, email_hash, suppressed_until, unsubscribed_until)
         SELECT id, external_id, email, email_folded, name, birth,
                coalesce(joined, (now() AT TIME ZONE 'UTC')::date), status, tags, attributes,
                name_folded, search_text, address_hash(email_folded),
                blocked_until(email_folded, 'all'), blocked_until(email_folded, 'marketing')
         FROM jsonb_to_recordset($1) AS row (
             turn int, id uuid, external_id text, email text, email_folded text, name text,
             birth date, joined date, status text, tags text[], attributes jsonb,
             name_folded text, search_text text
         )
         ORDER BY turn
         ON CONFLICT DO NOTHING
         RETURNING record_write($2::jsonb -> id::text, 'member', id, id)",
        "",
        Json(rows) as _,
        Json(audits) as _,
    )
    .fetch_all(executor)
    .await
}

/// The keys that members have already.
struct Taken {
    emails: HashSet<String>,
    external_ids: HashSet<String>,
}

async fn taken(executor: impl PgExecutor<'_>, rows: &[&Row<'_>]) -> sqlx::Result<Taken> {
    let emails = rows.iter().filter_map(|row| row.email_folded.clone());
    let external_ids = rows.iter().filter_map(|row| row.external_id());
    let found = query!(
        "SELECT email_folded, external_id FROM members
         WHERE email_folded = ANY ($1) OR external_id = ANY ($2)",
        &emails.collect::<Vec<_>>(),
        &external_ids.map(str::to_owned).collect::<Vec<_>>(),
    )
    .fetch_all(executor)
    .await?;
    let (emails, external_ids): (Vec<_>, Vec<_>) = found
        .into_iter()
        .map(|member| (member.email_folded, member.external_id))
        .unzip();
    Ok(Taken {
        emails: emails.into_iter().flatten().collect(),
        external_ids: external_ids.into_iter().flatten().collect(),
    })
}

impl Taken {
    /// Why a row was left out; none if nobody has its keys any more.
    fn problem(&self, row: &Row<'_>) -> Option<Problem> {
        let external_id = row.external_id();
        if external_id.is_some_and(|key| self.external_ids.contains(key)) {
            return Some(Problem::at_field(Code::ExternalIdTaken, "external_id"));
        }
        let email = row.email_folded.as_ref();
        email
            .is_some_and(|key| self.emails.contains(key))
            .then(|| Problem::at_field(Code::EmailTaken, "email"))
    }
}
