//! The form of an answer, chosen by `Accept`, and its encoding, by `Accept-Encoding` (RFC 9110,
//! section 12.5).

use std::collections::HashMap;

use axum::http::{HeaderMap, HeaderName, header};

/// Chooses the offer that the client likes best; the first of those that it likes alike, and none
/// if it accepts none. Without `Accept`, the first.
///
/// An offer's quality is that of the most specific range that matches it. A range that cannot be
/// read is passed over, since a client that sends one is better served than refused.
#[must_use]
pub fn choose<'a>(headers: &HeaderMap, offers: &[&'a str]) -> Option<&'a str> {
    let ranges: Vec<Range> = list(headers, &header::ACCEPT)
        .filter_map(Range::parse)
        .collect();
    if ranges.is_empty() {
        return offers.first().copied();
    }
    let mut best = None;
    for offer in offers {
        let quality = quality(&ranges, offer);
        if quality > 0 && best.is_none_or(|(_, highest)| quality > highest) {
            best = Some((*offer, quality));
        }
    }
    best.map(|(offer, _)| offer)
}

/// The quality of `offer` in thousandths.
fn quality(ranges: &[Range], offer: &str) -> u16 {
    ranges
        .iter()
        .filter(|range| range.matches(offer))
        .max_by_key(|range| range.specificity())
        .map_or(0, |range| range.quality)
}

struct Range {
    kind: String,
    subtype: String,
    quality: u16,
}

impl Range {
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(';');
        let (kind, subtype) = parts.next()?.trim().split_once('/')?;
        // Parameters before `q` are of the media type, and none of the offers has any.
        Some(Self {
            kind: kind.to_ascii_lowercase(),
            subtype: subtype.trim().to_ascii_lowercase(),
            quality: weight(parts)?,
        })
    }

    fn matches(&self, offer: &str) -> bool {
        let Some((kind, subtype)) = offer.split_once('/') else {
            return false;
        };
        match (self.kind.as_str(), self.subtype.as_str()) {
            ("*", "*") => true,
            (of, "*") => of == kind,
            (of, sub) => of == kind && sub == subtype,
        }
    }

    fn specificity(&self) -> u8 {
        u8::from(self.kind != "*") + u8::from(self.subtype != "*")
    }
}

/// Whether the client would rather have an answer in gzip than as it is. Without `Accept-Encoding`
/// it would not: most who send none cannot decode.
#[must_use]
pub fn prefers_gzip(headers: &HeaderMap) -> bool {
    let codings = list(headers, &header::ACCEPT_ENCODING).filter_map(|text| {
        let mut parts = text.split(';');
        let name = parts.next()?.trim().to_ascii_lowercase();
        Some((name, weight(parts)?))
    });
    let weights: HashMap<_, _> = codings.collect();
    let gzip = ["gzip", "x-gzip", "*"]
        .iter()
        .find_map(|name| weights.get(*name));
    // As it is, it is always acceptable, and liked least unless it is named.
    gzip.copied() > Some(0) && gzip >= weights.get("identity")
}

/// The members of a field that is a list, which may stand in several lines.
fn list<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
}

/// The weight among the parameters of a member, in thousandths; that of one that has none is 1.
fn weight<'a>(parameters: impl Iterator<Item = &'a str>) -> Option<u16> {
    parameters
        .filter_map(|part| part.split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("q"))
        .map_or(Some(1000), |(_, value)| thousandths(value.trim()))
}

/// A weight (RFC 9110, section 12.4.2): 0 to 1 with at most three decimals.
fn thousandths(weight: &str) -> Option<u16> {
    let (whole, decimals) = weight.split_once('.').unwrap_or((weight, ""));
    if !matches!(whole, "0" | "1")
        || decimals.len() > 3
        || !decimals.bytes().all(|b| b.is_ascii_digit())
    {
        return None;
    }
    let decimals: u16 = format!("{decimals:0<3}").parse().ok()?;
    let quality = u16::from(whole == "1") * 1000 + decimals;
    (quality <= 1000).then_some(quality)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const OFFERS: [&str; 3] = ["application/json", "text/html", "text/csv"];

    fn chosen(accept: &[&'static str]) -> Option<&'static str> {
        let mut headers = HeaderMap::new();
        for value in accept {
            headers.append(header::ACCEPT, HeaderValue::from_static(value));
        }
        choose(&headers, &OFFERS)
    }

    #[test]
    fn the_highest_weight_wins_and_the_first_offer_among_equals() {
        for (accept, expected) in [
            (&[][..], Some("application/json")),
            (&["*/*"], Some("application/json")),
            (&["text/*"], Some("text/html")),
            (&["text/csv, text/html"], Some("text/html")),
            (&["text/html;q=0.5, text/csv;q=0.8"], Some("text/csv")),
            (&["text/html;q=0.5", "text/csv;q=0.8"], Some("text/csv")),
            (
                &["text/*;q=0.9, text/html;q=0.1, application/json;q=0.5"],
                Some("text/csv"),
            ),
            (&["application/json;q=0, */*"], Some("text/html")),
            (&["TEXT/CSV ; Q=1.000"], Some("text/csv")),
            (
                &["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"],
                Some("text/html"),
            ),
            (&["application/xml"], None),
            (&["*/*;q=0"], None),
        ] {
            assert_eq!(chosen(accept), expected, "{accept:?}");
        }
    }

    #[test]
    fn gzip_is_for_those_who_would_rather_have_it() {
        for (accepted, expected) in [
            (&["gzip"][..], true),
            (&["gzip, deflate, br, zstd"], true),
            (&["br", "GZIP"], true),
            (&["x-gzip"], true),
            (&["*"], true),
            (&["gzip;q=0.5"], true),
            (&["gzip ; Q=0.001"], true),
            (&["gzip;q=0.5, identity;q=0.5"], true),
            (&["identity;q=0, *"], true),
            (&[], false),
            (&[""], false),
            (&["br"], false),
            (&["identity"], false),
            (&["gzip;q=0"], false),
            (&["gzip;q=0, *"], false),
            (&["*;q=0"], false),
            (&["gzip;q=0.5, identity"], false),
            (&["gzip;q=2"], false),
            (&["gzipped"], false),
        ] {
            let mut headers = HeaderMap::new();
            for value in accepted {
                headers.append(header::ACCEPT_ENCODING, HeaderValue::from_static(value));
            }
            assert_eq!(prefers_gzip(&headers), expected, "{accepted:?}");
        }
    }

    #[test]
    fn a_range_that_cannot_be_read_is_passed_over() {
        for accept in [
            "text",
            ";q=1",
            "text/csv;q=2",
            "text/csv;q=0.1234",
            "text/csv;q=x",
            "",
        ] {
            assert_eq!(chosen(&[accept]), Some("application/json"), "{accept}");
        }
    }
}
