//! Who may do what.

use hyper::Method;
use serde_json::json;

use super::{LIST, MEMBERS, READ, Refusal, of_answer};
use crate::kit::{App, Settings, document::ACCESS_KEYS, views::hiding};

pub(super) async fn access_key_required() -> Refusal {
    let mut app = App::start_with_key().await;
    app.key = None;
    of_answer(LIST, app.get(MEMBERS).await)
}

pub(super) async fn invalid_access_key() -> Refusal {
    let mut app = App::start_with_key().await;
    let key = app.key.as_mut().expect("a key");
    key.push('0');
    of_answer(LIST, app.get(MEMBERS).await)
}

pub(super) async fn too_many_failed_sign_ins() -> Refusal {
    let app = App::start_with(Settings {
        failed_sign_ins: 1,
        ..Settings::default()
    })
    .await;
    let sign_in = async || app.request(Method::GET, MEMBERS).with_key("x").send().await;
    sign_in().await.expect(401);
    of_answer(LIST, sign_in().await)
}

pub(super) async fn insufficient_scope() -> Refusal {
    let mut app = App::start_with_key().await;
    app.key = Some(app.access_key(&["mail:read"]).await.key);
    let path = format!("{MEMBERS}/{}", uuid::Uuid::now_v7());
    of_answer(READ, app.get(&path).await)
}

pub(super) async fn view_not_configured() -> Refusal {
    let mut app = App::start_with_key().await;
    let key = app.access_key(&["members:read"]).await.key;
    sqlx::query("UPDATE access_keys SET view = 'gone' WHERE scopes = '{members:read}'")
        .execute(&app.pool)
        .await
        .expect("a key whose view is gone");
    app.key = Some(key);
    of_answer(LIST, app.get(MEMBERS).await)
}

pub(super) async fn field_hidden() -> Refusal {
    let mut app = App::start_with_views(hiding("partner", &["members.birth"])).await;
    app.key = Some(app.key_with_view(&["members:read"], "partner").await.key);
    of_answer(LIST, app.get(&format!("{MEMBERS}?sort=birth")).await)
}

pub(super) async fn access_key_not_found() -> Refusal {
    let app = App::start_with_key().await;
    let path = format!("{ACCESS_KEYS}/{}", uuid::Uuid::now_v7());
    of_answer("GET /api/v1/access-keys/{id}", app.get(&path).await)
}

pub(super) async fn access_key_ended() -> Refusal {
    let app = App::start_with_key().await;
    let path = app.access_key(&["mail:read"]).await.path;
    app.act(&format!("{path}/revoke")).await.expect(200);
    let rotated = app.post(&format!("{path}/rotate"), json!({})).await;
    of_answer("POST /api/v1/access-keys/{id}/rotate", rotated)
}
