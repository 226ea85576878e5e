//! What is around all requests, those that nothing is there for included.

use axum::{
    Router,
    middleware::{from_fn, from_fn_with_state},
};
use tower::util::option_layer;

use super::{compression::compress, cors, layers};
use crate::values::PublicUrl;

/// What all answers have in common, by the settings.
#[derive(Debug, Clone, Default)]
pub struct Edge {
    /// Origins whose pages may call the service; `*` alone for any.
    pub allowed_origins: Vec<String>,
    /// Whether long answers are compressed.
    pub compression: bool,
    pub public_url: PublicUrl,
}

impl Edge {
    pub fn around(self, app: Router) -> Router {
        let compress = self.compression.then(|| from_fn(compress));
        let identify_and_log = from_fn_with_state(self.public_url, layers::identify_and_log);
        app.layer(option_layer(compress))
            .layer(from_fn(layers::catch_panics))
            // Around all that refuses and fails: a script must be able to read why.
            .layer(option_layer(cors::layer(&self.allowed_origins)))
            .layer(identify_and_log)
            .layer(from_fn(layers::protect))
    }
}
