use axum::extract::State;
use sqlx::PgPool;

use super::{
    model::{EligibilityPath, EligibilityQuestion, MailCategory, MailEligibility},
    queries,
};
use crate::{
    http::extract::{Json, Path, Query},
    problem::{Code, Problem},
    refusals,
};

refusals!(NoMember: MemberNotFound);

/// Read whether a member may be mailed
///
/// With all that is in the way: that she has no address, that it is suppressed, and for marketing mail
/// what she said to it. Who wants no newsletter still gets a password reset; an address that does not work
/// gets neither. Whether she is a member does not count: that is `status`.
#[utoipa::path(
    get, path = "/api/v1/members/{member_id}/mail-eligibility",
    operation_id = "read_mail_eligibility", tag = "eligibility",
    params(EligibilityPath, EligibilityQuestion),
    security(("bearer" = ["members:read"])),
    responses(
        (status = 200, description = "Whether she may be mailed", body = MailEligibility),
        NoMember,
    )
)]
pub(super) async fn read(
    State(pool): State<PgPool>,
    Path(EligibilityPath { member_id }): Path<EligibilityPath>,
    Query(EligibilityQuestion { category, topic }): Query<EligibilityQuestion>,
) -> Result<Json<MailEligibility>, Problem> {
    let known = queries::known(&pool, member_id, None, topic.as_ref()).await?;
    let known = known.ok_or(Code::MemberNotFound)?;
    let reasons = known.obstacles(category.unwrap_or(MailCategory::Marketing));
    Ok(Json(MailEligibility {
        allowed: reasons.is_empty(),
        reasons,
    }))
}
