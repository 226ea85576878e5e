//! A service of one's own, on a database of one's own.

use std::{collections::HashMap, net::SocketAddr, time::Duration};

use hyper::Method;
use ipnet::IpNet;
use member_mail::{
    access_keys::scopes::SCOPES,
    app::RESOURCES,
    commands::serve::Service,
    config::Config,
    http::{server::Shutdown, views::Views},
};
use serde_json::{Value, json};
use sqlx::{PgConnection, PgPool, postgres::PgConnectOptions};
use tokio::{net::TcpListener, task::JoinHandle};

use super::{
    Answer, Shim, Wire,
    database::Database,
    document::ACCESS_KEYS,
    request::{HttpClient, Request, client},
};

/// What a test may want otherwise.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) connections: u32,
    pub(crate) acquire_timeout: Duration,
    pub(crate) statement_timeout: Duration,
    pub(crate) request_timeout: Duration,
    pub(crate) header_timeout: Duration,
    pub(crate) stall_timeout: Duration,
    pub(crate) max_body: usize,
    pub(crate) allowed_hosts: Option<Vec<String>>,
    pub(crate) public_url: String,
    pub(crate) allowed_origins: Vec<String>,
    pub(crate) compression: bool,
    pub(crate) client_connections: usize,
    pub(crate) requests: usize,
    /// For each client and second; 0: any number.
    pub(crate) rate_limit: u32,
    /// For each address and minute; 0: any number.
    pub(crate) failed_sign_ins: u32,
    pub(crate) trusted_proxies: Vec<IpNet>,
    pub(crate) audit_log_retention: Option<Duration>,
    pub(crate) streams: usize,
    pub(crate) heartbeat: Duration,
    pub(crate) require_if_match: bool,
    /// The text of a file of views.
    pub(crate) views: String,
    pub(crate) transient_failures_limit: u32,
    pub(crate) grace: Duration,
    pub(crate) sweep_interval: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            connections: 5,
            acquire_timeout: Duration::from_secs(20),
            statement_timeout: Duration::from_secs(20),
            request_timeout: Duration::from_mins(1),
            header_timeout: Duration::from_secs(20),
            stall_timeout: Duration::from_secs(20),
            max_body: 1024 * 1024,
            allowed_hosts: None,
            public_url: String::new(),
            allowed_origins: Vec::new(),
            compression: true,
            client_connections: 10_000,
            requests: 4096,
            rate_limit: 0,
            failed_sign_ins: 0,
            trusted_proxies: Vec::new(),
            audit_log_retention: None,
            streams: 5,
            heartbeat: Duration::from_secs(20),
            require_if_match: false,
            views: String::new(),
            transient_failures_limit: 5,
            grace: Duration::from_secs(20),
            sweep_interval: Duration::from_hours(1),
        }
    }
}

impl Settings {
    fn into_config(self) -> Config {
        Config {
            database_max_connections: self.connections,
            database_acquire_timeout: self.acquire_timeout,
            database_statement_timeout: self.statement_timeout,
            request_timeout: self.request_timeout,
            header_timeout: self.header_timeout,
            stall_timeout: self.stall_timeout,
            max_body_bytes: self.max_body,
            allowed_hosts: self.allowed_hosts,
            public_url: self.public_url,
            cors_allowed_origins: self.allowed_origins,
            compression: self.compression,
            max_client_connections: self.client_connections,
            max_requests: self.requests,
            rate_limit: self.rate_limit,
            failed_sign_ins_per_minute: self.failed_sign_ins,
            trusted_proxies: self.trusted_proxies,
            audit_log_retention: self.audit_log_retention,
            max_streams: self.streams,
            heartbeat: self.heartbeat,
            require_if_match: self.require_if_match,
            transient_failures_limit: self.transient_failures_limit,
            shutdown_grace: self.grace,
            ..Config::read(&HashMap::new()).expect("the defaults")
        }
    }
}

/// An access key, and where it is.
#[derive(Debug, Clone)]
pub(crate) struct AccessKey {
    pub(crate) path: String,
    pub(crate) key: String,
}

impl AccessKey {
    pub(crate) fn new(created: &Answer) -> Self {
        Self {
            path: created.header("location").to_owned(),
            key: created.body["key"].as_str().expect("a key").to_owned(),
        }
    }
}

pub(crate) struct App {
    pub(crate) address: SocketAddr,
    pub(crate) database: Database,
    pub(crate) pool: PgPool,
    pub(crate) shutdown: Shutdown,
    client: HttpClient,
    /// What requests carry.
    pub(crate) key: Option<String>,
    pub(crate) serving: JoinHandle<()>,
}

impl App {
    pub(crate) async fn start() -> Self {
        Self::start_with(Settings::default()).await
    }

    pub(crate) async fn start_with(settings: Settings) -> Self {
        let database = Database::create().await;
        let options = database.options.clone();
        Self::start_on(database, options, settings).await
    }

    /// Starts a service whose link to Postgres can be held, delayed and cut.
    pub(crate) async fn start_over_shim(settings: Settings) -> (Self, Shim) {
        let database = Database::create().await;
        let shim = Shim::start(&database.options).await;
        let over = shim.over(&database.options);
        (Self::start_on(database, over, settings).await, shim)
    }

    /// Starts a service that reaches `database` by `options`: over a shim, say.
    pub(crate) async fn start_on(
        database: Database,
        options: PgConnectOptions,
        settings: Settings,
    ) -> Self {
        let sweep_interval = settings.sweep_interval;
        let views = Views::parse(&settings.views, &RESOURCES).expect("views");
        let mut service = Service::new(&settings.into_config(), views, &options);
        service.sweep_interval = sweep_interval;
        let (pool, shutdown) = (service.pool.clone(), service.shutdown.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("its address");
        let serving = tokio::spawn(service.serve(vec![listener]));
        Self {
            address,
            database,
            pool,
            shutdown,
            client: client(),
            key: None,
            serving,
        }
    }

    /// Starts a service that has an access key of every scope, which requests carry.
    pub(crate) async fn start_with_key() -> Self {
        Self::start_with_key_and(Settings::default()).await
    }

    pub(crate) async fn start_with_key_and(settings: Settings) -> Self {
        let mut app = Self::start_with(settings).await;
        let scopes = SCOPES.map(|(name, _)| name);
        app.key = Some(app.access_key(&scopes).await.key);
        app
    }

    /// Makes an access key.
    pub(crate) async fn access_key(&self, scopes: &[&str]) -> AccessKey {
        let body = json!({"name": "a key", "scopes": scopes});
        AccessKey::new(&self.post(ACCESS_KEYS, body).await.expect(201))
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> Request {
        let request = Request::new(&self.client, method, self.url(path));
        match &self.key {
            Some(key) => request.with_key(key),
            None => request,
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.request(Method::GET, path).send().await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.request(Method::POST, path).json(&body).send().await
    }

    /// POST without a body.
    pub(crate) async fn act(&self, path: &str) -> Answer {
        self.request(Method::POST, path).send().await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Answer {
        self.request(Method::PUT, path).json(&body).send().await
    }

    pub(crate) async fn patch(&self, path: &str, change: Value) -> Answer {
        self.patch_request(path, &change).send().await
    }

    /// A merge patch, to be sent.
    pub(crate) fn patch_request(&self, path: &str, change: &Value) -> Request {
        let request = self.request(Method::PATCH, path);
        request.of_type("application/merge-patch+json").json(change)
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.request(Method::DELETE, path).send().await
    }

    /// Deletes what was created, where it can be: what is only ever added to cannot.
    pub(crate) async fn remove(&self, path: &str) {
        if !["/events/", "/consents/"]
            .iter()
            .any(|kept| path.contains(kept))
        {
            self.delete(path).await.expect(204);
        }
    }

    /// A request by a client that may leave before the answer.
    pub(crate) async fn wire(&self, method: &str, path: &str, body: &Value) -> Wire {
        Wire::ask(self.address, method, path, body).await
    }

    /// Lets the service see which connections were closed: it hears of them in order.
    pub(crate) async fn notice_departures(&self) {
        for _ in 0..2 {
            self.get("/livez").await.expect(200);
        }
    }

    /// A connection to the same database, beside the service's.
    pub(crate) async fn sql(&self) -> PgConnection {
        self.database.connect().await
    }

    /// Adds a member called `name`, with an address made from it, and answers her path.
    pub(crate) async fn member(&self, name: &str) -> String {
        let body = json!({"name": name, "email": format!("{name}@example.org")});
        self.post("/api/v1/members", body).await.created()
    }

    /// Adds a mail record to the member at `path`, and answers its path.
    pub(crate) async fn mail_record(&self, path: &str, subject: &str) -> String {
        let path = format!("{path}/mail-records");
        self.post(&path, json!({"subject": subject}))
            .await
            .created()
    }
}

/// Follows a list from page to page, and answers the ids of all rows.
pub(crate) async fn walk(app: &App, first: &str) -> Vec<String> {
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
