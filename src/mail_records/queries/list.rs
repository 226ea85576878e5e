//! The lists of mail records, put together at run time from the filters that are given.

use sqlx::{PgExecutor, Postgres, QueryBuilder};
use uuid::Uuid;

use crate::{
    http::{
        list::{
            Listed, Purpose, Selection,
            order::{Order, SortKey},
            window::{Rows, Window},
        },
        views::{Resource, Visible},
    },
    mail_records::model::{MAIL_RECORDS, MailRecord, MailRecordFilter},
    problem::Code,
};

const CREATED_AT: SortKey = SortKey::timestamp("created_at", "r.created_at");

impl Listed for MailRecord {
    const COLUMNS: &'static str = "r.id, r.member_id, r.recipient, r.sender, r.subject, r.category, r.tags, \
                                   r.metadata, r.message_id, r.provider, r.provider_message_id, \
                                   r.external_id, r.retry_of, r.retried_by, r.status, r.status_at, \
                                   r.status_reason, r.status_event_id, r.delivered_at, r.bounced_at, \
                                   r.opened_count, r.first_opened_at, r.clicked_count, r.first_clicked_at, \
                                   r.complained_at, r.unsubscribed_at, r.created_at, r.updated_at, \
                                   r.version";
    const TABLE: &'static str = "mail_records r";
    const ID: &'static str = "r.id";
    const SORT_KEYS: &'static [SortKey] =
        &[CREATED_AT, SortKey::timestamp("status_at", "r.status_at")];
    const RESOURCE: Option<&'static Resource> = Some(&MAIL_RECORDS);
    const WIDE: &'static [(&'static str, &'static str, &'static str)] =
        &[("metadata", "r.metadata", "'{}'::jsonb AS metadata")];
    const NAME: &'static str = "mail_record";
    const FIELDS: &'static [&'static str] = &[
        "id",
        "member_id",
        "recipient",
        "sender",
        "subject",
        "category",
        "tags",
        "metadata",
        "message_id",
        "provider",
        "provider_message_id",
        "external_id",
        "retry_of",
        "retried_by",
        "status",
        "status_at",
        "status_reason",
        "status_event_id",
        "delivered_at",
        "bounced_at",
        "opened_count",
        "first_opened_at",
        "clicked_count",
        "first_clicked_at",
        "complained_at",
        "unsubscribed_at",
        "created_at",
        "updated_at",
        "version",
    ];
}

impl Selection for MailRecordFilter {
    /// By id, all mail that is newer than `created_to` would be read first, and behind the last page
    /// all that is older than `created_from`.
    fn default_order(&self) -> Order {
        if self.created_from.is_some() || self.created_to.is_some() {
            Order::descending(&CREATED_AT)
        } else {
            Order::default()
        }
    }

    fn push_filters(&self, query: &mut QueryBuilder<Postgres>, purpose: Purpose) {
        if let Some(status) = self.status {
            query.push(" AND r.status = ").push_bind(status);
        }
        if let Some(recipient) = &self.recipient {
            push_one_of_many(query, purpose, "r.recipient_folded", recipient.folded());
        }
        if let Some(category) = self.category {
            query.push(" AND r.category = ").push_bind(category);
        }
        if let Some(term) = &self.subject {
            query
                .push(" AND r.subject_folded LIKE ")
                .push_bind(term.pattern());
        }
        if let Some(from) = self.created_from {
            query.push(" AND r.created_at >= ").push_bind(from);
        }
        if let Some(to) = self.created_to {
            query.push(" AND r.created_at < ").push_bind(to);
        }
    }
}

/// Adds the condition that a column has one of its very many values. For reading, in a way that does
/// not tell the planner which: were it one that is known to be frequent, of a member with a hundred
/// thousand messages say, the ledger would be walked for it from the newest on, past all that are newer.
fn push_one_of_many<'v>(
    query: &mut QueryBuilder<Postgres>,
    purpose: Purpose,
    column: &str,
    value: impl sqlx::Encode<'v, Postgres> + sqlx::Type<Postgres>,
) {
    let (before, behind) = match purpose {
        Purpose::Read => ("(SELECT ", ")"),
        Purpose::Estimate => ("", ""),
    };
    query
        .push(format_args!(" AND {column} = {before}"))
        .push_bind(value)
        .push(behind);
}

/// The mail records of one member, who must be there.
pub(in crate::mail_records) struct OfMember {
    pub(in crate::mail_records) member_id: Uuid,
    pub(in crate::mail_records) filter: MailRecordFilter,
}

impl Selection for OfMember {
    const ABSENT: Code = Code::MemberNotFound;

    fn push_filters(&self, query: &mut QueryBuilder<Postgres>, purpose: Purpose) {
        push_one_of_many(query, purpose, "r.member_id", self.member_id);
        self.filter.push_filters(query, purpose);
    }

    fn push_parent(&self, query: &mut QueryBuilder<Postgres>) {
        query
            .push(" FROM members m WHERE m.id = ")
            .push_bind(self.member_id);
    }
}

/// The newest mail records of a member; none if there is no such member.
pub async fn newest_of_member(
    executor: impl PgExecutor<'_>,
    member_id: Uuid,
    rows: u32,
    visible: &Visible,
) -> sqlx::Result<Option<Vec<MailRecord>>> {
    let filter = MailRecordFilter::default();
    let newest = Window::newest(rows, visible);
    let rows = newest
        .read(executor, &OfMember { member_id, filter }, false)
        .await?;
    Ok(rows.map(Rows::into_rows))
}
