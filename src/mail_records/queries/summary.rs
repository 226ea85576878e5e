//! What became of all mail of a member, in figures.

use sqlx::{PgExecutor, query};
use uuid::Uuid;

use crate::{
    mail_records::summary::{MailCounts, MailSummary},
    values::Timestamp,
};

/// Sums up the mail of a member; whoever has none, or is not there, has zeros.
pub async fn summary_of_member(
    executor: impl PgExecutor<'_>,
    member_id: Uuid,
) -> sqlx::Result<MailSummary> {
    let row = query!(
        r#"SELECT count(*) AS "total!",
               count(*) FILTER (WHERE status = 'recorded') AS "recorded!",
               count(*) FILTER (WHERE status = 'scheduled') AS "scheduled!",
               count(*) FILTER (WHERE status = 'queued') AS "queued!",
               count(*) FILTER (WHERE status = 'sent') AS "sent!",
               count(*) FILTER (WHERE status = 'deferred') AS "deferred!",
               count(*) FILTER (WHERE status = 'canceled') AS "canceled!",
               count(*) FILTER (WHERE status = 'suppressed') AS "suppressed!",
               count(*) FILTER (WHERE status = 'failed') AS "failed!",
               count(*) FILTER (WHERE status = 'delivered') AS "delivered!",
               count(*) FILTER (WHERE status = 'bounced') AS "bounced!",
               max(delivered_at) AS "last_delivered_at: Timestamp",
               max(status_at) FILTER (WHERE status IN ('failed', 'bounced')) AS "last_failed_at: Timestamp"
           FROM mail_records WHERE member_id = $1"#,
        member_id,
    )
    .fetch_one(executor)
    .await?;
    Ok(MailSummary {
        total: row.total,
        by_status: MailCounts {
            recorded: row.recorded,
            scheduled: row.scheduled,
            queued: row.queued,
            sent: row.sent,
            deferred: row.deferred,
            canceled: row.canceled,
            suppressed: row.suppressed,
            failed: row.failed,
            delivered: row.delivered,
            bounced: row.bounced,
        },
        last_delivered_at: row.last_delivered_at,
        last_failed_at: row.last_failed_at,
    })
}
