//! The names by which the service may be called.
//!
//! A service that listens on this machine alone, without keys, trusts whoever reaches it. A web
//! page reaches it too, by a name of its own that it lets point to 127.0.0.1; what gives it away is
//! that name in the request.

use std::{net::IpAddr, sync::Arc};

use axum::{
    extract::Request,
    http::{Version, header},
};

use crate::problem::{Code, Problem};

/// Which hosts a request may be for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hosts {
    Any,
    /// These, without a port, and the names of this machine.
    Named(Arc<[String]>),
}

impl From<Option<Vec<String>>> for Hosts {
    fn from(names: Option<Vec<String>>) -> Self {
        names.map_or(Self::Any, |names| Self::Named(names.into()))
    }
}

impl Hosts {
    /// # Errors
    /// [`Code::InvalidHost`] if the request does not name one host (RFC 9112, section 3.2),
    /// [`Code::UnknownHost`] if it names another than these.
    pub(super) fn check(&self, request: &Request) -> Result<(), Problem> {
        // Two that differ are two requests: one to whoever routes by the first, one to whoever by
        // the last.
        let mut fields = request.headers().get_all(header::HOST).iter();
        let (field, further) = (fields.next(), fields.next());
        if further.is_some() || (field.is_none() && request.version() >= Version::HTTP_11) {
            return Err(Code::InvalidHost.into());
        }
        let Self::Named(names) = self else {
            return Ok(());
        };
        // A target in absolute form counts more than the field (RFC 9112, section 3.2.2).
        let host = match (request.uri().authority(), field) {
            (Some(authority), _) => authority.as_str(),
            (None, Some(field)) => field.to_str().map_err(|_| Code::InvalidHost)?,
            // HTTP/1.0, which no browser speaks.
            (None, None) => return Ok(()),
        };
        let name = without_port(host);
        if is_this_machine(name) || names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            Ok(())
        } else {
            Err(Code::UnknownHost.into())
        }
    }
}

fn without_port(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split(']').next().unwrap_or(rest);
    }
    host.split(':').next().unwrap_or(host)
}

fn is_this_machine(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    name.eq_ignore_ascii_case("localhost")
        || name
            .parse::<IpAddr>()
            .is_ok_and(|address| address.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn check(hosts: &Hosts, host: &str) -> Option<Code> {
        let request = Request::builder().header(header::HOST, host);
        let request = request.body(Body::empty()).expect("a request");
        hosts.check(&request).err().map(|problem| problem.code)
    }

    #[test]
    fn the_names_of_this_machine_are_always_known() {
        let hosts = Hosts::Named(Arc::new([]));
        for host in [
            "localhost",
            "LOCALHOST:8080",
            "localhost.",
            "127.0.0.1",
            "127.0.0.1:8080",
            "127.1.2.3",
            "[::1]",
            "[::1]:8080",
            "[::ffff:127.0.0.1]:80",
        ] {
            assert_eq!(check(&hosts, host), None, "{host}");
        }
        for host in [
            "example.org",
            "localhost.example.org",
            "127.0.0.1.example.org",
            "192.0.2.1",
            "[2001:db8::1]",
            "example.org:127",
            "",
            ":8080",
            "localhost@example.org",
        ] {
            assert_eq!(check(&hosts, host), Some(Code::UnknownHost), "{host}");
        }
    }

    #[test]
    fn further_names_are_known_with_any_port_and_in_any_case() {
        let hosts = Hosts::Named(Arc::new(["mail.example.org".to_owned()]));
        assert_eq!(check(&hosts, "mail.example.org"), None);
        assert_eq!(check(&hosts, "Mail.Example.ORG:443"), None);
        assert_eq!(check(&hosts, "example.org"), Some(Code::UnknownHost));
        assert_eq!(check(&Hosts::Any, "example.org"), None);
    }
}
