//! Connections, and how they end.

use std::{
    convert::Infallible,
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::Router;
use hyper::{Version, server::conn::http1};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    time::{Instant, sleep, timeout_at},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::Service;
use tracing::{debug, info, warn};

use super::{client_address::Peer, stall::StallLimited};

/// Largest part of a request's header, and of a body, that one connection buffers, in bytes.
const MAX_BUFFER: usize = 64 * 1024;

/// The end of the service, told to everyone whom it concerns.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    announced: CancellationToken,
    draining: CancellationToken,
}

impl Shutdown {
    /// From now on the service says that it is not ready, and serves on.
    pub fn announce(&self) {
        self.announced.cancel();
    }

    #[must_use]
    pub fn is_announced(&self) -> bool {
        self.announced.is_cancelled()
    }

    /// From now on the service takes no new work either.
    pub fn begin(&self) {
        self.announced.cancel();
        self.draining.cancel();
    }

    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.draining.is_cancelled()
    }

    /// Returns when [`begin`](Self::begin) was called.
    pub async fn begun(&self) {
        self.draining.cancelled().await;
    }
}

/// The bounds of a connection.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// Connections at the same time; more wait to be accepted.
    pub max_connections: usize,
    /// From the first byte of a request's header to its last, and of idleness between requests.
    pub header_timeout: Duration,
    /// How long a client may take nothing of an answer that is being sent.
    pub stall_timeout: Duration,
    /// From the beginning of the shutdown to the end of the last request.
    pub grace: Duration,
}

/// Listens on every address that a name stands for: `localhost` is two on many machines, and a
/// client may try either. One that the machine lacks, for want of IPv6 say, is left out unless it
/// is the only one.
///
/// # Errors
/// The address that cannot be listened on, if it is taken or none is left.
pub async fn bind(addresses: &[SocketAddr]) -> Result<Vec<TcpListener>, (SocketAddr, io::Error)> {
    let mut listeners = Vec::new();
    let mut bound = Vec::new();
    let mut failed = None;
    for wanted in addresses {
        let mut address = *wanted;
        if let (0, Some(first)) = (address.port(), bound.first().map(SocketAddr::port)) {
            address.set_port(first);
        }
        if bound.contains(&address) {
            continue;
        }
        match TcpListener::bind(address).await {
            Ok(listener) => {
                bound.push(listener.local_addr().map_err(|error| (address, error))?);
                listeners.push(listener);
            }
            Err(error) => {
                let taken = error.kind() == io::ErrorKind::AddrInUse;
                // A free port of one address may be taken on another.
                if taken && wanted.port() != 0 {
                    return Err((address, error));
                }
                failed.get_or_insert((address, error));
            }
        }
    }
    match failed {
        Some(failed) if listeners.is_empty() => Err(failed),
        _ => Ok(listeners),
    }
}

/// Serves `app` until the shutdown has begun and the running requests are done, or the grace period
/// is over. It serves whoever comes to any of `listeners`.
///
/// While they finish, new connections are still answered, so that `/readyz` can say that this
/// instance is going. `writes` are requests that go on without their client; they are waited for
/// too.
pub async fn serve(
    listeners: Vec<TcpListener>,
    app: Router,
    bounds: Bounds,
    shutdown: Shutdown,
    writes: TaskTracker,
) {
    let connections = TaskTracker::new();
    let stop = CancellationToken::new();
    let places = Arc::new(Semaphore::new(bounds.max_connections));
    let accepting = TaskTracker::new();
    for listener in listeners {
        accepting.spawn(accept(
            listener,
            app.clone(),
            bounds.clone(),
            places.clone(),
            shutdown.clone(),
            connections.clone(),
            stop.clone(),
        ));
    }
    accepting.close();

    shutdown.begun().await;
    let deadline = Instant::now() + bounds.grace;
    info!(connections = connections.len(), "shutting down");
    writes.close();
    connections.close();
    let finished = async {
        connections.wait().await;
        writes.wait().await;
    };
    if timeout_at(deadline, finished).await.is_err() {
        warn!(
            connections = connections.len(),
            writes = writes.len(),
            "the grace period is over; the requests that still run are cut off"
        );
    }
    stop.cancel();
    accepting.wait().await;
}

async fn accept(
    listener: TcpListener,
    app: Router,
    bounds: Bounds,
    places: Arc<Semaphore>,
    shutdown: Shutdown,
    connections: TaskTracker,
    stop: CancellationToken,
) {
    let accepting = async {
        loop {
            let (stream, peer) = match listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    pause_after(&error).await;
                    continue;
                }
            };
            // Behind the accept: a listener to which nobody comes must not keep a place.
            let Ok(place) = places.clone().acquire_owned().await else {
                return;
            };
            let peer = Peer(peer.ip());
            let connection =
                serve_connection(stream, peer, app.clone(), bounds.clone(), shutdown.clone());
            let stop = stop.clone();
            let connection = async move {
                stop.run_until_cancelled(connection).await;
                drop(place);
            };
            // Those that come while the service is going are not waited for, or it would never go.
            if shutdown.is_draining() {
                tokio::spawn(connection);
            } else {
                connections.spawn(connection);
            }
        }
    };
    stop.run_until_cancelled(accepting).await;
}

/// A failed accept is the client's fault and over at once, or ours for want of file descriptors:
/// then trying again at once would only spin.
async fn pause_after(error: &io::Error) {
    if matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
    ) {
        return;
    }
    warn!("no connection could be accepted: {error}");
    sleep(Duration::from_millis(100)).await;
}

async fn serve_connection(
    stream: TcpStream,
    peer: Peer,
    app: Router,
    bounds: Bounds,
    shutdown: Shutdown,
) {
    stream.set_nodelay(true).ok();
    // A client that has vanished acknowledges nothing. What is sent to it may be so little that no write
    // ever waits, and TCP itself tries for a quarter of an hour.
    #[cfg(target_os = "linux")]
    socket2::SockRef::from(&stream)
        .set_tcp_user_timeout(Some(bounds.stall_timeout))
        .ok();
    let late = shutdown.is_draining();
    let stream = StallLimited::new(stream, bounds.stall_timeout);
    let http_1_0 = Arc::new(AtomicBool::new(false));
    let seen = http_1_0.clone();
    let service =
        TowerToHyperService::new(tower::service_fn(move |mut request: hyper::Request<_>| {
            let mut app = app.clone();
            request.extensions_mut().insert(peer);
            seen.store(request.version() == Version::HTTP_10, Ordering::Relaxed);
            async move {
                let response = app.call(request.map(axum::body::Body::new)).await;
                Ok::<_, Infallible>(response.unwrap_or_else(|never| match never {}))
            }
        }));
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(bounds.header_timeout)
        .max_buf_size(MAX_BUFFER)
        // A connection that comes while the service is going gets one answer.
        .keep_alive(!late)
        .serve_connection(TokioIo::new(stream), service);
    let result = tokio::select! {
        result = &mut connection => result,
        () = shutdown.begun(), if !late => {
            Pin::new(&mut connection).graceful_shutdown();
            (&mut connection).await
        }
    };
    if let Err(error) = result {
        debug!("connection ended: {error}");
        if http_1_0.load(Ordering::Relaxed) {
            // In HTTP/1.0 a body ends with the connection (RFC 9112, section 6.3): one that is broken
            // off must not end like one that is whole.
            let stream = connection.into_parts().io.into_inner().into_inner();
            stream.set_zero_linger().ok();
        }
    }
}
