//! Who may do what.
//!
//! - `keys`: `/api/v1/access-keys`
//! - `matrix`: each operation, with each key
//! - `guard`: which keys open, and when one is needed

mod guard;
mod keys;
mod matrix;
