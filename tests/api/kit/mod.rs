//! What the tests share.
//!
//! - [`app`]: a service of one's own, on a database of one's own
//! - [`answer`]: an answer, checked against the OpenAPI document as it comes in
//! - [`database`]: where databases come from
//! - [`request`]: a request, and the client that sends it
//! - [`shim`]: a link between service and Postgres that can be held, delayed and cut

pub mod answer;
pub mod app;
pub mod database;
pub mod request;
pub mod shim;

pub use answer::Answer;
pub use app::{App, walk};
