//! Entity tags (RFC 9110, section 8.8.3).
//!
//! A tag is made from the row's version and never from the bytes of an answer, so that it holds
//! whatever the encoding and the order of the fields. Where a view hides some of these, the tag says
//! which view it was: two views of one version share no tag.

use axum::http::HeaderValue;

/// What the tag of a compressed answer has behind the version, so that two encodings of one
/// version share no strong tag (RFC 9110, section 8.8.3.3).
pub const GZIP_SUFFIX: &str = "-gzip";

/// Digits of what stands for a view in a tag, behind a `-`.
const VIEW_DIGITS: usize = 8;

/// The strong entity tag of a version, with what stands for the view; nothing does where all is shown.
#[must_use]
pub fn entity_tag(version: i64, view: &str) -> HeaderValue {
    quoted(format!("{version}{view}").as_bytes())
}

/// The tag with this between its quotes.
pub(super) fn quoted(opaque: &[u8]) -> HeaderValue {
    // Neither digits nor what came in as a tag holds a byte that a field may not.
    HeaderValue::from_bytes(&[b"\"", opaque, b"\""].concat())
        .unwrap_or(HeaderValue::from_static("\"\""))
}

/// `*` or a list of entity tags.
pub(super) const PATTERN: &str = r#"^(\*|(W/)?"[!#-~]*"( *, *(W/)?"[!#-~]*")*)$"#;

/// What `If-Match` or `If-None-Match` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Tags {
    /// `*`: whatever there is.
    Any,
    Listed(Vec<Tag>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) weak: bool,
    /// What stands between the quotes.
    pub(super) opaque: Vec<u8>,
}

impl Tags {
    /// Reads `*` or a list of tags; empty elements count for nothing (RFC 9110, section 5.6.1.2).
    pub(super) fn parse(field: &[u8]) -> Option<Self> {
        if field.trim_ascii() == b"*" {
            return Some(Self::Any);
        }
        let mut tags = Vec::new();
        let mut rest = field.trim_ascii_start();
        while let Some(first) = rest.first() {
            if *first == b',' {
                rest = rest[1..].trim_ascii_start();
                continue;
            }
            let weak = rest.starts_with(b"W/");
            let quoted = rest[if weak { 2 } else { 0 }..].strip_prefix(b"\"")?;
            let end = quoted.iter().position(|byte| *byte == b'"')?;
            let opaque = &quoted[..end];
            // etagc: visible characters but the quote, and bytes beyond ASCII.
            if !opaque
                .iter()
                .all(|byte| matches!(byte, 0x21 | 0x23..=0x7e | 0x80..))
            {
                return None;
            }
            tags.push(Tag {
                weak,
                opaque: opaque.to_vec(),
            });
            rest = quoted[end + 1..].trim_ascii_start();
            if rest.first().is_some_and(|byte| *byte != b',') {
                return None;
            }
        }
        (!tags.is_empty()).then_some(Self::Listed(tags))
    }

    /// Whether one of them, not weak (RFC 9110, section 8.8.3.2), was made from this state, in whatever
    /// view: what is asked for is what the resource is, and not how much of it was shown.
    pub(super) fn hold_strongly(&self, state: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Listed(tags) => tags
                .iter()
                .any(|tag| !tag.weak && tag.state() == state.as_bytes()),
        }
    }
}

impl Tag {
    /// What the tag was made from, whatever the encoding of the answer that it came with.
    pub(super) fn state_in_view(&self) -> &[u8] {
        let suffix = GZIP_SUFFIX.as_bytes();
        self.opaque.strip_suffix(suffix).unwrap_or(&self.opaque)
    }

    /// The same, whatever the view.
    pub(super) fn state(&self) -> &[u8] {
        let state = self.state_in_view();
        match state.split_last_chunk::<VIEW_DIGITS>() {
            Some(([before @ .., b'-'], view)) if is_of_view(*view) => before,
            _ => state,
        }
    }

    /// The version that the tag was made from; none if it is not one of ours.
    pub(super) fn version(&self) -> Option<i64> {
        let digits = std::str::from_utf8(self.state()).ok()?;
        // "01" and "+1" are numbers, but no tags that were ever given out.
        digits
            .parse()
            .ok()
            .filter(|version: &i64| version.to_string() == digits)
    }
}

fn is_of_view(digits: [u8; VIEW_DIGITS]) -> bool {
    let mut digits = digits.into_iter();
    digits.all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}
