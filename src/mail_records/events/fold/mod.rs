//! What a mail record says of its mail, as a pure function of the set of its events.
//!
//! Reports come late, twice and in the wrong order. So nothing depends on the order in which events came
//! in, and an event that is given twice counts once.
//!
//! | events | the status |
//! |---|---|
//! | progress only: `recorded`, `scheduled`, `queued`, `sent`, `deferred` | the newest by `occurred_at`; at the same time the later in this row |
//! | the `recorded` that a mail record is created with | gives way to any other: it says when the record was written down, and nothing of the mail |
//! | an outcome: `canceled` < `suppressed` < `failed` < `delivered` < `bounced` | the outcome that stands furthest to the right, whenever it occurred and whatever progress is newer; its earliest event |
//! | `canceled` or `suppressed` as the highest outcome, and `sent` or `deferred` | the progress: what was sent was neither called back nor held back |
//! | `opened`, `clicked`, `complained`, `unsubscribed` | no status; they are counted, and the first of each is told |
//!
//! The event whose status it is decides: `status_at` is when it occurred, and `status_reason` is its
//! diagnostic, or else its codes. Of two that say the same at the same time, what they say decides.

use std::{cmp::Reverse, collections::HashSet};

use uuid::Uuid;

use super::model::{MailEvent, MailEventType};
use crate::{
    mail_records::model::{MailRecord, MailStatus},
    values::{EnhancedCode, SmtpCode, Text, Timestamp},
};

/// What follows from the events of a mail record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folded {
    /// None if no event says anything on it.
    pub decision: Option<Decision>,
    pub delivered_at: Option<Timestamp>,
    pub bounced_at: Option<Timestamp>,
    pub opened_count: i64,
    pub first_opened_at: Option<Timestamp>,
    pub clicked_count: i64,
    pub first_clicked_at: Option<Timestamp>,
    pub complained_at: Option<Timestamp>,
    pub unsubscribed_at: Option<Timestamp>,
}

/// The status, and what the event says that decided on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub status: MailStatus,
    pub status_at: Timestamp,
    pub status_reason: Option<Text<1, 4000>>,
    pub status_event_id: Uuid,
}

/// What several events of a mail record say together.
#[must_use]
pub fn fold<'e>(events: impl IntoIterator<Item = &'e MailEvent>) -> Folded {
    let mut fold = Fold::default();
    for event in events {
        fold.add(event);
    }
    fold.folded()
}

/// A fold under way.
#[derive(Debug, Default)]
pub(super) struct Fold<'e> {
    seen: HashSet<Uuid>,
    progress: Option<&'e MailEvent>,
    outcome: Option<&'e MailEvent>,
    was_sent: bool,
    delivered_at: Option<Timestamp>,
    bounced_at: Option<Timestamp>,
    opened: Counted,
    clicked: Counted,
    complained_at: Option<Timestamp>,
    unsubscribed_at: Option<Timestamp>,
}

/// How often something happened, and when first.
#[derive(Debug, Default)]
struct Counted {
    count: i64,
    first_at: Option<Timestamp>,
}

impl<'e> Fold<'e> {
    pub(super) fn add(&mut self, event: &'e MailEvent) {
        if !self.seen.insert(event.id) {
            return;
        }
        match Standing::of(event.kind) {
            Some(Standing::Progress(_)) => {
                let newest = self.progress.into_iter().chain([event]);
                self.progress = newest.max_by_key(|event| by_progress(event));
            }
            Some(Standing::Outcome(_)) => {
                let highest = self.outcome.into_iter().chain([event]);
                self.outcome = highest.max_by_key(|event| by_outcome(event));
            }
            None => {}
        }
        match event.kind {
            MailEventType::Sent | MailEventType::Deferred => self.was_sent = true,
            MailEventType::Delivered => first(&mut self.delivered_at, event),
            MailEventType::Bounced => first(&mut self.bounced_at, event),
            MailEventType::Opened => self.opened.add(event),
            MailEventType::Clicked => self.clicked.add(event),
            MailEventType::Complained => first(&mut self.complained_at, event),
            MailEventType::Unsubscribed => first(&mut self.unsubscribed_at, event),
            _ => {}
        }
    }

    pub(super) fn folded(&self) -> Folded {
        Folded {
            decision: self.deciding().and_then(Decision::by),
            delivered_at: self.delivered_at,
            bounced_at: self.bounced_at,
            opened_count: self.opened.count,
            first_opened_at: self.opened.first_at,
            clicked_count: self.clicked.count,
            first_clicked_at: self.clicked.first_at,
            complained_at: self.complained_at,
            unsubscribed_at: self.unsubscribed_at,
        }
    }

    fn deciding(&self) -> Option<&'e MailEvent> {
        match self.outcome {
            Some(outcome) if self.was_sent && denies_sending(outcome.kind) => self.progress,
            Some(outcome) => Some(outcome),
            None => self.progress,
        }
    }
}

impl Counted {
    fn add(&mut self, event: &MailEvent) {
        self.count += 1;
        first(&mut self.first_at, event);
    }
}

impl Decision {
    fn by(event: &MailEvent) -> Option<Self> {
        Some(Self {
            status: status(event.kind)?,
            status_at: event.occurred_at,
            status_reason: reason(event),
            status_event_id: event.id,
        })
    }
}

impl From<&MailRecord> for Folded {
    fn from(record: &MailRecord) -> Self {
        let decision = record.status_event_id.map(|status_event_id| Decision {
            status: record.status,
            status_at: record.status_at,
            status_reason: record.status_reason.clone(),
            status_event_id,
        });
        Self {
            decision,
            delivered_at: record.delivered_at,
            bounced_at: record.bounced_at,
            opened_count: record.opened_count,
            first_opened_at: record.first_opened_at,
            clicked_count: record.clicked_count,
            first_clicked_at: record.first_clicked_at,
            complained_at: record.complained_at,
            unsubscribed_at: record.unsubscribed_at,
        }
    }
}

/// How much a type weighs among those of its kind; none if it is on no status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    Progress(u8),
    Outcome(u8),
}

impl Standing {
    fn of(kind: MailEventType) -> Option<Self> {
        Some(match kind {
            MailEventType::Recorded => Self::Progress(0),
            MailEventType::Scheduled => Self::Progress(1),
            MailEventType::Queued => Self::Progress(2),
            MailEventType::Sent => Self::Progress(3),
            MailEventType::Deferred => Self::Progress(4),
            MailEventType::Canceled => Self::Outcome(0),
            MailEventType::Suppressed => Self::Outcome(1),
            MailEventType::Failed => Self::Outcome(2),
            MailEventType::Delivered => Self::Outcome(3),
            MailEventType::Bounced => Self::Outcome(4),
            MailEventType::Opened
            | MailEventType::Clicked
            | MailEventType::Complained
            | MailEventType::Unsubscribed => return None,
        })
    }
}

fn status(kind: MailEventType) -> Option<MailStatus> {
    Some(match kind {
        MailEventType::Recorded => MailStatus::Recorded,
        MailEventType::Scheduled => MailStatus::Scheduled,
        MailEventType::Queued => MailStatus::Queued,
        MailEventType::Sent => MailStatus::Sent,
        MailEventType::Deferred => MailStatus::Deferred,
        MailEventType::Canceled => MailStatus::Canceled,
        MailEventType::Suppressed => MailStatus::Suppressed,
        MailEventType::Failed => MailStatus::Failed,
        MailEventType::Delivered => MailStatus::Delivered,
        MailEventType::Bounced => MailStatus::Bounced,
        MailEventType::Opened
        | MailEventType::Clicked
        | MailEventType::Complained
        | MailEventType::Unsubscribed => return None,
    })
}

fn denies_sending(kind: MailEventType) -> bool {
    matches!(kind, MailEventType::Canceled | MailEventType::Suppressed)
}

fn by_progress(event: &MailEvent) -> impl Ord + use<'_> {
    let standing = Standing::of(event.kind);
    let says_something = event.kind != MailEventType::Recorded || event.id != event.mail_record_id;
    (says_something, event.occurred_at, standing, content(event))
}

fn by_outcome(event: &MailEvent) -> impl Ord + use<'_> {
    let standing = Standing::of(event.kind);
    (standing, Reverse(event.occurred_at), content(event))
}

/// Tells events of one type and time apart by what they say, and by the id only where that is the same.
fn content(event: &MailEvent) -> impl Ord + use<'_> {
    (
        &event.diagnostic,
        &event.enhanced_code,
        event.smtp_code,
        event.id,
    )
}

fn first(time: &mut Option<Timestamp>, event: &MailEvent) {
    *time = Some(time.map_or(event.occurred_at, |time| time.min(event.occurred_at)));
}

fn reason(event: &MailEvent) -> Option<Text<1, 4000>> {
    event.diagnostic.clone().or_else(|| {
        let smtp_code = event.smtp_code.map(SmtpCode::get);
        let codes = [
            smtp_code.map(|code| code.to_string()),
            event.enhanced_code.clone().map(EnhancedCode::into),
        ];
        let codes: Vec<_> = codes.into_iter().flatten().collect();
        codes.join(" ").parse().ok()
    })
}

#[cfg(test)]
pub(super) mod tests;
