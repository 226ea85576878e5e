//! Whether the service lives, and whether it is ready.

use std::time::Duration;

use axum::extract::State;
use serde::Serialize;
use tokio::time::timeout;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::AppState;
use crate::{
    http::extract::Json,
    postgres::migrations,
    problem::{Code, Problem},
    refusals,
};

/// A check that takes longer tells no more than one that fails.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(livez))
        .routes(routes!(readyz))
}

/// The state of the service.
#[derive(Debug, Serialize, ToSchema)]
struct Health {
    /// `ok`; anything else is a problem.
    #[schema(example = "ok")]
    status: &'static str,
}

const OK: Json<Health> = Json(Health { status: "ok" });

refusals!(NotReady: NotReady);

/// Tell whether the process lives
///
/// Asks nobody else: restart the process if this fails.
#[utoipa::path(
    get, path = "/livez", operation_id = "read_liveness", tag = "health",
    responses((status = 200, description = "It lives", body = Health))
)]
async fn livez() -> Json<Health> {
    OK
}

/// Tell whether the service is ready
///
/// The database answers and has every migration, and the service is not shutting down. Send
/// requests elsewhere while this fails.
#[utoipa::path(
    get, path = "/readyz", operation_id = "read_readiness", tag = "health",
    responses((status = 200, description = "It is ready", body = Health), NotReady)
)]
async fn readyz(State(state): State<AppState>) -> Result<Json<Health>, Problem> {
    if state.limits.shutdown.is_announced() {
        return Err(not_ready("The service is shutting down."));
    }
    match timeout(CHECK_TIMEOUT, migrations::pending(&state.probe)).await {
        Ok(Ok(0)) => Ok(OK),
        Ok(Ok(_)) => Err(not_ready("The database lacks migrations of this version.")),
        Ok(Err(error)) => {
            tracing::warn!("not ready: {error}");
            Err(not_ready("The database does not answer."))
        }
        Err(_elapsed) => Err(not_ready("The database does not answer in time.")),
    }
}

fn not_ready(detail: &str) -> Problem {
    Problem::from(Code::NotReady).with_detail(detail)
}
