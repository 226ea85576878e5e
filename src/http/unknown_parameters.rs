//! Unknown parameters.

use std::{collections::HashMap, sync::Arc};

use axum::{
    extract::{MatchedPath, Request, State},
    http::Method,
    middleware::Next,
    response::{IntoResponse, Response},
};
use utoipa::openapi::{OpenApi, RefOr, path::ParameterIn};

use super::{
    decode::{MAX_ERRORS, unknown},
    extract::query_pairs,
};
use crate::problem::{Code, FieldError, Problem};

/// The query parameters of each documented operation.
#[derive(Debug, Default, Clone)]
pub struct KnownParameters(Arc<HashMap<(Method, String), Vec<String>>>);

impl KnownParameters {
    #[must_use]
    pub fn of(openapi: &OpenApi) -> Self {
        let mut known = HashMap::new();
        for (path, item) in &openapi.paths.paths {
            let operations = [
                (Method::GET, &item.get),
                (Method::PUT, &item.put),
                (Method::POST, &item.post),
                (Method::DELETE, &item.delete),
                (Method::PATCH, &item.patch),
            ];
            for (method, operation) in operations {
                let Some(operation) = operation else { continue };
                let names = operation
                    .parameters
                    .iter()
                    .flatten()
                    .filter_map(|parameter| match parameter {
                        RefOr::T(parameter) => Some(parameter),
                        RefOr::Ref(_) => None,
                    })
                    .filter(|parameter| parameter.parameter_in == ParameterIn::Query)
                    .map(|parameter| parameter.name.clone());
                known.insert((method, path.clone()), names.collect());
            }
        }
        Self(Arc::new(known))
    }
}

/// The parameters of a request that its operation does not know, for the extractor to name together
/// with what else is wrong.
#[derive(Debug, Clone, Default)]
pub(super) struct Unknown(pub(super) Vec<FieldError>);

/// Refuses a query parameter that the operation's declaration does not name: a misspelt filter that
/// is ignored lists too much.
pub async fn refuse_unknown_parameters(
    State(known): State<KnownParameters>,
    mut request: Request,
    next: Next,
) -> Response {
    match check(&known, &mut request) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

fn check(known: &KnownParameters, request: &mut Request) -> Result<(), Problem> {
    let Some(query) = request.uri().query() else {
        return Ok(());
    };
    let Some(path) = request.extensions().get::<MatchedPath>() else {
        return Ok(());
    };
    let method = match *request.method() {
        Method::HEAD => Method::GET,
        ref method => method.clone(),
    };
    let Some(known) = known.0.get(&(method, path.as_str().to_owned())) else {
        return Ok(());
    };
    let errors: Vec<_> = query_pairs(query)?
        .into_iter()
        .filter(|(name, _)| !known.contains(name))
        .take(MAX_ERRORS)
        .map(|(name, _)| {
            let detail = unknown(&name, known, "parameter");
            FieldError::at_parameter(name, "unknown", detail)
        })
        .collect();
    if errors.is_empty() {
        return Ok(());
    }
    if known.is_empty() {
        // Nobody reads the query, so nobody else would refuse it.
        return Err(Problem::from(Code::InvalidParameter).with_errors(errors));
    }
    request.extensions_mut().insert(Unknown(errors));
    Ok(())
}
