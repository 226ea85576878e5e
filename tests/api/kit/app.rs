//! A service of one's own, on a database of one's own.

use std::{net::SocketAddr, time::Duration};

use hyper::Method;
use member_mail::{
    app::{self, AppState},
    http::{
        layers::Limits,
        server::{self, Shutdown},
    },
    postgres::pool,
};
use serde_json::{Value, json};
use sqlx::{PgConnection, PgPool, postgres::PgConnectOptions};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::task::TaskTracker;

use super::{
    Answer,
    database::Database,
    request::{HttpClient, Request, client},
};

/// What a test may want otherwise.
#[derive(Debug, Clone)]
pub struct Settings {
    pub connections: u32,
    pub acquire_timeout: Duration,
    pub statement_timeout: Duration,
    pub request_timeout: Duration,
    pub header_timeout: Duration,
    pub max_body: usize,
    pub grace: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            connections: 5,
            acquire_timeout: Duration::from_secs(20),
            statement_timeout: Duration::from_secs(20),
            request_timeout: Duration::from_secs(60),
            header_timeout: Duration::from_secs(20),
            max_body: 1024 * 1024,
            grace: Duration::from_secs(20),
        }
    }
}

pub struct App {
    pub address: SocketAddr,
    pub database: Database,
    pub pool: PgPool,
    pub shutdown: Shutdown,
    client: HttpClient,
    pub serving: JoinHandle<()>,
}

impl App {
    pub async fn start() -> Self {
        Self::start_with(Settings::default()).await
    }

    pub async fn start_with(settings: Settings) -> Self {
        let database = Database::create().await;
        let options = database.options.clone();
        Self::start_on(database, options, settings).await
    }

    /// Starts a service that reaches `database` by `options`: over a shim, say.
    pub async fn start_on(
        database: Database,
        options: PgConnectOptions,
        settings: Settings,
    ) -> Self {
        let pool = pool::lazy(
            options,
            &pool::Bounds {
                max_connections: settings.connections,
                acquire_timeout: settings.acquire_timeout,
                statement_timeout: settings.statement_timeout,
            },
        );
        let shutdown = Shutdown::default();
        let writes = TaskTracker::new();
        let (app, _) = app::build(AppState {
            pool: pool.clone(),
            limits: Limits {
                request_timeout: settings.request_timeout,
                max_body: settings.max_body,
                writes: writes.clone(),
                shutdown: shutdown.clone(),
            },
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("its address");
        let bounds = server::Bounds {
            max_connections: 10_000,
            header_timeout: settings.header_timeout,
            grace: settings.grace,
        };
        let serving = tokio::spawn(server::serve(
            listener,
            app,
            bounds,
            shutdown.clone(),
            writes,
        ));
        Self {
            address,
            database,
            pool,
            shutdown,
            client: client(),
            serving,
        }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn request(&self, method: Method, path: &str) -> Request {
        Request::new(&self.client, method, self.url(path))
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.request(Method::GET, path).send().await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.request(Method::POST, path).json(&body).send().await
    }

    pub async fn put(&self, path: &str, body: Value) -> Answer {
        self.request(Method::PUT, path).json(&body).send().await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.request(Method::DELETE, path).send().await
    }

    /// A connection to the same database, beside the service's.
    pub async fn sql(&self) -> PgConnection {
        self.database.connect().await
    }

    /// Adds a member called `name`, with an address made from it, and answers her path.
    pub async fn member(&self, name: &str) -> String {
        let body = json!({"name": name, "email": format!("{name}@example.org")});
        self.post("/api/v1/members", body).await.created()
    }

    /// Adds a mail record to the member at `path`, and answers its path.
    pub async fn mail_record(&self, path: &str, subject: &str) -> String {
        let path = format!("{path}/mail-records");
        self.post(&path, json!({"subject": subject}))
            .await
            .created()
    }
}

/// Follows a list from page to page, and answers the ids of all rows.
pub async fn walk(app: &App, first: &str) -> Vec<String> {
    let mut ids = Vec::new();
    let mut path = first.to_owned();
    loop {
        let page = app.get(&path).await.expect(200);
        ids.extend(page.ids());
        let Some(cursor) = page.body["page"]["next_cursor"].as_str() else {
            return ids;
        };
        let joint = if first.contains('?') { '&' } else { '?' };
        path = format!("{first}{joint}cursor={cursor}");
    }
}
