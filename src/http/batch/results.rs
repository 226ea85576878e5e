//! What became of the items of a batch, as it is answered.

use axum::{
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use http_body_util::BodyExt;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::{
    ToSchema,
    openapi::{ArrayBuilder, Ref},
};
use uuid::Uuid;

use super::Outcome;
use crate::{
    http::{extract::Json, prefer::Return},
    problem::{Code, ItemProblem, Problem},
    values::PublicUrl,
};

/// What became of the items of a batch.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct BatchResults<R> {
    #[schema(schema_with = results::<R>)]
    pub results: Vec<R>,
    /// How many items were created.
    #[schema(minimum = 0)]
    pub created: usize,
    /// How many items were refused.
    #[schema(minimum = 0)]
    pub failed: usize,
}

/// Names the type of a result, which a derived schema would repeat.
fn results<R: ToSchema>() -> ArrayBuilder {
    ArrayBuilder::new()
        .items(Ref::from_schema_name(R::name()))
        .description(Some("One for each item, in their order."))
}

/// What an item would have been answered with by itself.
#[derive(Debug)]
pub struct ItemAnswer<R> {
    pub status: u16,
    pub resource: Option<R>,
    pub problem: Option<ItemProblem>,
}

impl<R> Outcome<R> {
    pub(super) fn into_answer(self, public_url: &PublicUrl) -> ItemAnswer<R> {
        let (status, resource, problem) = match self {
            Self::Created(resource) => (StatusCode::CREATED, Some(resource), None),
            Self::Standing(resource) => (StatusCode::OK, Some(resource), None),
            Self::Refused(problem) => {
                let status = problem.code.status();
                (status, None, Some(ItemProblem::new(problem, public_url)))
            }
        };
        ItemAnswer {
            status: status.as_u16(),
            resource,
            problem,
        }
    }
}

impl<R> BatchResults<R> {
    #[must_use]
    pub fn new<T>(answers: Vec<ItemAnswer<T>>) -> Self
    where
        R: From<ItemAnswer<T>>,
    {
        let created = |item: &&ItemAnswer<T>| item.status == StatusCode::CREATED;
        Self {
            created: answers.iter().filter(created).count(),
            failed: answers.iter().filter(|item| item.problem.is_some()).count(),
            results: answers.into_iter().map(R::from).collect(),
        }
    }
}

/// A result without the representation.
#[derive(Serialize, Deserialize)]
struct Minimal {
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<Box<RawValue>>,
}

/// Leaves the representations out of an answer of results, where the client prefers that. As with a
/// single resource, what is kept and repeated is the answer as a whole.
///
/// # Errors
/// [`Code::InternalError`] if it is 200, but no such answer.
pub async fn prefer(headers: &HeaderMap, answer: Response) -> Result<Response, Problem> {
    let Some(preferred) = Return::of(headers).filter(|_| answer.status() == StatusCode::OK) else {
        return Ok(answer);
    };
    let answer = match preferred {
        Return::Representation => answer,
        Return::Minimal => {
            let (parts, body) = answer.into_parts();
            let body = body.collect().await.map_err(|_| Code::InternalError)?;
            let results: BatchResults<Minimal> =
                serde_json::from_slice(&body.to_bytes()).map_err(|_| Code::InternalError)?;
            Response::from_parts(parts, Json(results).into_response().into_body())
        }
    };
    Ok(([preferred.applied()], answer).into_response())
}
