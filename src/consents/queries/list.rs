//! The list of a member's consents, put together at run time from the filters that are given.

use sqlx::{Postgres, QueryBuilder};
use uuid::Uuid;

use crate::{
    consents::model::{CONSENTS, Consent, ConsentFilter},
    http::{
        list::{Listed, Purpose, Selection, order::SortKey},
        views::Resource,
    },
    problem::Code,
};

impl Listed for Consent {
    const COLUMNS: &'static str =
        "c.id, c.member_id, c.topic, c.state, c.source, c.evidence, c.occurred_at, c.created_at";
    const TABLE: &'static str = "consents c";
    const ID: &'static str = "c.id";
    const SORT_KEYS: &'static [SortKey] = &[
        SortKey::timestamp("occurred_at", "c.occurred_at"),
        SortKey::timestamp("created_at", "c.created_at"),
    ];
    const RESOURCE: Option<&'static Resource> = Some(&CONSENTS);
    const WIDE: &'static [(&'static str, &'static str, &'static str)] =
        &[("evidence", "c.evidence", "'{}'::jsonb AS evidence")];
    const NAME: &'static str = "consent";
    const FIELDS: &'static [&'static str] = &[
        "id",
        "member_id",
        "topic",
        "state",
        "source",
        "evidence",
        "occurred_at",
        "created_at",
    ];
}

impl Selection for ConsentFilter {
    fn push_filters(&self, query: &mut QueryBuilder<Postgres>, _: Purpose) {
        if let Some(topic) = &self.topic {
            query.push(" AND c.topic = ").push_bind(topic.clone());
        }
        if let Some(state) = self.state {
            query.push(" AND c.state = ").push_bind(state);
        }
        if self.current {
            query.push(
                " AND EXISTS (SELECT FROM present_consents p WHERE p.member_id = c.member_id AND p.id = c.id)",
            );
        }
    }
}

/// The consents of one member, who must be there.
pub(in crate::consents) struct OfMember {
    pub(in crate::consents) member_id: Uuid,
    pub(in crate::consents) filter: ConsentFilter,
}

impl Selection for OfMember {
    const ABSENT: Code = Code::MemberNotFound;

    fn push_filters(&self, query: &mut QueryBuilder<Postgres>, purpose: Purpose) {
        query.push(" AND c.member_id = ").push_bind(self.member_id);
        self.filter.push_filters(query, purpose);
    }

    fn push_parent(&self, query: &mut QueryBuilder<Postgres>) {
        query
            .push(" FROM members m WHERE m.id = ")
            .push_bind(self.member_id);
    }
}
