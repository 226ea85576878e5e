//! A mail record that is only written if the member may be mailed.

use serde::Deserialize;
use sqlx::PgExecutor;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::model::{MailRecordInput, MailStatus};
use crate::{
    consents::model::Topic,
    eligibility::{self, model::Obstacle},
    problem::{Code, FieldError, Problem},
    values::strict,
};

/// Whether a mail record is only written if the member may be mailed.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Condition {
    /// `true`: write it only if nothing is in the way of a mail of its category to its recipient, as
    /// `mail-eligibility` of the member says it.
    #[serde(default, deserialize_with = "strict::flag")]
    #[param(default = false)]
    if_eligible: bool,
    /// What becomes of it if something is; `refuse` where it is not given.
    #[serde(default)]
    #[param(inline)]
    otherwise: Option<Otherwise>,
    /// What a marketing mail is about: what the member said on that counts, too.
    #[serde(default)]
    topic: Option<Topic>,
}

#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Otherwise {
    /// It is not written: 409 `not_eligible`.
    Refuse,
    /// It is written with the status `suppressed`.
    Suppress,
}

impl Condition {
    /// Lets a mail record of a member through: as it is, or as one that was suppressed.
    ///
    /// # Errors
    /// [`Code::NotEligible`] with all that is in the way; [`Code::MemberNotFound`].
    pub(super) async fn apply(
        &self,
        executor: impl PgExecutor<'_>,
        member_id: Uuid,
        record: &mut MailRecordInput,
    ) -> Result<(), Problem> {
        if !self.if_eligible {
            return Ok(());
        }
        let (recipient, topic) = (record.recipient.as_ref(), self.topic.as_ref());
        let known = eligibility::queries::known(executor, member_id, recipient, topic).await?;
        let known = known.ok_or(Code::MemberNotFound)?;
        let obstacles = known.obstacles(record.category);
        if obstacles.is_empty() {
            return Ok(());
        }
        if !matches!(self.otherwise, Some(Otherwise::Suppress)) {
            let errors = obstacles.iter().map(error).collect();
            return Err(Problem::from(Code::NotEligible).with_errors(errors));
        }
        let reasons: Vec<_> = obstacles.iter().map(ToString::to_string).collect();
        record.status = MailStatus::Suppressed;
        record.status_at = None;
        record.status_reason = reasons.join(" ").parse().ok();
        Ok(())
    }
}

/// What is in the way, where in the body it stands.
fn error(obstacle: &Obstacle) -> FieldError {
    let field = match obstacle {
        Obstacle::NoAddress | Obstacle::Suppressed { .. } => "recipient",
        Obstacle::ConsentWithdrawn { .. } | Obstacle::ConsentPending { .. } => "category",
    };
    FieldError::at_pointer([field], obstacle.code(), obstacle.to_string())
}
