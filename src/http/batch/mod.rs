//! Many items in one request.
//!
//! - `input`: the items, each read by itself
//! - `write`: how they are written, together or each by itself
//! - `results`: what became of each, as it is answered

mod input;
mod results;
mod write;

pub use input::{Batch, BatchInput, BatchParameters};
pub(in crate::http) use input::{MAX_ITEMS, wrong_count};
pub use results::{BatchResults, ItemAnswer, prefer};
pub use write::{Outcome, in_turn};
