//! The whole service: the routers merged, the layers added, and the document that follows from
//! them.
//!
//! - `health`: whether the service lives, and whether it is ready
//! - `docs`: the OpenAPI document and Swagger UI
//! - `page`: the page at `/`
//! - `problems`: the catalogue of problems

mod docs;
mod health;
mod page;
mod problems;

use axum::{
    Extension, Router,
    middleware::{from_fn, from_fn_with_state},
};
use sqlx::PgPool;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;

use crate::{
    access_keys::{
        self,
        guard::{Guard, guard},
        keys::Keys,
    },
    audit_log,
    consents::{self, model::CONSENTS},
    eligibility::{self, model::ELIGIBILITY},
    http::{
        access::{FailedSignIns, Requirements, document_access},
        audit::Operations,
        client_address::TrustedProxies,
        edge::Edge,
        idempotency::Retention,
        layers::{self, Limits},
        openapi::{document_contract, document_links},
        prefer::prefer,
        rate_limit::{RateLimit, document_rate_limit},
        streams::Streams,
        unknown_parameters::{KnownParameters, refuse_unknown_parameters},
        views::{self, Resource, Shaping, Views, document_views, shape},
    },
    mail_records::{
        self,
        events::{consequences::FailureLimit, model::MAIL_EVENTS},
        model::MAIL_RECORDS,
        summary::MAIL_SUMMARY,
    },
    members::{self, model::MEMBERS},
    problem::document_problems,
    suppressions::{self, model::SUPPRESSIONS},
};

/// The resources whose fields a view can hide.
pub const RESOURCES: [&Resource; 7] = [
    &MEMBERS,
    &MAIL_RECORDS,
    &MAIL_EVENTS,
    &MAIL_SUMMARY,
    &CONSENTS,
    &SUPPRESSIONS,
    &ELIGIBILITY,
];

/// What the service runs on.
#[derive(Debug, Clone)]
pub struct AppState {
    pub pool: PgPool,
    pub keys: Keys,
    pub trusted_proxies: TrustedProxies,
    pub failed_sign_ins: FailedSignIns,
    pub rate_limit: RateLimit,
    pub views: Views,
    /// One connection for `/readyz` alone: it must be heard while all others are busy.
    pub probe: PgPool,
    pub limits: Limits,
    pub idempotency: Retention,
    pub streams: Streams,
    pub failure_limit: FailureLimit,
    pub edge: Edge,
}

/// Builds the service. It needs neither a socket nor a database that answers.
pub fn build(state: AppState) -> (Router, OpenApi) {
    let (api, openapi) = documented(&state.views);
    let shaping = Shaping {
        operations: views::Operations::of(&openapi, &RESOURCES),
        views: state.views.clone(),
    };
    let known = KnownParameters::of(&openapi);
    let keys = state.keys.clone();
    let guarding = Guard {
        requirements: Requirements::of(&openapi),
        keys: keys.clone(),
        trusted_proxies: state.trusted_proxies.clone(),
        failed_sign_ins: state.failed_sign_ins.clone(),
        rate_limit: state.rate_limit.clone(),
        views: state.views.clone(),
    };
    let (health, _) = health::router().split_for_parts();
    let health = health.layer(from_fn_with_state(shaping.clone(), shape));
    let bounded = api
        .with_state(state.pool.clone())
        .merge(docs::router(&openapi))
        .merge(page::router())
        .layer(from_fn_with_state(shaping, shape))
        .layer(from_fn_with_state(known, refuse_unknown_parameters))
        .layer(Extension(Operations::of(&openapi)))
        .layer(Extension(state.idempotency))
        .layer(Extension(state.failure_limit))
        .layer(Extension(state.streams.clone()))
        .layer(from_fn(prefer))
        .layer(Extension(keys))
        .layer(Extension(state.views.clone()))
        .layer(from_fn_with_state(state.limits.clone(), layers::bound))
        // Before a body is read: whoever may not do it need not send it.
        .layer(from_fn_with_state(guarding, guard))
        .layer(from_fn_with_state(state.limits.clone(), layers::admit));
    // The state of the service is told outside of the limits: it must be heard while they hold. Of
    // two routers, the one that is merged in gives the answer where there is no route.
    let edge = state.edge.clone();
    let app = edge.around(health.with_state(state).merge(bounded));
    (app, openapi)
}

/// The OpenAPI document.
#[must_use]
pub fn openapi() -> OpenApi {
    documented(&Views::default()).1
}

fn documented(views: &Views) -> (Router<PgPool>, OpenApi) {
    let (router, mut openapi) = OpenApiRouter::with_openapi(docs::preamble())
        .merge(members::router())
        .merge(mail_records::router())
        .merge(eligibility::router())
        .merge(consents::router())
        .merge(suppressions::router())
        .merge(access_keys::router())
        .merge(audit_log::router())
        .merge(problems::router())
        .split_for_parts();
    let (_, health) = health::router().split_for_parts();
    document_problems(&mut openapi);
    document_access(&mut openapi, docs::KEY);
    document_rate_limit(&mut openapi);
    document_contract(&mut openapi);
    document_links(&mut openapi);
    document_views(&mut openapi, &RESOURCES, views);
    openapi.merge(health);
    (router, openapi)
}
