//! An answer whose body is made while it is sent.

use std::{io, time::Duration};

use axum::body::{Body, Bytes};
use futures_util::stream;
use http_body_util::StreamBody;
use hyper::body::Frame;
use tokio::{sync::mpsc, time::sleep};

use crate::problem::{Code, Problem};

/// Bytes that are gathered before they are sent, unless nothing more is there to be gathered.
pub(super) const CHUNK: usize = 16 * 1024;

/// What is on its way to the client.
#[derive(Debug)]
pub struct Out {
    pub bytes: Vec<u8>,
    sender: mpsc::Sender<io::Result<Frame<Bytes>>>,
}

/// Why a transfer ends before what it was to bring does.
#[derive(Debug)]
pub enum Cut {
    /// The client has left.
    Departed,
    Failed(Problem),
}

/// A body, and the way into it.
pub fn transfer() -> (Out, Body) {
    let (sender, receiver) = mpsc::channel(1);
    let frames = stream::unfold(receiver, |mut receiver| async {
        receiver.recv().await.map(|frame| (frame, receiver))
    });
    let out = Out {
        bytes: Vec::with_capacity(CHUNK + CHUNK / 4),
        sender,
    };
    (out, Body::new(StreamBody::new(frames)))
}

impl Out {
    /// Sends what was gathered if that is much, and waits until the client has taken what was sent
    /// before.
    ///
    /// # Errors
    /// [`Cut::Departed`].
    pub async fn flush_if_full(&mut self) -> Result<(), Cut> {
        if self.bytes.len() < CHUNK {
            return Ok(());
        }
        self.flush().await
    }

    /// Sends what was gathered, and waits until the client has taken what was sent before.
    ///
    /// # Errors
    /// [`Cut::Departed`].
    pub async fn flush(&mut self) -> Result<(), Cut> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        let bytes = Bytes::copy_from_slice(&self.bytes);
        self.bytes.clear();
        self.send(Ok(Frame::data(bytes))).await
    }

    /// Waits for the database, unless the client leaves or the database says nothing for `silence`.
    ///
    /// # Errors
    /// [`Cut`].
    pub async fn wait<T>(
        &self,
        silence: Duration,
        answer: impl Future<Output = sqlx::Result<T>>,
    ) -> Result<T, Cut> {
        tokio::select! {
            answer = answer => answer.map_err(|error| Cut::Failed(error.into())),
            () = self.departure() => Err(Cut::Departed),
            () = sleep(silence) => Err(Cut::Failed(Code::DatabaseUnavailable.into())),
        }
    }

    /// Breaks the transfer, so that a part never looks like the whole.
    ///
    /// # Errors
    /// [`Cut::Departed`].
    pub async fn fail(&mut self) -> Result<(), Cut> {
        self.flush().await?;
        let broken = io::Error::other("what was asked for could not be read to its end");
        self.send(Err(broken)).await
    }

    pub(super) async fn departure(&self) {
        self.sender.closed().await;
    }

    pub(super) async fn send(&self, frame: io::Result<Frame<Bytes>>) -> Result<(), Cut> {
        self.sender.send(frame).await.map_err(|_| Cut::Departed)
    }
}
