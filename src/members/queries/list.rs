//! The list of members, put together at run time from the filters that are given.

use sqlx::{Postgres, QueryBuilder};

use crate::{
    http::{
        list::{Listed, Purpose, Selection, order::SortKey},
        views::Resource,
    },
    members::model::{MEMBERS, Mailability, Member, MemberFilter},
    values::SearchTerm,
};

impl Listed for Member {
    const COLUMNS: &'static str = "m.id, m.external_id, m.email, m.name, m.birth, m.joined, m.status, \
                                   m.tags, m.attributes, mailability(m) AS mailability, m.created_at, \
                                   m.updated_at, m.version";
    const TABLE: &'static str = "members m";
    const ID: &'static str = "m.id";
    const SORT_KEYS: &'static [SortKey] = &[
        SortKey::text("name", "m.name_folded"),
        SortKey::date("joined", "m.joined"),
        SortKey::date("birth", "coalesce(m.birth, 'infinity')"),
        SortKey::timestamp("created_at", "m.created_at"),
    ];
    const RESOURCE: Option<&'static Resource> = Some(&MEMBERS);
    const WIDE: &'static [(&'static str, &'static str, &'static str)] =
        &[("attributes", "m.attributes", "'{}'::jsonb AS attributes")];
    const NAME: &'static str = "member";
    const FIELDS: &'static [&'static str] = &[
        "id",
        "external_id",
        "email",
        "name",
        "birth",
        "joined",
        "status",
        "tags",
        "attributes",
        "mailability",
        "created_at",
        "updated_at",
        "version",
    ];
}

impl Selection for MemberFilter {
    fn push_filters(&self, query: &mut QueryBuilder<Postgres>, _: Purpose) {
        if let Some(status) = self.status {
            query.push(" AND m.status = ").push_bind(status);
        }
        if let Some(email) = &self.email {
            query
                .push(" AND m.email_folded = ")
                .push_bind(email.folded());
        }
        if let Some(external_id) = &self.external_id {
            query
                .push(" AND m.external_id = ")
                .push_bind(external_id.clone());
        }
        if let Some(from) = self.joined_from {
            query.push(" AND m.joined >= ").push_bind(from);
        }
        if let Some(to) = self.joined_to {
            query.push(" AND m.joined < ").push_bind(to);
        }
        if let Some(term) = &self.q {
            push_search(query, term);
        }
        if let Some(tag) = &self.tag {
            query
                .push(" AND m.tags @> ARRAY[")
                .push_bind(tag.clone())
                .push("]");
        }
        if let Some(mailability) = self.mailability {
            query.push(" AND ").push(condition(mailability));
        }
    }
}

/// What the function `mailability` says, as a condition that the indexes can answer.
fn condition(mailability: Mailability) -> &'static str {
    match mailability {
        Mailability::NoAddress => "m.email IS NULL",
        Mailability::Suppressed => "m.email IS NOT NULL AND m.suppressed_until > now()",
        Mailability::Unsubscribed => {
            "m.email IS NOT NULL AND (m.suppressed_until > now()) IS NOT TRUE \
             AND (m.unsubscribed_until > now() OR m.consent_withdrawn)"
        }
        Mailability::Ok => {
            "m.email IS NOT NULL AND (m.suppressed_until > now()) IS NOT TRUE \
             AND (m.unsubscribed_until > now()) IS NOT TRUE AND NOT m.consent_withdrawn"
        }
    }
}

/// Each kind of term is looked for by the index that finds it.
fn push_search(query: &mut QueryBuilder<Postgres>, term: &SearchTerm<0>) {
    let pairs = term.pairs();
    let alone = pairs.len() == 1;
    if !term.has_trigram() {
        query
            .push(" AND characters_and_pairs(m.search_text) @> ")
            .push_bind(pairs);
        if alone {
            return;
        }
    }
    query
        .push(" AND m.search_text LIKE ")
        .push_bind(term.pattern());
}
