//! The catalogue of problems, where the `type` of every problem document leads.
//!
//! - `page`: the catalogue as pages for people

mod page;

use axum::{
    Extension,
    http::{HeaderMap, HeaderValue, header::VARY},
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    http::{
        extract::{Json, Path},
        negotiate,
    },
    problem::{Code, Problem},
    refusals,
    values::PublicUrl,
};

const FORMS: [&str; 2] = ["application/json", "text/html"];

pub(super) fn router<S: Clone + Send + Sync + 'static>() -> OpenApiRouter<S> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(read))
}

/// A kind of problem.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(example = json!({
    "type": "/problems/member_not_found",
    "code": "member_not_found",
    "status": 404,
    "title": "There is no such member",
    "advice": "The member does not exist, or no longer does."
}))]
struct ProblemType {
    /// What a problem document has as its `type`.
    #[serde(rename = "type")]
    #[schema(format = "uri-reference")]
    uri: String,
    /// Never changes once it was released.
    code: &'static str,
    /// The HTTP status of an answer with this problem.
    #[schema(minimum = 400, maximum = 599)]
    status: u16,
    title: &'static str,
    /// What the caller does next.
    advice: &'static str,
}

impl ProblemType {
    fn new(code: Code, public_url: &PublicUrl) -> Self {
        let entry = code.entry();
        Self {
            uri: code.type_uri(public_url),
            code: entry.code,
            status: entry.status.as_u16(),
            title: entry.title,
            advice: entry.advice,
        }
    }
}

/// Every kind of problem.
#[derive(Debug, Serialize, ToSchema)]
struct Catalogue {
    data: Vec<ProblemType>,
}

/// Names one kind of problem.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct ProblemPath {
    /// The code of a problem.
    #[param(example = "member_not_found")]
    code: String,
}

refusals!(NotFound: RouteNotFound);

/// List every kind of problem
///
/// As JSON, or as a page for people where `Accept` prefers `text/html`. One that allows neither is
/// answered with JSON.
#[utoipa::path(
    get, path = "/problems", operation_id = "list_problems", tag = "problems",
    responses((status = 200, description = "The catalogue",
        content((Catalogue = "application/json"), (String = "text/html"))))
)]
async fn list(Extension(public_url): Extension<PublicUrl>, headers: HeaderMap) -> Response {
    let kinds = Code::ALL
        .iter()
        .map(|code| ProblemType::new(*code, &public_url));
    let data: Vec<_> = kinds.collect();
    if wants_page(&headers) {
        vary(page::list(data))
    } else {
        vary(Json(Catalogue { data }).into_response())
    }
}

/// Read one kind of problem
///
/// The `type` of a problem document leads here. As JSON, or as a page for people where `Accept`
/// prefers `text/html`. One that allows neither is answered with JSON.
#[utoipa::path(
    get, path = "/problems/{code}", operation_id = "read_problem", tag = "problems",
    params(ProblemPath),
    responses(
        (status = 200, description = "The kind of problem",
            content((ProblemType = "application/json"), (String = "text/html"))),
        NotFound,
    )
)]
async fn read(
    Extension(public_url): Extension<PublicUrl>,
    headers: HeaderMap,
    Path(ProblemPath { code }): Path<ProblemPath>,
) -> Result<Response, Problem> {
    let code = Code::ALL
        .iter()
        .copied()
        .find(|known| known.as_str() == code);
    let kind = ProblemType::new(code.ok_or(Code::RouteNotFound)?, &public_url);
    Ok(if wants_page(&headers) {
        vary(page::read(&kind))
    } else {
        vary(Json(kind).into_response())
    })
}

/// Not 406 where neither form is acceptable: whoever comes for what a refusal means is not helped by
/// another one.
fn wants_page(headers: &HeaderMap) -> bool {
    negotiate::choose(headers, &FORMS) == Some("text/html")
}

fn vary(mut response: Response) -> Response {
    response
        .headers_mut()
        .insert(VARY, HeaderValue::from_static("accept"));
    response
}
