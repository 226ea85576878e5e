//! `member-mail openapi`

use std::io::{self, Write};

use super::Error;
use crate::app;

/// Prints the OpenAPI document.
///
/// # Errors
/// If standard output is closed.
pub fn run() -> Result<(), Error> {
    let document = app::openapi().to_pretty_json().map_err(io::Error::from)?;
    writeln!(io::stdout(), "{document}")?;
    Ok(())
}
