//! The lists of mail records, put together at run time from the filters that are given.

use sqlx::{PgExecutor, PgPool, Postgres, QueryBuilder};
use uuid::Uuid;

use crate::{
    http::list::{
        Listed, Selection, View,
        order::SortKey,
        window::{Rows, Window},
    },
    mail_records::model::{MailRecord, MailRecordFilter},
};

impl Listed for MailRecord {
    const COLUMNS: &'static str = "r.id, r.member_id, r.recipient, r.sender, r.subject, r.category, r.tags, \
                                   r.metadata, r.message_id, r.provider, r.provider_message_id, \
                                   r.external_id, r.retry_of, r.status, r.status_at, r.status_reason, \
                                   r.created_at, r.updated_at, r.version";
    const TABLE: &'static str = "mail_records r";
    const ID: &'static str = "r.id";
    const SORT_KEYS: &'static [SortKey] = &[
        SortKey::timestamp("created_at", "r.created_at"),
        SortKey::timestamp("status_at", "r.status_at"),
    ];
}

impl Selection for MailRecordFilter {
    fn push_filters(&self, query: &mut QueryBuilder<Postgres>) {
        if let Some(status) = self.status {
            query.push(" AND r.status = ").push_bind(status);
        }
        if let Some(recipient) = &self.recipient {
            query
                .push(" AND r.recipient_folded = ")
                .push_bind(recipient.folded());
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

/// The mail records of one member, who must be there.
struct OfMember<'a> {
    member_id: Uuid,
    filter: &'a MailRecordFilter,
}

impl Selection for OfMember<'_> {
    fn push_filters(&self, query: &mut QueryBuilder<Postgres>) {
        query.push(" AND r.member_id = ").push_bind(self.member_id);
        self.filter.push_filters(query);
    }

    fn push_parent(&self, query: &mut QueryBuilder<Postgres>) {
        query
            .push(" FROM members m WHERE m.id = ")
            .push_bind(self.member_id);
    }
}

pub(in crate::mail_records) async fn list_all(
    pool: &PgPool,
    filter: &MailRecordFilter,
    view: &View<MailRecord>,
) -> sqlx::Result<Rows<MailRecord>> {
    Ok(view.read(pool, filter).await?.unwrap_or_default())
}

/// A member's mail records; none if there is no such member.
pub(in crate::mail_records) async fn list_of_member(
    pool: &PgPool,
    member_id: Uuid,
    filter: &MailRecordFilter,
    view: &View<MailRecord>,
) -> sqlx::Result<Option<Rows<MailRecord>>> {
    view.read(pool, &OfMember { member_id, filter }).await
}

/// The newest mail records of a member; none if there is no such member.
pub async fn newest_of_member(
    executor: impl PgExecutor<'_>,
    member_id: Uuid,
    rows: u16,
) -> sqlx::Result<Option<Vec<MailRecord>>> {
    let filter = &MailRecordFilter::default();
    let newest = Window::newest(rows);
    let rows = newest
        .read(executor, &OfMember { member_id, filter }, false)
        .await?;
    Ok(rows.map(Rows::into_rows))
}
