//! The list of suppressions, put together at run time from the filters that are given.

use sqlx::{Postgres, QueryBuilder};

use crate::{
    http::{
        list::{Listed, Purpose, Selection, order::SortKey},
        views::Resource,
    },
    suppressions::model::{SUPPRESSIONS, Suppression, SuppressionFilter},
};

impl Listed for Suppression {
    const COLUMNS: &'static str = "s.id, s.address, s.reason, s.scope, s.origin, s.source_mail_record_id, \
                                   s.expires_at, s.created_at, s.updated_at, s.version";
    const TABLE: &'static str = "suppressions s";
    const ID: &'static str = "s.id";
    const SORT_KEYS: &'static [SortKey] = &[SortKey::timestamp("created_at", "s.created_at")];
    const RESOURCE: Option<&'static Resource> = Some(&SUPPRESSIONS);
    const NAME: &'static str = "suppression";
    const FIELDS: &'static [&'static str] = &[
        "id",
        "address",
        "reason",
        "scope",
        "origin",
        "source_mail_record_id",
        "expires_at",
        "created_at",
        "updated_at",
        "version",
    ];
}

impl Selection for SuppressionFilter {
    fn push_filters(&self, query: &mut QueryBuilder<Postgres>, _: Purpose) {
        if let Some(address) = &self.address {
            query
                .push(" AND s.address_hash = (SELECT address_hash(")
                .push_bind(address.folded())
                .push("))");
        }
        if let Some(reason) = self.reason {
            query.push(" AND s.reason = ").push_bind(reason);
        }
        if let Some(scope) = self.scope {
            query.push(" AND s.scope = ").push_bind(scope);
        }
        if let Some(origin) = self.origin {
            query.push(" AND s.origin = ").push_bind(origin);
        }
    }
}
