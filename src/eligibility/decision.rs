//! What is in the way of a mail, from what is known.
//!
//! | in the way of | `transactional` | `marketing` |
//! |---|---|---|
//! | no address | yes | yes |
//! | a suppression of scope `all` | yes | yes |
//! | a suppression of scope `marketing` | no | yes |
//! | a consent that is withdrawn or pending | no | yes |
//!
//! Who never said anything to marketing mail is in nobody's way.

use uuid::Uuid;

use super::model::{MailCategory, Obstacle};
use crate::{
    consents::model::ConsentState,
    suppressions::model::{SuppressionReason, SuppressionScope},
    values::Timestamp,
};

/// What is known of a member, and of the address that a mail would go to.
#[derive(Debug, Clone)]
pub struct Known {
    pub has_address: bool,
    /// Those that have not ended.
    pub suppressions: Vec<Standing>,
    /// What counts of what she said.
    pub consent: Option<Said>,
}

/// A suppression of the address.
#[derive(Debug, Clone)]
pub struct Standing {
    pub id: Uuid,
    pub reason: SuppressionReason,
    pub scope: SuppressionScope,
    pub expires_at: Option<Timestamp>,
}

/// What a member said to marketing mail.
#[derive(Debug, Clone)]
pub struct Said {
    pub id: Uuid,
    pub state: ConsentState,
}

impl Known {
    /// All that is in the way of a mail of this category.
    #[must_use]
    pub fn obstacles(&self, category: MailCategory) -> Vec<Obstacle> {
        let marketing = category == MailCategory::Marketing;
        let no_address = (!self.has_address).then_some(Obstacle::NoAddress);
        let suppressed = self
            .suppressions
            .iter()
            .filter(|standing| marketing || standing.scope == SuppressionScope::All)
            .map(|standing| Obstacle::Suppressed {
                suppression_id: standing.id,
                reason: standing.reason,
                scope: standing.scope,
                expires_at: standing.expires_at,
            });
        let said = self.consent.as_ref().filter(|_| marketing);
        let refused = said.and_then(|said| match said.state {
            ConsentState::Granted => None,
            ConsentState::Pending => Some(Obstacle::ConsentPending {
                consent_id: said.id,
            }),
            ConsentState::Withdrawn => Some(Obstacle::ConsentWithdrawn {
                consent_id: said.id,
            }),
        });
        no_address
            .into_iter()
            .chain(suppressed)
            .chain(refused)
            .collect()
    }
}
