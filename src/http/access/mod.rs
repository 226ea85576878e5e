//! Who may do what, as HTTP has it (RFC 9110, section 11, and RFC 6750). What a key is, and what it
//! allows, is known elsewhere.
//!
//! - `credentials`: the key that a request carries
//! - `failed_sign_ins`: keys that opened nothing, counted by where they came from
//! - `refusal`: the answer to a request that may not do what it asks for
//! - `requirements`: the scopes that each operation needs, read from the document

mod credentials;
mod failed_sign_ins;
mod refusal;
mod requirements;

use uuid::Uuid;

pub use credentials::{Credentials, credentials};
pub use failed_sign_ins::FailedSignIns;
pub use refusal::Refusal;
pub use requirements::{GUARDED, Requirement, Requirements, document_access};

/// Who asks: the key that a request carries; none where it carries none and needs none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Caller(pub Option<Uuid>);
