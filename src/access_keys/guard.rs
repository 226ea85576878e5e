//! The one place where requests are let in or turned away.

use axum::{
    extract::{Request, State},
    http::request::Parts,
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::keys::Keys;
use crate::http::access::{Caller, Credentials, Refusal, Requirement, Requirements, credentials};

/// What operations need, and which keys there are.
#[derive(Debug, Clone)]
pub struct Guard {
    pub requirements: Requirements,
    pub keys: Keys,
}

/// Lets a request in that may do what it asks for.
pub async fn guard(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    match guard.admit(&parts).await {
        Ok(caller) => {
            parts.extensions.insert(caller);
            next.run(Request::from_parts(parts, body)).await
        }
        Err(refusal) => refusal.into_response(),
    }
}

impl Guard {
    async fn admit(&self, request: &Parts) -> Result<Caller, Refusal> {
        let needed = match self.requirements.of_request(request) {
            Requirement::Nothing => return Ok(Caller(None)),
            Requirement::Scopes(scopes) => scopes,
            Requirement::Undeclared => {
                tracing::error!("an operation declares no scope");
                return Err(Refusal::InsufficientScope(Vec::new()));
            }
        };
        let verified = match credentials(&request.headers) {
            Credentials::None if self.keys.are_demanded().await? => {
                return Err(Refusal::KeyRequired);
            }
            Credentials::None => return Ok(Caller(None)),
            Credentials::Bearer(token) => self.keys.verify(token).await?,
            Credentials::Malformed => Err(super::keys::Fault::Malformed),
        };
        let grant = verified.map_err(|fault| {
            tracing::info!(?fault, "a key was refused");
            Refusal::InvalidKey
        })?;
        if needed.iter().all(|scope| grant.scopes.contains(scope)) {
            Ok(Caller(Some(grant.id)))
        } else {
            Err(Refusal::InsufficientScope(needed.to_vec()))
        }
    }
}
