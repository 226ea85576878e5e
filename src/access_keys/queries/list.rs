//! The list of access keys.

use sqlx::{Postgres, QueryBuilder};

use crate::{
    access_keys::model::{AccessKey, AllAccessKeys},
    http::list::{Listed, Purpose, Selection, order::SortKey},
};

impl Listed for AccessKey {
    const COLUMNS: &'static str = "k.id, k.name, k.scopes, k.view, k.created_at, k.expires_at, k.revoked_at, \
                                   k.last_used_at, k.previous_valid_until, k.updated_at, k.version";
    const TABLE: &'static str = "access_keys k";
    const ID: &'static str = "k.id";
    const SORT_KEYS: &'static [SortKey] = &[SortKey::timestamp("created_at", "k.created_at")];
    const NAME: &'static str = "access_key";
    const FIELDS: &'static [&'static str] = &[
        "id",
        "name",
        "scopes",
        "view",
        "created_at",
        "expires_at",
        "revoked_at",
        "last_used_at",
        "previous_valid_until",
        "updated_at",
        "version",
    ];
}

impl Selection for AllAccessKeys {
    fn push_filters(&self, _: &mut QueryBuilder<Postgres>, _: Purpose) {}
}
