//! Views: what a key and a platform hide is neither shown, nor asked for, nor set.
//!
//! - `answers`: each hidden field, looked for in every answer and form
//! - `asking`: filters, orders, searches and paths that would tell it
//! - `configured`: files of views, and the keys that have one
//! - `narrowing`: `Client-Platform` and `fields`
//! - `tags`: entity tags, caches and replays
//! - `writing`: what a hidden field does to writes

mod answers;
mod asking;
mod configured;
mod narrowing;
mod tags;
mod writing;

use std::collections::BTreeSet;

use member_mail::{access_keys::scopes::SCOPES, app::RESOURCES, http::views::Resource};

use crate::kit::{App, document::Subject, views::hiding};

/// Every field that a view can hide, as `resource.field`.
fn hideable() -> Vec<(&'static Resource, &'static str)> {
    let fields = RESOURCES
        .into_iter()
        .flat_map(|resource| resource.fields.iter().map(move |field| (resource, *field)));
    let fields = fields.filter(|(_, field)| !["id", "created_at", "version"].contains(field));
    fields.collect()
}

/// All scopes but the one that takes no view.
fn scopes() -> Vec<&'static str> {
    let scopes = SCOPES.iter().map(|(name, _)| *name);
    scopes.filter(|scope| *scope != "admin").collect()
}

/// A service with a key of everything, and one whose view hides these fields.
async fn start_hiding(hidden: &[&str]) -> (App, String) {
    let app = App::start_with_views(hiding("partner", hidden)).await;
    let key = app.key_with_view(&scopes(), "partner").await.key;
    (app, key)
}

/// A subject all of whose values can be told from any other.
async fn marked(app: &App) -> Subject {
    let subject = Subject::create(app).await;
    let sql = "
        UPDATE members SET name = 'marked name', birth = '1911-11-11', tags = '{marked tag}',
            attributes = '{\"marked\": \"attribute\"}';
        UPDATE mail_records SET sender = 'marked-sender@example.org', subject = 'marked subject',
            tags = '{marked mail tag}', metadata = '{\"marked\": \"metadata\"}', message_id = 'marked-message',
            provider = 'marked provider', provider_message_id = 'marked-provider-message',
            external_id = 'marked-mail', status_reason = 'marked reason', delivered_at = '1912-12-12Z',
            bounced_at = '1912-12-13Z', first_opened_at = '1912-12-14Z', first_clicked_at = '1912-12-15Z',
            complained_at = '1912-12-16Z', unsubscribed_at = '1912-12-17Z', opened_count = 777001,
            clicked_count = 777002;
        UPDATE mail_events SET source = 'marked source', provider_event_id = 'marked-event', smtp_code = 599,
            enhanced_code = '5.9.99', diagnostic = 'marked diagnostic', remote_mta = 'marked.example',
            url = 'https://marked.example/url';
        UPDATE consents SET topic = 'marked topic', source = 'marked form', evidence = '{\"marked\": \"evidence\"}'";
    sqlx::raw_sql(sql).execute(&app.pool).await.expect("marks");
    subject
}

/// The places of text in a document where `marks` stand.
fn found<'m>(text: &str, marks: &'m BTreeSet<String>) -> Vec<&'m String> {
    marks.iter().filter(|mark| text.contains(*mark)).collect()
}
