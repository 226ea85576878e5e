//! What became of all mail of a member, in figures.

use serde::Serialize;
use utoipa::ToSchema;

use crate::{http::views::Resource, values::Timestamp};

/// What became of all mail of a member.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct MailSummary {
    /// How many mail records there are.
    #[schema(minimum = 0)]
    pub total: i64,
    pub by_status: MailCounts,
    /// When mail was last delivered, even if it was returned later; null if none was.
    #[schema(required)]
    pub last_delivered_at: Option<Timestamp>,
    /// When mail last `failed` or `bounced`; null if none did.
    #[schema(required)]
    pub last_failed_at: Option<Timestamp>,
}

/// All mail of a member in figures, as views know it.
pub const MAIL_SUMMARY: Resource = Resource {
    name: "mail_summary",
    schema: "MailSummary",
    fields: &["total", "by_status", "last_delivered_at", "last_failed_at"],
    told_by: &[],
    taken_from: &[],
};

/// How many mail records have each status.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct MailCounts {
    #[schema(minimum = 0)]
    pub recorded: i64,
    #[schema(minimum = 0)]
    pub scheduled: i64,
    #[schema(minimum = 0)]
    pub queued: i64,
    #[schema(minimum = 0)]
    pub sent: i64,
    #[schema(minimum = 0)]
    pub deferred: i64,
    #[schema(minimum = 0)]
    pub canceled: i64,
    #[schema(minimum = 0)]
    pub suppressed: i64,
    #[schema(minimum = 0)]
    pub failed: i64,
    #[schema(minimum = 0)]
    pub delivered: i64,
    #[schema(minimum = 0)]
    pub bounced: i64,
}
