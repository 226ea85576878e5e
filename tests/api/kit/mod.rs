//! What the tests share.
//!
//! - [`app`]: a service of one's own, on a database of one's own
//! - [`answer`]: an answer, checked against the OpenAPI document as it comes in
//! - [`csv`]: a list as CSV, as a client reads it
//! - [`document`]: the OpenAPI document, and its operations as tests walk them
//! - [`lists`]: the lists, as tests walk them
//! - [`log`]: the log, as a test reads it
//! - [`request`]: a request, and the client that sends it
//! - [`shim`]: a link between service and Postgres that can be held and cut
//! - [`streamed`]: an answer that is read as it comes
//! - [`views`]: views, as tests configure them
//! - [`wire`]: a client that writes its bytes itself
//!
//! From `tests/kit`, which other tests take in too:
//!
//! - [`database`]: where databases come from
//! - [`ledger`]: what a mail record must say by its events
//! - [`random`]: chance that is the same in each run
//! - [`scale`]: a register as large as one gets
//! - [`sessions`]: the sessions on a database
//! - [`wait`]: waiting for what comes in its own time

pub(crate) mod answer;
pub(crate) mod app;
pub(crate) mod csv;
#[path = "../../kit/database.rs"]
pub(crate) mod database;
pub(crate) mod document;
#[path = "../../kit/ledger.rs"]
pub(crate) mod ledger;
pub(crate) mod lists;
pub(crate) mod log;
#[path = "../../kit/random.rs"]
pub(crate) mod random;
pub(crate) mod request;
#[path = "../../kit/scale.rs"]
pub(crate) mod scale;
#[path = "../../kit/sessions.rs"]
pub(crate) mod sessions;
pub(crate) mod shim;
pub(crate) mod streamed;
pub(crate) mod views;
#[path = "../../kit/wait.rs"]
pub(crate) mod wait;
pub(crate) mod wire;

pub(crate) use answer::Answer;
pub(crate) use app::{App, Settings, walk};
pub(crate) use random::Random;
pub(crate) use shim::{Moment, Shim};
pub(crate) use wire::Wire;
