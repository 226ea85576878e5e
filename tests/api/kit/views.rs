//! Views, as tests configure them.

use std::fmt::Write;

use member_mail::app::RESOURCES;
use serde_json::json;

use super::{App, Settings, app::AccessKey, document::ACCESS_KEYS};

/// The text of a view that shows everything but these fields (`members.birth`).
pub(crate) fn hiding(view: &str, hidden: &[&str]) -> String {
    let mut text = format!("[views.\"{view}\"]\n");
    for resource in RESOURCES {
        let name = resource.name;
        let shown = resource.fields.iter();
        let shown: Vec<_> = shown
            .filter(|field| !hidden.contains(&format!("{name}.{field}").as_str()))
            .collect();
        writeln!(text, "{name} = {shown:?}").expect("text");
    }
    text
}

impl App {
    /// Starts a service with these views and an access key of every scope, which requests carry.
    pub(crate) async fn start_with_views(views: String) -> Self {
        Self::start_with_key_and(Settings {
            views,
            ..Settings::default()
        })
        .await
    }

    /// Makes an access key that has a view.
    pub(crate) async fn key_with_view(&self, scopes: &[&str], view: &str) -> AccessKey {
        let body = json!({"name": "a key", "scopes": scopes, "view": view});
        AccessKey::new(&self.post(ACCESS_KEYS, body).await.expect(201))
    }
}
