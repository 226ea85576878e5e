//! The one place where requests are let in or turned away.

use axum::{
    extract::{Request, State},
    http::request::Parts,
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::keys::{Fault, Grant, Keys};
use crate::{
    http::{
        access::{
            Caller, Credentials, FailedSignIns, GUARDED, Refusal, Requirement, Requirements,
            credentials,
        },
        client_address::{ClientAddress, TrustedProxies},
        rate_limit::{Client, RateLimit},
        views::{Ceiling, Views, Visible},
    },
    problem::Code,
};

/// What operations need, which keys there are, what these may see, and how often they may be used.
#[derive(Debug, Clone)]
pub struct Guard {
    pub requirements: Requirements,
    pub keys: Keys,
    pub views: Views,
    pub trusted_proxies: TrustedProxies,
    pub failed_sign_ins: FailedSignIns,
    pub rate_limit: RateLimit,
}

/// Lets a request in that may do what it asks for, and whose client has not asked for too much.
pub async fn guard(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let address = guard.trusted_proxies.client_of(&parts);
    let needed = guard.requirements.of_request(&parts);
    let signed_in = match needed {
        Requirement::Nothing => Ok(None),
        _ => guard.sign_in(&parts, address).await,
    };
    let client = match &signed_in {
        Ok(Some(grant)) => Client::Key(grant.id),
        _ => Client::Address(address),
    };
    let is_guarded = parts.uri.path().starts_with(GUARDED);
    let answer = async {
        match signed_in.and_then(|grant| guard.authorize(needed, grant)) {
            Ok((caller, ceiling)) => {
                parts.extensions.insert(caller);
                parts.extensions.insert(ceiling);
                next.run(Request::from_parts(parts, body)).await
            }
            Err(refusal) => refusal.into_response(),
        }
    };
    if is_guarded {
        guard.rate_limit.run(client, answer).await
    } else {
        answer.await
    }
}

impl Guard {
    /// What the key of a request opens; none where it has none and needs none.
    async fn sign_in(
        &self,
        request: &Parts,
        address: ClientAddress,
    ) -> Result<Option<Grant>, Refusal> {
        let verified = match credentials(&request.headers) {
            Credentials::None if self.keys.are_demanded().await? => {
                return Err(Refusal::KeyRequired);
            }
            Credentials::None => return Ok(None),
            Credentials::Bearer(token) => {
                // Whoever guesses is stopped, and not those who share the address.
                if let Err(problem) = self.failed_sign_ins.check(address)
                    && !self.keys.is_in_use(token)
                {
                    return Err(problem.into());
                }
                self.keys.verify(token).await?
            }
            Credentials::Malformed => {
                self.failed_sign_ins.check(address)?;
                Err(Fault::Malformed)
            }
        };
        verified.map(Some).map_err(|fault| {
            self.failed_sign_ins.count(address);
            tracing::info!(?fault, "a key was refused");
            Refusal::InvalidKey
        })
    }

    /// Whether a grant has what is needed, and what it lets see.
    fn authorize(
        &self,
        needed: Requirement<'_>,
        grant: Option<Grant>,
    ) -> Result<(Caller, Ceiling), Refusal> {
        let needed = match needed {
            Requirement::Nothing => &[],
            Requirement::Scopes(scopes) => scopes,
            Requirement::Undeclared => {
                tracing::error!("an operation declares no scope");
                return Err(Refusal::Failed(Code::InternalError.into()));
            }
        };
        let Some(grant) = grant else {
            return Ok((Caller(None), Ceiling(Visible::EVERYTHING)));
        };
        if !needed.iter().all(|scope| grant.scopes.contains(scope)) {
            return Err(Refusal::InsufficientScope(needed.to_vec()));
        }
        let visible = match grant.view.as_deref() {
            None => &Visible::EVERYTHING,
            Some(view) => self.views.get(view).ok_or_else(|| {
                tracing::warn!(key = %grant.id, view, "the view of a key is not configured");
                Refusal::ViewNotConfigured
            })?,
        };
        Ok((Caller(Some(grant.id)), Ceiling(visible.clone())))
    }
}
