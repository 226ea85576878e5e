//! A link between the service and Postgres that can be held and cut.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use sqlx::postgres::{PgConnectOptions, PgSslMode};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream, UnixStream},
    sync::watch,
};

/// What the link does with what Postgres answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    Open,
    /// Answers wait.
    Held,
    /// Connections are closed, and new ones are too.
    Cut,
}

/// When a link is cut at something that the service sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Postgres never gets it.
    BeforeItArrives,
    /// Postgres has done it, and the service is never told.
    BeforeItIsAnswered,
}

/// Forwards connections to Postgres.
pub(crate) struct Shim {
    pub(crate) address: SocketAddr,
    flow: watch::Sender<Flow>,
    trigger: Arc<Mutex<Option<Vec<u8>>>>,
    step: Arc<Mutex<Option<(usize, Moment)>>>,
    /// Parts of what the service sent so far.
    sent: Arc<AtomicUsize>,
    /// Connections so far.
    count: Arc<AtomicU64>,
    stranded: watch::Sender<u64>,
}

impl Shim {
    /// Starts a link to the server of `options`.
    pub(crate) async fn start(options: &PgConnectOptions) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("its address");
        let flow = watch::Sender::new(Flow::Open);
        let trigger = Arc::new(Mutex::new(None));
        let step = Arc::new(Mutex::new(None));
        let sent = Arc::new(AtomicUsize::new(0));
        let count = Arc::new(AtomicU64::new(0));
        let stranded = watch::Sender::new(0);
        let mut link = Link {
            number: 0,
            stranded: stranded.subscribe(),
            flow: flow.clone(),
            trigger: trigger.clone(),
            step: step.clone(),
            sent: sent.clone(),
        };
        let options = options.clone();
        let counted = count.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                link.number = counted.fetch_add(1, Ordering::Relaxed) + 1;
                if *link.flow.borrow() == Flow::Cut {
                    continue;
                }
                tokio::spawn(link.clone().forward(client, options.clone()));
            }
        });
        Self {
            address,
            flow,
            trigger,
            step,
            sent,
            count,
            stranded,
        }
    }

    /// How to reach the same database over this link.
    pub(crate) fn over(&self, options: &PgConnectOptions) -> PgConnectOptions {
        let mut over = PgConnectOptions::new_without_pgpass()
            .host("127.0.0.1")
            .port(self.address.port())
            .username(options.get_username())
            // The link looks into the messages.
            .ssl_mode(PgSslMode::Disable);
        if let Some(database) = options.get_database() {
            over = over.database(database);
        }
        over
    }

    /// Holds Postgres' answers from now on.
    pub(crate) fn hold(&self) {
        self.flow.send_replace(Flow::Held);
    }

    /// Holds Postgres' answers as soon as the service sends something that contains `text`.
    pub(crate) fn hold_at(&self, text: &str) {
        *self.trigger.lock().expect("trigger") = Some(text.as_bytes().to_vec());
    }

    /// Returns when answers are held.
    pub(crate) async fn held(&self) {
        let mut flow = self.flow.subscribe();
        flow.wait_for(|flow| *flow == Flow::Held)
            .await
            .expect("link");
    }

    /// Lets everything through again.
    pub(crate) fn release(&self) {
        self.flow.send_replace(Flow::Open);
    }

    /// Closes every connection, and refuses new ones until [`release`](Self::release).
    pub(crate) fn cut(&self) {
        self.flow.send_replace(Flow::Cut);
    }

    /// As [`cut`](Self::cut), at the `number`th thing that the service sends from now on.
    pub(crate) fn cut_at(&self, number: usize, moment: Moment) {
        *self.step.lock().expect("step") = Some((number, moment));
    }

    /// Lets everything through again; says whether the link was cut.
    pub(crate) fn mend(&self) -> bool {
        *self.step.lock().expect("step") = None;
        self.flow.send_replace(Flow::Open) == Flow::Cut
    }

    /// How many things the service has sent so far: one for each statement or more, if it is long.
    pub(crate) fn sent(&self) -> usize {
        self.sent.load(Ordering::Relaxed)
    }

    /// Nothing is ever heard again on the connections there are, as when the server's machine is gone;
    /// new ones work.
    pub(crate) fn strand(&self) {
        self.stranded
            .send_replace(self.count.load(Ordering::Relaxed));
        self.release();
    }
}

#[derive(Clone)]
struct Link {
    number: u64,
    stranded: watch::Receiver<u64>,
    flow: watch::Sender<Flow>,
    trigger: Arc<Mutex<Option<Vec<u8>>>>,
    step: Arc<Mutex<Option<(usize, Moment)>>>,
    sent: Arc<AtomicUsize>,
}

impl Link {
    async fn forward(self, client: TcpStream, options: PgConnectOptions) {
        client.set_nodelay(true).ok();
        if let Some(socket) = options.get_socket() {
            let path = socket.join(format!(".s.PGSQL.{}", options.get_port()));
            if let Ok(server) = UnixStream::connect(path).await {
                self.join(client, server).await;
            }
        } else if let Ok(server) =
            TcpStream::connect((options.get_host(), options.get_port())).await
        {
            self.join(client, server).await;
        }
    }

    async fn join(self, client: TcpStream, server: impl AsyncRead + AsyncWrite + Send + 'static) {
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = tokio::io::split(server);
        let mut cut = self.flow.subscribe();
        tokio::select! {
            () = self.requests(from_client, to_server) => {}
            () = self.answers(from_server, to_client) => {}
            _ = cut.wait_for(|flow| *flow == Flow::Cut) => {}
        }
    }

    async fn requests(&self, mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(length @ 1..) = from.read(&mut buffer).await {
            let sent = &buffer[..length];
            let met = {
                let mut trigger = self.trigger.lock().expect("trigger");
                let met = trigger
                    .as_ref()
                    .is_some_and(|text| sent.windows(text.len()).any(|window| window == text));
                if met {
                    *trigger = None;
                }
                met
            };
            if met {
                self.flow.send_replace(Flow::Held);
            }
            self.sent.fetch_add(1, Ordering::Relaxed);
            if self.is_at(Moment::BeforeItArrives) {
                self.flow.send_replace(Flow::Cut);
                return;
            }
            if to.write_all(sent).await.is_err() {
                return;
            }
        }
    }

    async fn answers(&self, mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
        let mut flow = self.flow.subscribe();
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(length @ 1..) = from.read(&mut buffer).await {
            if self.is_at(Moment::BeforeItIsAnswered) {
                self.flow.send_replace(Flow::Cut);
                return;
            }
            if flow.wait_for(|flow| *flow != Flow::Held).await.is_err() {
                return;
            }
            if self.number <= *self.stranded.borrow() {
                std::future::pending::<()>().await;
            }
            if to.write_all(&buffer[..length]).await.is_err() {
                return;
            }
        }
    }

    /// Counts what passes at `moment`, and says whether the link is to be cut at it.
    fn is_at(&self, moment: Moment) -> bool {
        let mut step = self.step.lock().expect("step");
        match &mut *step {
            Some((number, awaited)) if *awaited == moment => {
                *number -= 1;
                *number == 0 && step.take().is_some()
            }
            _ => false,
        }
    }
}
