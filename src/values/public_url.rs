//! The URL under which clients reach the service.

use std::sync::Arc;

/// What stands before the service's own paths where it refers to itself: nothing, or the URL at
/// which a proxy offers it, with the prefix that the proxy strips.
#[derive(Debug, Clone, Default)]
pub struct PublicUrl(Arc<str>);

impl PublicUrl {
    /// `url` has neither a query nor a `/` at its end.
    #[must_use]
    pub fn new(url: &str) -> Self {
        Self(url.into())
    }

    /// The reference to what the service has at `path`, which begins with `/`.
    #[must_use]
    pub fn reference(&self, path: &str) -> String {
        format!("{}{path}", self.0)
    }
}
