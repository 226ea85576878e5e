//! What an event means for the address that the mail was sent to.
//!
//! | event | the address is suppressed |
//! |---|---|
//! | `bounced`, for good | for all mail (`hard_bounce`) |
//! | `complained` | for all mail (`complaint`) |
//! | `unsubscribed` | for marketing mail (`unsubscribe`) |
//! | `failed` or `bounced`, for a time, as several mails in a row with none delivered between | for all mail (`hard_bounce`) |
//!
//! A single `failed` blocks nothing, whatever its codes: whoever gave up did not have to ask the recipient's
//! server. Its failures count in a row only where their codes say that they are for a time.
//!
//! It is the address of the mail, whichever the member has by now. An event that was known already, and one
//! about the message alone, means nothing for it.

use sqlx::PgConnection;

use super::{
    failure::Failure,
    model::{MailEvent, MailEventType},
    queries::failed_in_a_row,
};
use crate::{
    http::audit::Audit,
    mail_records::model::{MailRecord, MailStatus},
    suppressions::{
        self,
        model::{NewSuppression, SuppressionOrigin, SuppressionReason, SuppressionScope},
    },
};

/// After how many mails in a row that failed for a time an address is suppressed; none if it never is.
#[derive(Debug, Clone, Copy)]
pub struct FailureLimit(pub Option<u32>);

/// Does what new events of a mail record mean for its address, in their transaction.
pub(in crate::mail_records) async fn follow(
    connection: &mut PgConnection,
    record: &MailRecord,
    events: impl Iterator<Item = &MailEvent>,
    limit: FailureLimit,
    audit: &Audit,
) -> sqlx::Result<()> {
    let mut failed = false;
    for event in events {
        let (reason, scope) = match event.kind {
            MailEventType::Complained => (SuppressionReason::Complaint, SuppressionScope::All),
            MailEventType::Unsubscribed => {
                (SuppressionReason::Unsubscribe, SuppressionScope::Marketing)
            }
            _ => match Failure::of(event) {
                Some(Failure::Permanent) if event.kind == MailEventType::Bounced => {
                    (SuppressionReason::HardBounce, SuppressionScope::All)
                }
                Some(Failure::Transient) => {
                    failed = true;
                    continue;
                }
                _ => continue,
            },
        };
        suppress(connection, record, reason, scope, audit).await?;
    }
    if let (true, Some(limit)) = (failed, limit.0)
        && failed_in_a_row(&mut *connection, &record.recipient, limit).await?
    {
        let (reason, scope) = (SuppressionReason::HardBounce, SuppressionScope::All);
        suppress(connection, record, reason, scope, audit).await?;
    }
    Ok(())
}

/// Does what the event means that a mail record was created with, in the transaction that creates it.
pub(in crate::mail_records) async fn follow_first(
    connection: &mut PgConnection,
    record: &MailRecord,
    limit: FailureLimit,
    audit: &Audit,
) -> sqlx::Result<()> {
    if !may_follow(record.status) {
        return Ok(());
    }
    let first = MailEvent::first_of(record);
    follow(connection, record, [&first].into_iter(), limit, audit).await
}

/// Whether anything may follow from a mail record that is created with this status.
pub(in crate::mail_records) fn may_follow(status: MailStatus) -> bool {
    matches!(status, MailStatus::Failed | MailStatus::Bounced)
}

async fn suppress(
    connection: &mut PgConnection,
    record: &MailRecord,
    reason: SuppressionReason,
    scope: SuppressionScope,
    audit: &Audit,
) -> sqlx::Result<()> {
    let suppression = NewSuppression {
        address: record.recipient.clone(),
        reason,
        scope,
        origin: SuppressionOrigin::Event,
        source_mail_record_id: Some(record.id),
        expires_at: None,
    };
    suppressions::queries::add(connection, &suppression, &audit.of_consequence()).await?;
    Ok(())
}
