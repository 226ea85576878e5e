//! Platforms without Unix sockets and users have no embedded server.

use std::convert::Infallible;
use std::path::Path;

use sqlx::postgres::PgConnectOptions;

use super::{Error, Options};

/// Never made on this platform.
#[derive(Debug)]
pub struct Server(Infallible);

impl Server {
    /// Refuses, and names the way out.
    pub async fn start(_options: Options) -> Result<Self, Error> {
        Err(Error::Platform)
    }

    #[must_use]
    pub fn connect_options(&self) -> PgConnectOptions {
        match self.0 {}
    }

    #[must_use]
    pub fn data_dir(&self) -> &Path {
        match self.0 {}
    }

    pub async fn lost(&mut self) {
        match self.0 {}
    }

    pub async fn stop(self) {
        match self.0 {}
    }
}
