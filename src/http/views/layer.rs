//! What is around every request: which view it has, and what that lets it ask for.

use axum::{
    body::Bytes,
    extract::{RawPathParams, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use serde_json::Value;

use super::{
    VISIBLE, Views,
    fields::{Fault, narrow},
    operations::{Fields, Operation, Operations, Parameter, fields_of},
    resource::{Resource, Visible},
};
use crate::{
    http::{extract::query_pairs, layers::RequestBody, unknown_parameters::Unknown},
    problem::{Code, FieldError, Problem},
    values::PlainJson,
};

pub(super) const CLIENT_PLATFORM: HeaderName = HeaderName::from_static("client-platform");
const VARY: HeaderValue = HeaderValue::from_static("authorization, client-platform");

/// What the access key of a request lets it see; put into its extensions by whoever lets it in.
#[derive(Debug, Clone)]
pub struct Ceiling(pub Visible);

/// What the layer goes by.
#[derive(Debug, Clone)]
pub struct Shaping {
    pub operations: Operations,
    pub views: Views,
}

/// Refuses what would tell or set a hidden field, and lets the answer show what is visible.
pub async fn shape(State(shaping): State<Shaping>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let Some(operation) = shaping.operations.of_request(&parts) else {
        // Nothing of it can be hidden.
        let request = Request::from_parts(parts, body);
        return VISIBLE.scope(Visible::EVERYTHING, next.run(request)).await;
    };
    let mut response = match visible(&shaping.views, operation, &mut parts).await {
        Ok(visible) => {
            let request = Request::from_parts(parts, body);
            VISIBLE.scope(visible, next.run(request)).await
        }
        Err(problem) => problem.into_response(),
    };
    response.headers_mut().append(header::VARY, VARY);
    response
}

/// What is visible in the answer to a request.
async fn visible(
    views: &Views,
    operation: &Operation,
    parts: &mut Parts,
) -> Result<Visible, Problem> {
    let Some(Ceiling(ceiling)) = parts.extensions.get::<Ceiling>() else {
        tracing::error!("nobody found out what a request may see");
        return Err(Code::InternalError.into());
    };
    let allowed = match of_platform(views, &parts.headers)? {
        Some(of_platform) => ceiling.and(of_platform),
        None => ceiling.clone(),
    };
    let pairs = query_pairs(parts.uri.query().unwrap_or_default())?;
    if !allowed.is_everything() {
        let asked = Asked {
            operation,
            allowed: &allowed,
        };
        let body = parts.extensions.get::<RequestBody>().cloned();
        asked.check_operation()?;
        asked.check_parameters(&pairs, &path_values(parts).await)?;
        asked.check_body(body.as_ref().map(|RequestBody(body)| body))?;
    }
    let error = match narrow(&pairs, operation, &allowed) {
        Ok(visible) if operation.hands_query_on() => return Ok(visible),
        Ok(visible) => match parts.extensions.remove::<Unknown>() {
            None => return Ok(visible),
            Some(Unknown(errors)) => return Err(invalid(errors)),
        },
        Err(Fault::Hidden(problem)) => return Err(problem),
        Err(Fault::Invalid(error)) => error,
    };
    let Unknown(mut errors) = parts.extensions.remove().unwrap_or_default();
    if !operation.hands_query_on() {
        errors.push(error);
        return Err(invalid(errors));
    }
    // The handler names it together with what else is wrong, and by itself whatever is repeated.
    if error.code != "repeated" {
        errors.push(error);
    }
    parts.extensions.insert(Unknown(errors));
    Ok(allowed)
}

fn invalid(errors: Vec<FieldError>) -> Problem {
    Problem::from(Code::InvalidParameter).with_errors(errors)
}

/// What the platform that a client names is to see; none if it names none.
fn of_platform<'v>(views: &'v Views, headers: &HeaderMap) -> Result<Option<&'v Visible>, Problem> {
    let mut lines = headers.get_all(CLIENT_PLATFORM).iter();
    let Some(line) = lines.next() else {
        return Ok(None);
    };
    let known = line.to_str().ok().and_then(|name| views.of_platform(name));
    if let (Some(visible), None) = (known, lines.next()) {
        return Ok(Some(visible));
    }
    let names: Vec<_> = views.platforms().map(|name| format!("`{name}`")).collect();
    let detail = if names.is_empty() {
        "No platform is known here; leave this field out.".to_owned()
    } else {
        format!("One of {} is expected.", names.join(", "))
    };
    let error = FieldError::at_header(CLIENT_PLATFORM.as_str(), "invalid", detail);
    Err(Problem::from(Code::InvalidHeader).with_errors(vec![error]))
}

/// The names of the parameters in the path.
async fn path_values(parts: &mut Parts) -> Vec<String> {
    use axum::extract::FromRequestParts;

    let values = RawPathParams::from_request_parts(parts, &()).await;
    // What is badly encoded is refused by whoever reads it.
    let names = values.map(|values| values.iter().map(|(name, _)| name.to_owned()).collect());
    names.unwrap_or_default()
}

/// What a request asks for, and what it is allowed to see.
struct Asked<'a> {
    operation: &'a Operation,
    allowed: &'a Visible,
}

impl Asked<'_> {
    /// The first of some fields that is hidden.
    fn hidden(&self, fields: &[Fields]) -> Option<&'static str> {
        let mut hidden = fields.iter().filter_map(|(resource, set)| {
            let hidden = set & !self.allowed.shown(resource);
            resource.names(hidden).next()
        });
        hidden.next()
    }

    /// Refuses what tells a hidden field by being done or refused, or sets it unasked.
    fn check_operation(&self) -> Result<(), Problem> {
        if let Some(field) = self.hidden(&self.operation.reads) {
            let detail = format!("It tells of `{field}`, which your view hides.");
            return Err(Problem::from(Code::FieldHidden).with_detail(detail));
        }
        if let Some(field) = self.hidden(&self.operation.replaces) {
            let detail = format!(
                "A replacement sets `{field}` too, which your view hides; change single fields with PATCH."
            );
            return Err(Problem::from(Code::FieldHidden).with_detail(detail));
        }
        Ok(())
    }

    /// Refuses parameters by which a hidden field could be found out, and those of which it is not known
    /// what they tell.
    fn check_parameters(&self, query: &[(String, String)], path: &[String]) -> Result<(), Problem> {
        let of_query = query
            .iter()
            .map(|(name, value)| (name, value.as_str(), false));
        let of_path = path.iter().map(|name| (name, "", true));
        let mut errors = Vec::new();
        for (name, value, in_path) in of_query.chain(of_path) {
            let mut parameters = self.operation.parameters.iter();
            let given = |known: &&Parameter| known.name == *name && known.in_path == in_path;
            let Some(parameter) = parameters.find(given) else {
                continue;
            };
            let sorted = match name.as_str() {
                "sort" => fields_of(&self.operation.resources, value.trim_start_matches('-')),
                _ => Vec::new(),
            };
            let detail = match &parameter.reads {
                None => "It is not known to tell nothing that your view hides.".to_owned(),
                Some(reads) => match self.hidden(reads).or_else(|| self.hidden(&sorted)) {
                    None => continue,
                    Some(field) => format!("It tells of `{field}`, which your view hides."),
                },
            };
            errors.push(FieldError::at_parameter(name, "hidden", detail));
        }
        refused(errors)
    }

    /// Refuses a body that sets a hidden field, wherever in it that stands.
    fn check_body(&self, body: Option<&Bytes>) -> Result<(), Problem> {
        // What is no JSON is refused by whoever reads it.
        let body = body.and_then(|body| serde_json::from_slice(body).ok());
        let Some(PlainJson(body)) = body else {
            return Ok(());
        };
        let mut errors = Vec::new();
        let resources = &self.operation.resources;
        self.check_item(resources, &body, "", &mut errors);
        for (items, steps) in [
            (&body, String::new()),
            (&body["items"], "/items".to_owned()),
        ] {
            for (index, item) in items.as_array().into_iter().flatten().enumerate() {
                self.check_item(resources, item, &format!("{steps}/{index}"), &mut errors);
            }
        }
        errors.truncate(crate::http::decode::MAX_ERRORS);
        refused(errors)
    }

    fn check_item(
        &self,
        resources: &[&'static Resource],
        item: &Value,
        steps: &str,
        errors: &mut Vec<FieldError>,
    ) {
        for (name, _) in item.as_object().into_iter().flatten() {
            if self.hidden(&fields_of(resources, name)).is_some() {
                let detail = "Your view hides this field, so it is not set by you either.";
                let error = FieldError::at_pointer([name.as_str()], "hidden", detail);
                errors.push(error.within(steps));
            }
        }
        for (name, from) in &self.operation.taken {
            let is_item = item.is_object() && item.get("items").is_none();
            if is_item && item[name].is_null() && self.hidden(from).is_some() {
                let detail = "Give it: else it is taken from what your view hides.";
                let error = FieldError::at_pointer([*name], "hidden", detail);
                errors.push(error.within(steps));
            }
        }
    }
}

fn refused(errors: Vec<FieldError>) -> Result<(), Problem> {
    if errors.is_empty() {
        return Ok(());
    }
    Err(Problem::from(Code::FieldHidden).with_errors(errors))
}
