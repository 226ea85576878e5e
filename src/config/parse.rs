//! What a setting's text means. `None` if it is not one of those that are allowed.

use std::{
    net::{IpAddr, SocketAddr, ToSocketAddrs},
    str::FromStr,
    time::Duration,
};

use axum::http::Uri;
use ipnet::IpNet;
use sqlx::postgres::PgConnectOptions;

use super::LogFormat;

pub(super) fn parse<T: FromStr>(value: &str) -> Option<T> {
    value.parse().ok()
}

pub(super) fn within<T: FromStr + PartialOrd>(value: &str, from: T, to: T) -> Option<T> {
    parse(value).filter(|number| (from..=to).contains(number))
}

pub(super) fn seconds(value: &str) -> Option<Duration> {
    within(value, 1, 3600).map(Duration::from_secs)
}

pub(super) fn database(value: &str) -> Option<PgConnectOptions> {
    let scheme = value.starts_with("postgres://") || value.starts_with("postgresql://");
    scheme.then(|| parse(value)).flatten()
}

pub(super) fn http_url(value: &str) -> Option<String> {
    let scheme = value.starts_with("http://") || value.starts_with("https://");
    scheme.then(|| value.to_owned())
}

pub(super) fn addresses(value: &str) -> Option<Vec<SocketAddr>> {
    let addresses: Vec<_> = value.to_socket_addrs().ok()?.collect();
    (!addresses.is_empty()).then_some(addresses)
}

pub(super) fn host_names(value: &str) -> Option<Vec<String>> {
    let names: Vec<_> = value
        .split(',')
        .map(|name| name.trim().to_owned())
        .collect();
    let is_name = |name: &String| !name.is_empty() && !name.contains([':', '/', ' ', '*']);
    names.iter().all(is_name).then_some(names)
}

/// Networks, and addresses as networks of one.
pub(super) fn networks(value: &str) -> Option<Vec<IpNet>> {
    let network = |text: &str| parse(text).or_else(|| parse::<IpAddr>(text).map(IpNet::from));
    value.split(',').map(|text| network(text.trim())).collect()
}

/// A URL to put paths behind.
pub(super) fn public_url(value: &str) -> Option<String> {
    let url = value.trim_end_matches('/');
    let uri: Uri = url.is_ascii().then(|| url.parse().ok()).flatten()?;
    let scheme = matches!(uri.scheme_str(), Some("http" | "https"));
    (scheme && !url.contains(['?', '#', '@'])).then(|| url.to_owned())
}

pub(super) fn origins(value: &str) -> Option<Vec<String>> {
    if value == "*" {
        return Some(vec![value.to_owned()]);
    }
    value
        .split(',')
        .map(|origin| self::origin(origin.trim()))
        .collect()
}

/// An origin in the one way in which browsers write it, since the two are compared as text.
fn origin(value: &str) -> Option<String> {
    let uri: Uri = value.parse().ok()?;
    let (scheme, authority) = (uri.scheme_str()?, uri.authority()?);
    let default_port = matches!(
        (scheme, authority.port_u16()),
        ("http", Some(80)) | ("https", Some(443))
    );
    let written = format!("{scheme}://{authority}").to_ascii_lowercase();
    let is_origin = !authority.host().is_empty() && !value.contains(['@', '*']) && !default_port;
    (is_origin && value == written).then_some(written)
}

pub(super) fn log_format(value: &str) -> Option<LogFormat> {
    match value {
        "text" => Some(LogFormat::Text),
        "json" => Some(LogFormat::Json),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_as_browsers_write_it() {
        let list = |text| origins(text).unwrap_or_default();
        assert_eq!(list("*"), ["*"]);
        assert_eq!(
            list("https://app.example.org, http://localhost:3000,http://[::1]:8080"),
            [
                "https://app.example.org",
                "http://localhost:3000",
                "http://[::1]:8080"
            ]
        );
        assert_eq!(list("capacitor://localhost"), ["capacitor://localhost"]);
        for text in [
            "app.example.org",
            "//app.example.org",
            "https://",
            "https://:8443",
            "https://app.example.org/",
            "https://app.example.org/page",
            "https://app.example.org?",
            "https://app.example.org#",
            "https://ann@app.example.org",
            "https://App.example.org",
            "HTTPS://app.example.org",
            "https://app.example.org:443",
            "http://app.example.org:80",
            "https://app.exämple.org",
            "https://*.example.org",
            "https://app.example.org,*",
            "https://app.example.org,,",
            "null",
        ] {
            assert_eq!(origins(text), None, "{text}");
        }
    }

    #[test]
    fn a_network_may_be_one_address() {
        let list = networks("10.1.2.3/8, 192.0.2.1,2001:db8::/32").unwrap_or_default();
        let texts: Vec<_> = list.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["10.1.2.3/8", "192.0.2.1/32", "2001:db8::/32"]);
        for text in [
            "proxy.example",
            "10.0.0.0/33",
            "10.0.0.0/8,,",
            "10.0.0.1:80",
        ] {
            assert_eq!(networks(text), None, "{text}");
        }
    }

    #[test]
    fn a_public_url_is_one_to_put_paths_behind() {
        for (text, url) in [
            ("https://api.example.org", "https://api.example.org"),
            ("https://api.example.org/", "https://api.example.org"),
            ("http://localhost:8080/mail/", "http://localhost:8080/mail"),
        ] {
            assert_eq!(public_url(text).as_deref(), Some(url));
        }
        for text in [
            "api.example.org",
            "/mail",
            "ftp://api.example.org",
            "https://",
            "https:///mail",
            "https://api.example.org?a=1",
            "https://api.example.org/#top",
            "https://ann:secret@api.example.org",
            "https://api.example.org/a b",
            "https://api.exämple.org",
        ] {
            assert_eq!(public_url(text), None, "{text}");
        }
    }
}
