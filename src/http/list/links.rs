//! `Link`: where the other pages of a list are (RFC 8288).

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// All but the unreserved characters (RFC 3986, section 2.3). A `+` would come back as a space.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The path and the query of a request.
#[derive(Debug)]
pub(super) struct Address {
    path: String,
    query: Vec<(String, String)>,
}

impl Address {
    pub(super) fn new(path: &str, query: Vec<(String, String)>) -> Self {
        Self {
            path: path.to_owned(),
            query,
        }
    }

    /// A link to the same address with other values for some parameters; none takes one out.
    pub(super) fn link(&self, relation: &str, changed: &[(&str, Option<String>)]) -> String {
        let kept = self.query.iter().filter_map(|(name, value)| {
            let changed = changed.iter().any(|(changed, _)| changed == name);
            (!changed).then_some((name.as_str(), value.as_str()))
        });
        let added = changed
            .iter()
            .filter_map(|(name, value)| Some((*name, value.as_deref()?)));
        let query: Vec<_> = kept
            .chain(added)
            .map(|(name, value)| format!("{}={}", encoded(name), encoded(value)))
            .collect();
        let joint = if query.is_empty() { "" } else { "?" };
        let (path, query) = (&self.path, query.join("&"));
        format!("<{path}{joint}{query}>; rel=\"{relation}\"")
    }
}

fn encoded(text: &str) -> impl std::fmt::Display {
    utf8_percent_encode(text, RESERVED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_has_what_the_request_had_but_for_what_is_changed() {
        let query = [
            ("email", "a+b@ü.example"),
            ("cursor", "x"),
            ("tag", "a&b=c"),
        ];
        let query = query.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let address = Address::new("/list", query.to_vec());
        assert_eq!(
            address.link("next", &[("cursor", Some("y".to_owned()))]),
            "</list?email=a%2Bb%40%C3%BC.example&tag=a%26b%3Dc&cursor=y>; rel=\"next\""
        );
        let all = ["email", "cursor", "tag"].map(|name| (name, None));
        assert_eq!(address.link("first", &all), "</list>; rel=\"first\"");
    }
}
