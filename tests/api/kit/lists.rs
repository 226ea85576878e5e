//! The lists, as tests walk them.

use super::{
    Answer, App,
    document::{Operation, Subject, api_operations},
};

/// A list, which is an operation that can be sorted.
#[derive(Debug, Clone)]
pub(crate) struct List {
    pub(crate) operation: Operation,
    pub(crate) table: &'static str,
}

/// Every list of the document.
pub(crate) fn lists() -> Vec<List> {
    let mut lists = Vec::new();
    for operation in api_operations() {
        if operation.words("sort").is_empty() {
            continue;
        }
        let table = match operation.path.rsplit('/').next() {
            Some("members") => "members",
            Some("mail-records") => "mail_records",
            Some("events") => "mail_events",
            Some("consents") => "consents",
            Some("suppressions") => "suppressions",
            Some("audit-log") => "audit_log",
            _ => panic!("{} has no table", operation.name()),
        };
        lists.push(List { operation, table });
    }
    assert_eq!(lists.len(), 7);
    lists
}

impl List {
    pub(crate) fn path_on(&self, subject: &Subject) -> String {
        self.operation.path_on(subject)
    }

    /// A filter of it that some rows meet, as [`fill`] makes them.
    pub(crate) fn filter(&self) -> &'static str {
        match self.table {
            "members" => "status=active",
            "mail_records" => "status=recorded",
            "mail_events" => "type=opened",
            "consents" => "state=granted",
            "audit_log" => "operation=try",
            _ => "reason=manual",
        }
    }

    /// Its orders, each as a parameter that others can follow; the first is the one that needs none.
    pub(crate) fn orders(&self) -> Vec<String> {
        let words = self.operation.words("sort");
        let sorted = words.iter().map(|word| format!("sort={word}&"));
        [String::new()].into_iter().chain(sorted).collect()
    }
}

/// Adds as many rows to each list: members called `n`, of whom every other one has left, mail and
/// consents of the subject, events of her mail record, suppressions of addresses of nobody, and entries
/// of the audit log.
pub(crate) async fn fill(app: &App, subject: &Subject, count: i32) {
    let member_id: uuid::Uuid = subject.member_id.parse().expect("an id");
    sqlx::query(
        "INSERT INTO members (id, name, joined, status)
         SELECT gen_random_uuid(), 'n', '2000-01-01', CASE WHEN n % 2 = 0 THEN 'ended' ELSE 'active' END
         FROM generate_series(1, $1) n",
    )
    .bind(count)
    .execute(&app.pool)
    .await
    .expect("members");
    sqlx::query(
        "INSERT INTO mail_records (member_id, id, recipient, recipient_folded, subject)
         SELECT $2, gen_random_uuid(), 'a@example.org', 'a@example.org', ''
         FROM generate_series(1, $1)",
    )
    .bind(count)
    .bind(member_id)
    .execute(&app.pool)
    .await
    .expect("mail records");
    sqlx::query(
        "INSERT INTO consents (member_id, id, state)
         SELECT $2, gen_random_uuid(), 'granted' FROM generate_series(1, $1)",
    )
    .bind(count)
    .bind(member_id)
    .execute(&app.pool)
    .await
    .expect("consents");
    sqlx::query(
        "INSERT INTO suppressions (id, address_hash, reason, scope, origin)
         SELECT gen_random_uuid(), address_hash(gen_random_uuid()::text), 'manual', 'all', 'api'
         FROM generate_series(1, $1)",
    )
    .bind(count)
    .execute(&app.pool)
    .await
    .expect("suppressions");
    let mail_record_id: uuid::Uuid = subject.mail_record_id.parse().expect("an id");
    sqlx::query(
        "INSERT INTO mail_events (member_id, mail_record_id, id, type, occurred_at, effect)
         SELECT $2, $3, gen_random_uuid(), 'opened', '2000-01-01', 'applied' FROM generate_series(1, $1)",
    )
    .bind(count)
    .bind(member_id)
    .bind(mail_record_id)
    .execute(&app.pool)
    .await
    .expect("events");
    // As many as there is of all else: one, before more is added.
    sqlx::raw_sql("DELETE FROM audit_log WHERE operation <> 'create_member'")
        .execute(&app.pool)
        .await
        .expect("one entry");
    sqlx::query(
        "INSERT INTO audit_log (id, operation, resource, resource_id, fields)
         SELECT gen_random_uuid(), 'try', 'member', gen_random_uuid(), '{}' FROM generate_series(1, $1)",
    )
    .bind(count)
    .execute(&app.pool)
    .await
    .expect("entries");
}

impl Answer {
    /// The target of a link, if the page has one of this relation.
    #[track_caller]
    pub(crate) fn link(&self, relation: &str) -> Option<String> {
        let links = self.header("link").split(", ").filter_map(|link| {
            let (target, parameters) = link.split_once("; ")?;
            let target = target.strip_prefix('<')?.strip_suffix('>')?;
            (parameters == format!("rel=\"{relation}\"")).then(|| target.to_owned())
        });
        let links: Vec<_> = links.collect();
        assert!(links.len() <= 1, "{relation} stands twice");
        links.into_iter().next()
    }

    /// `next_cursor` or `prev_cursor` of a page.
    pub(crate) fn cursor(&self, way: &str) -> Option<&str> {
        self.body["page"][way].as_str()
    }
}
