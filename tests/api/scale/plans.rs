//! The plans of the service's own statements, as Postgres tells them where `auto_explain` is on.

use std::{
    fmt::Debug,
    sync::{Arc, Mutex},
};

use serde_json::Value;
use sqlx::PgPool;
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
    subscriber::DefaultGuard,
};
use tracing_subscriber::{Layer, filter::Targets, layer::Context, prelude::*};

/// What a statement read.
#[derive(Debug)]
pub(super) struct Reading {
    /// Rows that were looked at, whether they were wanted or not.
    pub(super) rows: u64,
    /// Blocks of 8 KiB.
    pub(super) buffers: u64,
    /// The ways in which tables were read, each with the index.
    pub(super) scans: Vec<String>,
}

/// The plans of the statements of one session.
pub(super) struct Plans {
    pool: PgPool,
    told: Arc<Mutex<Vec<Value>>>,
    _guard: DefaultGuard,
}

impl Plans {
    /// Lets the one connection of `pool` tell its plans.
    pub(super) async fn of(pool: &PgPool) -> Self {
        sqlx::raw_sql(
            "LOAD 'auto_explain';
             SET auto_explain.log_analyze = on;
             SET auto_explain.log_timing = off;
             SET auto_explain.log_buffers = on;
             SET auto_explain.log_format = json;
             SET client_min_messages = log",
        )
        .execute(pool)
        .await
        .expect("a superuser's session, and the contrib modules");
        let told = Arc::new(Mutex::new(Vec::new()));
        let notices = Targets::new().with_target("sqlx::postgres::notice", tracing::Level::TRACE);
        let subscriber =
            tracing_subscriber::registry().with(Notices(told.clone()).with_filter(notices));
        Self {
            pool: pool.clone(),
            told,
            _guard: tracing::subscriber::set_default(subscriber),
        }
    }

    pub(super) async fn listen(&self) {
        self.tell("SET auto_explain.log_min_duration = 0").await;
    }

    async fn tell(&self, set: &'static str) {
        sqlx::raw_sql(set).execute(&self.pool).await.expect("set");
    }

    /// What was read since listening began, by all statements together.
    pub(super) async fn take(&self) -> Reading {
        self.tell("SET auto_explain.log_min_duration = -1").await;
        let plans = std::mem::take(&mut *self.told.lock().expect("plans"));
        assert!(!plans.is_empty(), "no plan was told");
        let mut reading = Reading {
            rows: 0,
            buffers: 0,
            scans: Vec::new(),
        };
        for plan in &plans {
            reading.buffers +=
                number(plan, "Shared Hit Blocks") + number(plan, "Shared Read Blocks");
            add(&mut reading, plan);
        }
        reading
    }
}

fn number(node: &Value, name: &str) -> u64 {
    // A row that was met twice in three loops is told as 0.67.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of rows"
    )]
    node[name].as_f64().map_or(0, |number| number.ceil() as u64)
}

fn add(reading: &mut Reading, node: &Value) {
    let kind = node["Node Type"].as_str().unwrap_or_default();
    let relation = node["Relation Name"].as_str();
    if let Some(relation) = relation {
        let removed = ["Rows Removed by Filter", "Rows Removed by Index Recheck"];
        let removed: u64 = removed.iter().map(|name| number(node, name)).sum();
        reading.rows += (number(node, "Actual Rows") + removed) * number(node, "Actual Loops");
        let index = node["Index Name"].as_str().unwrap_or(relation);
        reading.scans.push(format!("{kind} {index}"));
    } else if let Some(index) = node["Index Name"].as_str() {
        reading.scans.push(format!("{kind} {index}"));
    }
    for inner in node["Plans"].as_array().into_iter().flatten() {
        add(reading, inner);
    }
}

struct Notices(Arc<Mutex<Vec<Value>>>);

impl<S: Subscriber> Layer<S> for Notices {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut message = Message(String::new());
        event.record(&mut message);
        let plan = message.0.split_once("plan:").map(|(_, plan)| plan);
        if let Some(plan) = plan.and_then(|plan| serde_json::from_str::<Value>(plan).ok()) {
            self.0.lock().expect("plans").push(plan["Plan"].clone());
        }
    }
}

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            value.clone_into(&mut self.0);
        }
    }
}
