//! What is known, in one statement and so of one moment.

use sqlx::{PgExecutor, query};
use uuid::Uuid;

use super::decision::{Known, Said, Standing};
use crate::{
    consents::model::{ConsentState, Topic},
    suppressions::model::{SuppressionReason, SuppressionScope},
    values::{EmailAddress, Timestamp},
};

/// What is known of a member and of `recipient`, or else her own address; none if there is no such
/// member.
pub async fn known(
    executor: impl PgExecutor<'_>,
    member_id: Uuid,
    recipient: Option<&EmailAddress>,
    topic: Option<&Topic>,
) -> sqlx::Result<Option<Known>> {
    let rows = query!(
        r#"SELECT coalesce($2, m.email_folded) IS NOT NULL AS "has_address!",
                  s.id AS "suppression_id?", s.reason AS "reason?: SuppressionReason",
                  s.scope AS "scope?: SuppressionScope", s.expires_at AS "expires_at?: Timestamp",
                  c.id AS "consent_id?", c.state AS "state?: ConsentState"
           FROM members m
           LEFT JOIN suppressions s ON s.address_hash = address_hash(coalesce($2, m.email_folded))
               AND coalesce(s.expires_at, 'infinity') > now()
           LEFT JOIN LATERAL (
               SELECT p.id, p.state FROM present_consents p
               WHERE p.member_id = m.id
                   -- Who refused all topics that she ever spoke of has refused marketing mail.
                   AND (p.topic IS NULL OR p.topic = $3 OR ($3 IS NULL AND m.consent_withdrawn))
               ORDER BY p.occurred_at DESC, p.state DESC, p.id DESC LIMIT 1
           ) c ON true
           WHERE m.id = $1
           ORDER BY s.id"#,
        member_id,
        recipient.map(EmailAddress::folded),
        topic as _,
    )
    .fetch_all(executor)
    .await?;
    let Some(first) = rows.first() else {
        return Ok(None);
    };
    let has_address = first.has_address;
    let consent = first.consent_id.zip(first.state);
    let suppressions = rows.into_iter().filter_map(|row| {
        Some(Standing {
            id: row.suppression_id?,
            reason: row.reason?,
            scope: row.scope?,
            expires_at: row.expires_at,
        })
    });
    Ok(Some(Known {
        has_address,
        suppressions: suppressions.collect(),
        consent: consent.map(|(id, state)| Said { id, state }),
    }))
}
