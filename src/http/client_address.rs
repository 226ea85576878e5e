//! Where a request comes from.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
};

use axum::http::{HeaderMap, HeaderName, request::Parts};
use ipnet::IpNet;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
/// A client of IPv6 has a network of 64 bits to itself, and may send each request from another address
/// of it.
const IPV6_NETWORK: u32 = 64;

/// The other end of the connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub(super) IpAddr);

/// What a client is told by who has no key: an address, and of IPv6 the network that it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientAddress(IpAddr);

impl From<IpAddr> for ClientAddress {
    fn from(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(address) => {
                let network = address.to_bits() >> IPV6_NETWORK << IPV6_NETWORK;
                Ipv6Addr::from_bits(network).into()
            }
            address @ IpAddr::V4(_) => address,
        })
    }
}

/// The proxies whose word is believed on where a request comes from.
#[derive(Debug, Clone)]
pub struct TrustedProxies(Arc<[IpNet]>);

impl From<Vec<IpNet>> for TrustedProxies {
    fn from(networks: Vec<IpNet>) -> Self {
        Self(networks.into())
    }
}

impl TrustedProxies {
    /// Who sent the request.
    #[must_use]
    pub fn client_of(&self, request: &Parts) -> ClientAddress {
        let peer = request.extensions.get::<Peer>();
        let peer = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |Peer(address)| *address);
        self.behind(peer, &request.headers).into()
    }

    /// Each proxy adds to the end of `X-Forwarded-For` who sent the request to it. So the list is read from
    /// its end, for as long as it was written by one that is trusted: what stands before may be made up.
    fn behind(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let lines = headers.get_all(X_FORWARDED_FOR).iter();
        let entries: Vec<_> = lines
            .flat_map(|line| line.as_bytes().split(|byte| *byte == b','))
            .collect();
        let mut address = peer;
        for entry in entries.into_iter().rev() {
            if !self.trusts(address) {
                break;
            }
            match parse(entry) {
                Some(sender) => address = sender,
                None => break,
            }
        }
        address
    }

    fn trusts(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }
}

/// An address, with a port or without.
fn parse(entry: &[u8]) -> Option<IpAddr> {
    let entry = str::from_utf8(entry).ok()?.trim();
    let bare = entry.strip_prefix('[').and_then(|e| e.strip_suffix(']'));
    let address = bare.unwrap_or(entry).parse::<IpAddr>();
    address
        .or_else(|_| entry.parse().map(|with_port: SocketAddr| with_port.ip()))
        .ok()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn the_list_is_believed_as_far_as_trusted_proxies_wrote_it() {
        let trusted = ["10.0.0.0/8", "192.0.2.7/32", "2001:db8:1::/48"];
        let trusted = trusted.map(|network| network.parse().expect("a network"));
        let proxies = TrustedProxies::from(trusted.to_vec());
        for (peer, lines, client) in [
            ("203.0.113.1", &["198.51.100.1"][..], "203.0.113.1"),
            ("10.0.0.1", &[], "10.0.0.1"),
            ("10.0.0.1", &["198.51.100.1"], "198.51.100.1"),
            ("::ffff:10.0.0.1", &["198.51.100.1"], "198.51.100.1"),
            ("10.0.0.1", &["6.6.6.6, 198.51.100.1"], "198.51.100.1"),
            ("10.0.0.1", &["6.6.6.6", "198.51.100.1"], "198.51.100.1"),
            ("10.0.0.1", &["198.51.100.1,192.0.2.7"], "198.51.100.1"),
            ("10.0.0.1", &["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
            ("2001:db8:1::1", &["198.51.100.1:4711"], "198.51.100.1"),
            ("10.0.0.1", &["2001:db8:2::1"], "2001:db8:2::1"),
            ("10.0.0.1", &["[2001:db8:2::1]"], "2001:db8:2::1"),
            ("10.0.0.1", &["[2001:db8:2::1]:4711"], "2001:db8:2::1"),
            ("10.0.0.1", &["198.51.100.1, unknown"], "10.0.0.1"),
            ("10.0.0.1", &["198.51.100.1,"], "10.0.0.1"),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(X_FORWARDED_FOR, HeaderValue::from_static(line));
            }
            let found = proxies.behind(peer.parse().expect("an address"), &headers);
            assert_eq!(found.to_string(), client, "{peer} {lines:?}");
        }
    }

    #[test]
    fn addresses_of_one_network_of_ipv6_are_one_client() {
        let client = |text: &str| ClientAddress::from(text.parse::<IpAddr>().expect(text));
        assert_eq!(client("2001:db8::1"), client("2001:db8::ffff:0:0:1"));
        assert_ne!(client("2001:db8::1"), client("2001:db8:0:1::1"));
        assert_eq!(client("::ffff:192.0.2.1"), client("192.0.2.1"));
        assert_ne!(client("192.0.2.1"), client("192.0.2.2"));
    }
}
