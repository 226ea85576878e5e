//! The key that a request carries.

use axum::http::{HeaderMap, header};

/// What stands in `Authorization`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credentials<'a> {
    /// Nothing, or something of another scheme: that is between the client and a proxy.
    None,
    Bearer(&'a str),
    /// More than one, or none behind the scheme.
    Malformed,
}

/// Reads `Authorization: Bearer` (RFC 6750, section 2.1).
#[must_use]
pub fn credentials(headers: &HeaderMap) -> Credentials<'_> {
    let mut found = Credentials::None;
    for line in headers.get_all(header::AUTHORIZATION) {
        let line = line.as_bytes();
        let (scheme, token) = match line.iter().position(|byte| *byte == b' ') {
            Some(at) => line.split_at(at),
            None => (line, &[][..]),
        };
        if !scheme.eq_ignore_ascii_case(b"bearer") {
            continue;
        }
        if found != Credentials::None {
            return Credentials::Malformed;
        }
        found = match str::from_utf8(token).map(|token| token.trim_matches(' ')) {
            Ok("") | Err(_) => Credentials::Malformed,
            Ok(token) => Credentials::Bearer(token),
        };
    }
    found
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn one_bearer_token_counts_and_other_schemes_do_not() {
        for (lines, wanted) in [
            (&[][..], Credentials::None),
            (&["Basic YTpi"], Credentials::None),
            (&["Bearers x"], Credentials::None),
            (&["Bearer x"], Credentials::Bearer("x")),
            (&["bEARER  x"], Credentials::Bearer("x")),
            (&["Basic YTpi", "Bearer x"], Credentials::Bearer("x")),
            (&["Bearer"], Credentials::Malformed),
            (&["Bearer "], Credentials::Malformed),
            (&["Bearer é"], Credentials::Bearer("é")),
            (&["Bearer x", "Bearer x"], Credentials::Malformed),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                let value = HeaderValue::from_bytes(line.as_bytes()).expect("a value");
                headers.append(header::AUTHORIZATION, value);
            }
            assert_eq!(credentials(&headers), wanted, "{lines:?}");
        }
    }
}
