//! The list of members, put together at run time from the filters that are given.

use sqlx::{PgExecutor, Postgres, QueryBuilder};
use uuid::Uuid;

use crate::members::model::{ListMembers, Member};

pub(in crate::members) async fn list(
    executor: impl PgExecutor<'_>,
    filter: &ListMembers,
    after: Option<Uuid>,
) -> sqlx::Result<Vec<Member>> {
    list_query(filter, after)
        .build_query_as()
        .fetch_all(executor)
        .await
}

/// By name and not by `*`: a column that a later version adds must not change what a statement,
/// once prepared, answers.
const COLUMNS: &str = "id, external_id, email, name, birth, joined, status, tags, attributes, created_at, \
                       updated_at, version";

/// The list, newest first.
fn list_query(filter: &ListMembers, after: Option<Uuid>) -> QueryBuilder<Postgres> {
    let mut query = QueryBuilder::new("SELECT ");
    query.push(COLUMNS).push(" FROM members WHERE true");
    if let Some(id) = after {
        query.push(" AND id < ").push_bind(id);
    }
    if let Some(status) = filter.status {
        query.push(" AND status = ").push_bind(status);
    }
    if let Some(email) = &filter.email {
        query.push(" AND email_folded = ").push_bind(email.folded());
    }
    if let Some(external_id) = &filter.external_id {
        query
            .push(" AND external_id = ")
            .push_bind(external_id.clone());
    }
    if let Some(from) = filter.joined_from {
        query.push(" AND joined >= ").push_bind(from);
    }
    if let Some(to) = filter.joined_to {
        query.push(" AND joined < ").push_bind(to);
    }
    if let Some(tag) = &filter.tag {
        query
            .push(" AND tags @> ARRAY[")
            .push_bind(tag.clone())
            .push("]");
    }
    query
        .push(" ORDER BY id DESC LIMIT ")
        .push_bind(filter.limit.and_one());
    query
}
