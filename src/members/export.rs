//! All that is stored about one person, as one document.

use std::pin::pin;

use axum::{
    Extension,
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use futures_util::{Stream, TryStreamExt};
use serde::Serialize;
use sqlx::PgPool;
use tracing::Instrument;
use utoipa::ToSchema;

use super::{
    handlers::NotFound,
    model::{Member, MemberPath},
    queries,
};
use crate::{
    consents::{self, model::Consent},
    http::{
        extract::Path,
        snapshot::Snapshot,
        streams::Streams,
        transfer::{Cut, Out, transfer},
        views::{self, Visible, visible},
    },
    mail_records::{
        self,
        events::{self, model::MailEvent},
        model::MailRecord,
    },
    problem::{Code, Problem},
    refusals,
    suppressions::{self, model::Suppression},
    values::Timestamp,
};

refusals!(Busy: TooManyStreams);

/// All that is stored about one person.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct MemberExport {
    /// When it was read; all parts are of one moment.
    pub exported_at: Timestamp,
    pub member: Member,
    /// What she said to marketing mail, oldest first.
    pub consents: Vec<Consent>,
    /// Of the member's address, of those that her mail went to, and those that came from her mail; oldest
    /// first.
    pub suppressions: Vec<Suppression>,
    /// As they were written down, oldest first.
    pub mail_records: Vec<MailRecord>,
    /// What became of them, by mail record and in the order in which it was reported.
    pub mail_events: Vec<MailEvent>,
}

/// Export all that is stored about a member
///
/// One document, without what is kept for a while to repeat an answer (`Idempotency-Key`), for whoever asks
/// what is known of her (GDPR, article 15), or wants to take it elsewhere
/// (article 20). It is read as of one moment and written while it is read; one that is cut off is not valid
/// JSON.
#[utoipa::path(
    get, path = "/api/v1/members/{member_id}/export", operation_id = "read_member_export",
    tag = "members", params(MemberPath),
    security(("bearer" = ["privacy"])),
    responses(
        (status = 200, description = "All that is stored about the member", body = MemberExport),
        NotFound,
        Busy,
    )
)]
pub(super) async fn export(
    State(pool): State<PgPool>,
    Path(MemberPath { member_id }): Path<MemberPath>,
    Extension(streams): Extension<Streams>,
) -> Result<Response, Problem> {
    let place = streams.enter().await?;
    let mut snapshot = Snapshot::begin(&pool).await?;
    let Some(member) = queries::get(&mut *snapshot.connection, member_id).await? else {
        snapshot.end().await?;
        return Err(Code::MemberNotFound.into());
    };
    let (out, body) = transfer();
    let mut document = Document {
        out,
        streams,
        visible: visible()?,
        started: false,
    };
    let write = async move {
        let _place = place;
        match document.write(&mut snapshot, &member).await {
            Ok(()) => {
                snapshot.end().await.ok();
            }
            // A departed client needs no answer.
            Err(Cut::Departed) => {}
            Err(Cut::Failed(problem)) => {
                drop(snapshot);
                tracing::warn!(code = problem.code.as_str(), "the export was broken off");
                document.out.fail().await.ok();
            }
        }
    };
    tokio::spawn(write.in_current_span());
    let disposition = format!("attachment; filename=\"member-{member_id}.json\"");
    let disposition = HeaderValue::try_from(disposition).map_err(|_| Code::InternalError)?;
    let json = HeaderValue::from_static("application/json");
    let header = [
        (header::CONTENT_TYPE, json),
        (header::CONTENT_DISPOSITION, disposition),
    ];
    Ok((header, body).into_response())
}

/// A document on its way.
struct Document {
    out: Out,
    streams: Streams,
    visible: Visible,
    started: bool,
}

impl Document {
    async fn write(&mut self, snapshot: &mut Snapshot, member: &Member) -> Result<(), Cut> {
        let exported_at = snapshot.time().await;
        let exported_at = exported_at.map_err(|error| Cut::Failed(error.into()))?;
        let connection = &mut *snapshot.connection;
        let id = member.id;
        self.field("exported_at", &exported_at)?;
        self.field("member", member)?;
        self.rows("consents", consents::queries::all_of_member(connection, id))
            .await?;
        self.rows(
            "suppressions",
            suppressions::queries::all_about(connection, id),
        )
        .await?;
        self.rows(
            "mail_records",
            mail_records::queries::all_of_member(connection, id),
        )
        .await?;
        self.rows(
            "mail_events",
            events::queries::all_of_member(connection, id),
        )
        .await?;
        self.out.bytes.extend_from_slice(b"}\n");
        self.out.flush().await
    }

    fn name(&mut self, name: &str) -> Result<(), Cut> {
        let separator = if self.started { b"," } else { b"{" };
        self.started = true;
        self.out.bytes.extend_from_slice(separator);
        self.value(name)?;
        self.out.bytes.push(b':');
        Ok(())
    }

    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Cut> {
        views::write(&mut self.out.bytes, value, &self.visible)
            .map_err(|_| Cut::Failed(Code::InternalError.into()))
    }

    fn field<T: Serialize>(&mut self, name: &str, value: &T) -> Result<(), Cut> {
        self.name(name)?;
        self.value(value)
    }

    async fn rows<T: Serialize>(
        &mut self,
        name: &str,
        rows: impl Stream<Item = sqlx::Result<T>>,
    ) -> Result<(), Cut> {
        self.name(name)?;
        self.out.bytes.push(b'[');
        let mut rows = pin!(rows);
        let mut first = true;
        let silence = self.streams.silence;
        while let Some(row) = self.out.wait(silence, rows.try_next()).await? {
            if !std::mem::take(&mut first) {
                self.out.bytes.push(b',');
            }
            self.value(&row)?;
            self.out.flush_if_full().await?;
        }
        self.out.bytes.push(b']');
        Ok(())
    }
}
