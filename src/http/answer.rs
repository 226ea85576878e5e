//! A resource as an answer, with its entity tag.

use axum::{
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::{conditional::Versioned, entity_tag::entity_tag, extract::Json, views};

/// 200 with a resource.
#[derive(Debug)]
pub struct Entity<T>(pub T);

impl<T: Versioned + Serialize> IntoResponse for Entity<T> {
    fn into_response(self) -> Response {
        match views::visible() {
            Ok(visible) => {
                let tag = entity_tag(self.0.version(), &visible.tag());
                ([(header::ETAG, tag)], Json(self.0)).into_response()
            }
            Err(problem) => problem.into_response(),
        }
    }
}

/// 201 with a new resource.
#[derive(Debug)]
pub struct Created<T> {
    /// Its path.
    pub location: String,
    pub entity: T,
}

impl<T: Versioned + Serialize> IntoResponse for Created<T> {
    fn into_response(self) -> Response {
        let location = [(header::LOCATION, self.location)];
        (StatusCode::CREATED, location, Entity(self.entity)).into_response()
    }
}
