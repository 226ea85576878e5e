//! A key as its holder has it: `mmk_<id>_<secret>_<check>`, in lower-case hexadecimal digits.
//!
//! The prefix lets a scanner find a key in a text, and the check tells a key from a typing error; both
//! without a database.

use std::{fmt, str::FromStr};

use sha2::{Digest, Sha256};
use uuid::Uuid;

const PREFIX: &str = "mmk";
/// Hexadecimal digits of 256 bits.
const SECRET_DIGITS: usize = 64;

/// SHA-256 of a secret: all that is kept of it.
pub type SecretHash = [u8; 32];

/// A key with its secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    pub id: Uuid,
    secret: String,
}

/// A text that is no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is not an access key")]
pub struct NotAKey;

impl Key {
    /// Makes a secret for the key `id`.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn generate(id: Uuid) -> Result<Self, getrandom::Error> {
        let mut random = [0; 4];
        for part in &mut random {
            *part = getrandom::u64()?;
        }
        let [a, b, c, d] = random;
        let secret = format!("{a:016x}{b:016x}{c:016x}{d:016x}");
        Ok(Self { id, secret })
    }

    #[must_use]
    pub fn secret_hash(&self) -> SecretHash {
        Sha256::digest(&self.secret).into()
    }
}

impl FromStr for Key {
    type Err = NotAKey;

    fn from_str(text: &str) -> Result<Self, NotAKey> {
        let parts: Vec<_> = text.split('_').collect();
        let [PREFIX, id, secret, _check] = parts[..] else {
            return Err(NotAKey);
        };
        if secret.len() != SECRET_DIGITS || !secret.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(NotAKey);
        }
        let key = Self {
            id: id.parse().map_err(|_| NotAKey)?,
            secret: secret.to_owned(),
        };
        // With the check, and the id in no other of its spellings.
        if key.to_string() == text {
            Ok(key)
        } else {
            Err(NotAKey)
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let checked = format!("{PREFIX}_{}_{}", self.id.simple(), self.secret);
        let check = crc32fast::hash(checked.as_bytes());
        write!(f, "{checked}_{check:08x}")
    }
}

/// Without the secret, which a log must not have.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key() -> impl Strategy<Value = Key> {
        (any::<u128>(), "[0-9a-f]{64}").prop_map(|(id, secret)| Key {
            id: Uuid::from_u128(id),
            secret,
        })
    }

    proptest! {
        #[test]
        fn a_key_is_read_as_it_was_written(key in key()) {
            prop_assert_eq!(key.to_string().parse(), Ok(key));
        }

        #[test]
        fn a_character_that_is_changed_is_noticed(
            key in key(), at in any::<prop::sample::Index>(), other in "[ -~é]"
        ) {
            let text = key.to_string();
            let at = at.index(text.len());
            prop_assume!(text[at..=at] != other);
            let changed = format!("{}{other}{}", &text[..at], &text[at + 1..]);
            prop_assert_eq!(changed.parse::<Key>(), Err(NotAKey), "{}", changed);
        }

        #[test]
        fn whatever_text_comes_is_read_or_refused(text in ".*") {
            prop_assert!(text.parse::<Key>().is_err());
        }
    }

    #[test]
    fn the_form_is_the_documented_one() {
        let key = Key {
            id: Uuid::from_u128(0x018c_c251_f400_7000_8000_0000_0000_0001),
            secret: "0123456789abcdef".repeat(4),
        };
        let secret = &key.secret;
        let text = format!("mmk_018cc251f40070008000000000000001_{secret}_153e2967");
        assert_eq!(key.to_string(), text);
        assert!(text.to_uppercase().parse::<Key>().is_err());
        assert!(format!("{text}_").parse::<Key>().is_err());
    }

    #[test]
    fn no_two_secrets_are_the_same_and_none_is_shown_for_debugging() {
        let keys = [(); 2].map(|()| Key::generate(Uuid::nil()).expect("random"));
        assert_ne!(keys[0], keys[1]);
        assert!(!format!("{keys:?}").contains(&keys[0].secret));
    }
}
