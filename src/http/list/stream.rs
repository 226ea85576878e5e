//! A whole list, row by row as the database gives it, in memory that does not grow with it.

use std::{io, pin::pin, time::Duration};

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, HeaderName, HeaderValue, header},
    response::{IntoResponse, Response},
};
use futures_util::{FutureExt, TryStreamExt, stream};
use http_body_util::StreamBody;
use hyper::body::Frame;
use serde::Serialize;
use sqlx::{FromRow, PgConnection, PgPool, Postgres, QueryBuilder};
use tokio::{
    sync::{OwnedSemaphorePermit, oneshot},
    time::{Instant, sleep, timeout},
};
use tracing::Instrument;

use super::{
    Listed, Selection,
    cursor::{Place, Position, Scope},
    encode::Encoder,
    form::Format,
    window::{Positioned, Window},
};
use crate::{
    http::{
        snapshot::Snapshot,
        streams::Streams,
        transfer::{Cut, Out, transfer},
        views::Visible,
    },
    problem::{Code, Documents, Problem},
};

/// Rows that one statement reads. Asked for all of a list at once, the database would rather sort it
/// than follow an index, and the first row would wait for the last.
const STRETCH: u32 = 1000;
/// How many rows there were; the field of a trailer, for those who can read one.
const ROW_COUNT: HeaderName = HeaderName::from_static("row-count");
/// Tells a proxy to pass on what comes as it comes.
const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// How a list is streamed.
#[derive(Debug)]
pub(super) struct Streaming {
    pub(super) format: Format,
    pub(super) streams: Streams,
    pub(super) visible: Visible,
    /// Writes the document of a problem that comes too late to be the answer.
    pub(super) documents: Documents,
    /// Whether the client reads trailers.
    pub(super) trailers: bool,
}

/// The header of a streamed answer, without the rows.
pub(super) fn header_only<R: Listed>(format: Format) -> Response {
    // Of no known length, which is what the header is to say.
    let nothing = stream::empty::<io::Result<Frame<Bytes>>>();
    let mut response = Body::new(StreamBody::new(nothing)).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, format.media_type());
    headers.insert(ACCEL_BUFFERING, HeaderValue::from_static("no"));
    let table = R::TABLE.split(' ').next().unwrap_or_default();
    if let Some(extension) = format.extension()
        && let Ok(disposition) =
            HeaderValue::try_from(format!("attachment; filename=\"{table}.{extension}\""))
    {
        headers.insert(header::CONTENT_DISPOSITION, disposition);
    }
    response
}

/// Streams the rows of `window`; none if the list itself is not there.
///
/// What fails before the first row is an answer as any other.
pub(super) async fn stream<R: Listed + Serialize + 'static>(
    pool: &PgPool,
    selection: impl Selection + Send + 'static,
    window: Window<R>,
    limit: Option<u32>,
    scope: Scope,
    streaming: Streaming,
) -> Result<Option<Response>, Problem> {
    let place = streaming.streams.enter().await?;
    let mut snapshot = Snapshot::begin(pool).await?;
    if !window
        .parent_is_there(&mut *snapshot.connection, &selection)
        .await?
    {
        snapshot.end().await?;
        return Ok(None);
    }
    let mut response = header_only::<R>(streaming.format);
    if streaming.trailers {
        let names = HeaderValue::from_static("row-count");
        response.headers_mut().insert(header::TRAILER, names);
    }
    let (out, body) = transfer();
    let (begun, begins) = oneshot::channel();
    let pump = Pump {
        encoder: Encoder::new::<R>(streaming.format, streaming.visible),
        scope,
        trailers: streaming.trailers,
        heartbeat: streaming.streams.heartbeat,
        silence: streaming.streams.silence,
        documents: streaming.documents,
        out,
        begun: Some(begun),
        _place: place,
    };
    tokio::spawn(
        pump.run(snapshot, selection, window, limit)
            .in_current_span(),
    );
    match begins.await {
        Ok(Ok(())) => {}
        Ok(Err(problem)) => return Err(problem),
        Err(_panicked) => return Err(Code::InternalError.into()),
    }
    *response.body_mut() = body;
    Ok(Some(response))
}

/// Takes rows from the database to the client.
struct Pump {
    encoder: Encoder,
    scope: Scope,
    trailers: bool,
    heartbeat: Duration,
    silence: Duration,
    documents: Documents,
    out: Out,
    /// Told when the first row is there, or that none is.
    begun: Option<oneshot::Sender<Result<(), Problem>>>,
    _place: OwnedSemaphorePermit,
}

impl Pump {
    async fn run<R: Listed + Serialize>(
        mut self,
        mut snapshot: Snapshot,
        selection: impl Selection,
        window: Window<R>,
        limit: Option<u32>,
    ) {
        self.encoder.begin(&mut self.out.bytes);
        let rows = self.rows(&mut snapshot.connection, &selection, window, limit);
        // A departed client needs no answer, and the connection is closed with the snapshot.
        match rows.await {
            Ok(()) => {
                timeout(self.silence, snapshot.end()).await.ok();
                self.finish().await.ok();
            }
            Err(Cut::Failed(problem)) => {
                drop(snapshot);
                self.fail(problem).await.ok();
            }
            Err(Cut::Departed) => {}
        }
        tracing::debug!(rows = self.encoder.rows, "the stream has ended");
    }

    /// Takes the rows of `window` and what follows it, up to `limit`.
    async fn rows<R: Listed + Serialize>(
        &mut self,
        connection: &mut PgConnection,
        selection: &impl Selection,
        mut window: Window<R>,
        limit: Option<u32>,
    ) -> Result<(), Cut> {
        let mut left = limit;
        loop {
            let wanted = left.map_or(STRETCH, |left| left.min(STRETCH));
            let mut query = window.stretch(selection, wanted);
            let (count, last) = self.stretch::<R>(connection, &mut query).await?;
            left = left.map(|left| left.saturating_sub(count));
            match last {
                Some(last) if count == wanted && left != Some(0) => window = window.behind(last),
                _ => return Ok(()),
            }
        }
    }

    /// Takes the rows of one statement; says how many there were, and where the last one stands.
    async fn stretch<R: Listed + Serialize>(
        &mut self,
        connection: &mut PgConnection,
        query: &mut QueryBuilder<Postgres>,
    ) -> Result<(u32, Option<Position>), Cut> {
        let mut rows = query.build().fetch(connection);
        let (mut count, mut last) = (0, None);
        let failed = |error: sqlx::Error| Cut::Failed(error.into());
        loop {
            let next = match rows.try_next().now_or_never() {
                Some(ready) => ready,
                None => self.wait(rows.try_next()).await?,
            };
            let Some(row) = next.map_err(failed)? else {
                return Ok((count, last));
            };
            let Positioned { row, position } = Positioned::<R>::from_row(&row).map_err(failed)?;
            let place = Place::after(position.clone());
            let cursor = || self.scope.cursor(place).to_string();
            self.encoder
                .row(&mut self.out.bytes, &row, cursor)
                .map_err(|_| Cut::Failed(Code::InternalError.into()))?;
            count += 1;
            last = Some(position);
            self.begin();
            self.out.flush_if_full().await?;
        }
    }

    /// Waits for the database; meanwhile what is there goes out.
    async fn wait<T>(&mut self, answer: impl Future<Output = T>) -> Result<T, Cut> {
        let mut answer = pin!(answer);
        let mut left = self.silence;
        loop {
            if self.begun.is_none() {
                self.out.flush().await?;
            }
            let since = Instant::now();
            tokio::select! {
                answer = &mut answer => return Ok(answer),
                () = self.out.departure() => return Err(Cut::Departed),
                () = sleep(self.heartbeat.min(left)) => {}
            }
            // The time in which the client takes what was sent is not the database's.
            left = left.saturating_sub(since.elapsed());
            if left.is_zero() {
                return Err(Cut::Failed(Code::DatabaseUnavailable.into()));
            }
            let beat = self.encoder.heartbeat().unwrap_or_default();
            self.out.bytes.extend_from_slice(beat);
        }
    }

    fn begin(&mut self) {
        if let Some(begun) = self.begun.take() {
            // A client that has left meanwhile is noticed by what is sent.
            begun.send(Ok(())).ok();
        }
    }

    async fn finish(&mut self) -> Result<(), Cut> {
        self.begin();
        self.encoder.end(&mut self.out.bytes);
        self.out.flush().await?;
        if self.trailers {
            let count = HeaderValue::from(self.encoder.rows);
            let trailers = HeaderMap::from_iter([(ROW_COUNT, count)]);
            self.out.send(Ok(Frame::trailers(trailers))).await?;
        }
        Ok(())
    }

    /// Breaks the transfer, so that a part of a list never looks like the whole.
    async fn fail(&mut self, problem: Problem) -> Result<(), Cut> {
        if let Some(begun) = self.begun.take() {
            begun.send(Err(problem)).ok();
            return Ok(());
        }
        let document = self.documents.write(problem);
        self.encoder.fail(&mut self.out.bytes, &document);
        self.out.fail().await
    }
}
