//! Mail events: what became of each mail, and the status that follows from it.
//!
//! - `handlers`: one function for each operation, with its route and its documentation
//! - [`model`]: what an event is, as read and as written
//! - [`fold`]: what a mail record's events say together
//! - `failure`: what a failure says of the address
//! - [`consequences`]: what an event means for the address
//! - `queries`: all SQL on mail events

pub mod consequences;
mod failure;
pub mod fold;
pub(super) mod handlers;
pub mod model;
pub mod queries;
