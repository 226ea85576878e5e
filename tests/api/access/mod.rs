//! Who may do what.
//!
//! - `keys`: `/api/v1/access-keys`

mod keys;
