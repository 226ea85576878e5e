//! E-mail addresses: one grammar for bodies, imports and filters alike.
//!
//! ```text
//! address    = local-part "@" domain            ; at most 254 octets (RFC 5321, section 4.5.3.1.3)
//! local-part = atom *( "." atom )               ; RFC 5322, section 3.2.3; at most 64 octets
//! atom       = 1*( ALPHA / DIGIT / "!" / "#" / "$" / "%" / "&" / "'" / "*" / "+" / "-" / "/" / "="
//!                  / "?" / "^" / "_" / "`" / "{" / "|" / "}" / "~" / international )
//! international =                               ; RFC 6531, section 3.3, narrowed to what can be seen:
//!                                               ; a letter, number or combining mark beyond ASCII
//! domain     = label 1*( "." label )            ; at most 253 octets as A-labels
//! label      =                                  ; valid under UTS #46, non-transitional, with STD3 rules: as an
//!                                               ; A-label 1 to 63 letters, digits and inner hyphens
//! ```
//!
//! The last label is not all digits (RFC 3696, section 2). There are no quoted strings, comments,
//! display names, address literals, white space, control characters or invisible characters, and
//! the domain has no dot at its end.
//!
//! An address is normalised to NFC (RFC 6532, section 3.1) and otherwise kept as typed.
//! [`EmailAddress::folded`] is the form in which two spellings of one mailbox are equal. It keeps
//! the bounds too: an address whose folded form would break them is refused, so that a folded
//! address is always an address.
//!
//! In a query string a plain `+` means a space, which no address holds:
//! `?email=ann+news@example.org` is refused, `?email=ann%2Bnews@example.org` is right.

use idna::uts46::{AsciiDenyList, DnsLength, Hyphens, Uts46};
use serde::{Deserialize, Serialize};
use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, SchemaFormat, Type},
};

use super::{Invalid, string_value};

const MAX_OCTETS: usize = 254;
const MAX_LOCAL_OCTETS: usize = 64;

/// An e-mail address as typed, in NFC. The grammar is in the module's head.
///
/// Equality is that of the spelling; compare [`folded`](Self::folded) to ask for the same mailbox.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, sqlx::Type,
)]
#[serde(try_from = "String")]
#[sqlx(transparent)]
pub struct EmailAddress(String);

string_value!(EmailAddress);

impl EmailAddress {
    fn parse(input: &str) -> Result<Self, Invalid> {
        let address: String = input.nfc().collect();
        // Before any other work, and since Punycode takes quadratic time.
        if address.len() > MAX_OCTETS {
            return Err(too_long());
        }
        let (local, domain) = address.split_once('@').ok_or_else(|| {
            invalid("An e-mail address has the form local-part@domain, without a display name.")
        })?;
        if !local.split('.').all(is_atom) {
            return Err(invalid(
                "The part before the @ must be letters, digits and !#$%&'*+-/=?^_`{|}~, with single dots between them. \
                 Quotes and spaces are not allowed; in a query string + stands for a space and must be written as %2B.",
            ));
        }
        let ascii = ascii_domain(domain).ok_or_else(|| {
            invalid(
                "The part after the @ must be a domain name of two labels or more, such as example.org, \
                 without a dot at its end and not an IP address.",
            )
        })?;
        let folded = fold_local(local);
        if local.len().max(folded.len()) > MAX_LOCAL_OCTETS
            || folded.len() + "@".len() + ascii.len() > MAX_OCTETS
        {
            return Err(too_long());
        }
        Ok(Self(address))
    }

    /// The form in which addresses that differ only by case, or by U-label and A-label, are equal:
    /// itself an address that folds to itself.
    ///
    /// The local part is lower-cased character by character and brought to NFC. Final sigma is a
    /// sigma like any other, `ẞ` becomes `ß`. Letters that only upper case confuses stay apart (`ß`
    /// and `ss`, `ı` and `i`): they are other mailboxes. The domain becomes its lower-case
    /// A-labels, where UTS #46 keeps `ß` and `ς`.
    #[must_use]
    pub fn folded(&self) -> String {
        let (local, domain) = self.0.split_once('@').unwrap_or((&self.0, ""));
        // Only a row that was not written through this type can hold a domain without A-labels.
        let domain = ascii_domain(domain).unwrap_or_else(|| domain.to_lowercase());
        format!("{}@{domain}", fold_local(local))
    }
}

fn invalid(detail: &'static str) -> Invalid {
    Invalid::new("invalid_email_address", detail)
}

fn too_long() -> Invalid {
    Invalid::new(
        "too_long",
        format!(
            "An e-mail address has at most {MAX_OCTETS} octets in UTF-8 and as A-labels, \
             at most {MAX_LOCAL_OCTETS} of them before the @."
        ),
    )
}

fn is_atom(atom: &str) -> bool {
    !atom.is_empty() && atom.chars().all(is_atext)
}

fn is_atext(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c)
    } else {
        (c.is_alphanumeric() || is_combining_mark(c)) && !is_invisible(c)
    }
}

/// Unicode's `Default_Ignorable_Code_Point`: shown as nothing, so two addresses would look alike.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// The domain as lower-case A-labels.
fn ascii_domain(domain: &str) -> Option<String> {
    if domain.contains(is_invisible) {
        return None;
    }
    let ascii = Uts46::new()
        .to_ascii(
            domain.as_bytes(),
            AsciiDenyList::STD3,
            Hyphens::CheckFirstLast,
            DnsLength::Verify,
        )
        .ok()?;
    let labels = || ascii.split('.');
    // UTS #46 turns U+3002 and others into dots; the labels are then not those that were typed.
    let as_typed = labels().count() == domain.split('.').count();
    let numeric = labels()
        .next_back()
        .is_some_and(|last| last.bytes().all(|b| b.is_ascii_digit()));
    (as_typed && labels().count() >= 2 && !numeric).then(|| ascii.clone().into_owned())
}

/// Character by character, since `str::to_lowercase` writes a sigma by its place in the word.
fn fold_local(local: &str) -> String {
    local
        .chars()
        .flat_map(char::to_lowercase)
        .map(|c| if c == 'ς' { 'σ' } else { c })
        .nfc()
        .collect()
}

impl PartialSchema for EmailAddress {
    /// The shortest is `a@b.c`. No pattern: none that is correct would be of use to a reader.
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::Custom("idn-email".to_owned())))
            .min_length(Some("a@b.c".len()))
            .max_length(Some(MAX_OCTETS))
            .into()
    }
}

impl ToSchema for EmailAddress {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn address(input: &str) -> EmailAddress {
        input
            .parse()
            .unwrap_or_else(|refused| panic!("{input}: {refused}"))
    }

    fn folded(input: &str) -> String {
        address(input).folded()
    }

    #[test]
    fn what_is_accepted_comes_back_byte_for_byte() {
        for input in [
            "a@b.c",
            "Ann.Lee@Example.org",
            "ann+news@example.org",
            "!#$%&'*+-/=?^_`{|}~@example.org",
            "Jörg.Übel@Bücher.example",
            "用户@例子.广告",
            "उपयोगकर्ता@उदाहरण.कॉम",
            "a@XN--bcher-KVA.example",
            "a@r3---sn-4g5.example",
            "a@1.2.example",
        ] {
            assert_eq!(address(input).as_str(), input);
        }
    }

    #[test]
    fn what_the_grammar_does_not_have_is_refused() {
        for input in [
            "",
            "a",
            "@example.org",
            "a@",
            "\"a.b\"@example.org",
            "\"a b\"@example.org",
            "\"a\".b@example.org",
            "a.@example.org",
            ".a@example.org",
            "a..b@example.org",
            "a@[192.0.2.1]",
            "a@192.0.2.1",
            "a@example.1",
            "a@example.１",
            "Ann <a@example.org>",
            "a(comment)@example.org",
            "a@b@example.org",
            "a b@example.org",
            " a@example.org",
            "a@example.org ",
            "a@example.org\n",
            "a\0@example.org",
            "a\u{a0}b@example.org",
            "a\u{200b}@example.org",
            "a\u{34f}@example.org",
            "a\u{3164}@example.org",
            "a@example.org\u{200b}",
            "a@exam\u{ad}ple.org",
            "a@example.org.",
            "a@example..org",
            "a@example",
            "a@example\u{3002}org",
            "a@\u{33c2}.org",
            "a@-example.org",
            "a@example-.org",
            "a@ex_ample.org",
            "a@xn--a.org",
            "☃@example.org",
        ] {
            let refused = input.parse::<EmailAddress>().expect_err(input);
            assert_eq!(refused.code, "invalid_email_address", "{input}");
        }
    }

    #[test]
    fn a_plus_that_a_query_string_decoded_to_a_space_is_refused_with_the_remedy() {
        let query = "ann+news@example.org".replace('+', " ");
        let refused = query.parse::<EmailAddress>().expect_err("invalid");
        assert!(refused.detail.contains("%2B"));
    }

    #[test]
    fn the_bounds_are_64_octets_before_the_at_sign_and_254_in_all() {
        let local = |octets: usize| format!("{}@example.org", "a".repeat(octets));
        assert!(local(64).parse::<EmailAddress>().is_ok());
        assert_eq!(
            local(65).parse::<EmailAddress>().expect_err("invalid").code,
            "too_long"
        );
        let whole = |last: usize| format!("a@{}{}.org", "b23456789.".repeat(24), "c".repeat(last));
        assert_eq!(whole(8).len(), 254);
        assert!(whole(8).parse::<EmailAddress>().is_ok());
        assert_eq!(
            whole(9).parse::<EmailAddress>().expect_err("invalid").code,
            "too_long"
        );
        let label = |octets: usize| format!("a@{}.org", "b".repeat(octets)).parse::<EmailAddress>();
        assert!(label(63).is_ok());
        assert!(label(64).is_err());
    }

    #[test]
    fn the_bounds_hold_for_the_folded_form_too() {
        // U+023A has two octets, its lower case has three.
        assert!(
            format!("{}@example.org", "\u{23a}".repeat(21))
                .parse::<EmailAddress>()
                .is_ok()
        );
        assert!(
            format!("{}@example.org", "\u{23a}".repeat(22))
                .parse::<EmailAddress>()
                .is_err()
        );
        // The label has seven octets with its dot, and eleven as an A-label.
        let labels = "üöä.".repeat(20);
        for (local, accepted) in [(30, true), (31, false)] {
            let address = format!("{}@{labels}org", "a".repeat(local));
            assert_eq!(address.parse::<EmailAddress>().is_ok(), accepted, "{local}");
        }
    }

    #[test]
    fn composed_and_decomposed_letters_are_one_address() {
        assert_eq!(
            address("u\u{308}@bu\u{308}cher.example").as_str(),
            "ü@bücher.example"
        );
    }

    #[test]
    fn spellings_of_one_mailbox_fold_alike() {
        assert_eq!(folded("Ann.Lee@Example.ORG"), folded("ann.lee@example.org"));
        assert_eq!(folded("a@BÜCHER.example"), "a@xn--bcher-kva.example");
        assert_eq!(folded("a@XN--BCHER-KVA.example"), "a@xn--bcher-kva.example");
        for sigma in ["ΟΔΟΣ", "οδος", "οδοσ"] {
            assert_eq!(folded(&format!("{sigma}@a.example")), "οδοσ@a.example");
        }
        assert_eq!(folded("STRAẞE@a.example"), folded("straße@a.example"));
        assert_eq!(folded("İ@a.example"), "i\u{307}@a.example");
        // Only the lower case of this pair has a character of its own.
        assert_eq!(folded("H\u{331}@a.example"), folded("\u{1e96}@a.example"));
    }

    #[test]
    fn other_mailboxes_do_not_fold_alike() {
        for (one, other) in [
            ("straße@a.example", "strasse@a.example"),
            ("mıke@a.example", "mike@a.example"),
            ("a@straße.example", "a@strasse.example"),
        ] {
            assert_ne!(folded(one), folded(other));
        }
    }

    #[test]
    fn a_row_that_was_written_past_the_type_folds_without_a_panic() {
        for row in ["", "no at", "A@B@C", "A@\u{200b}"] {
            assert!(EmailAddress(row.to_owned()).folded().contains('@'));
        }
    }

    #[test]
    fn json_goes_through_the_parser() {
        assert!(serde_json::from_value::<EmailAddress>(json!("a@b.c")).is_ok());
        assert!(serde_json::from_value::<EmailAddress>(json!("a@b")).is_err());
    }

    prop_compose! {
        /// Local parts of all of Unicode, cased letters and marks foremost.
        fn local_part()(local in "([a-zA-Z0-9+]|\\p{L}|\\p{Lu}|\\p{Lt}|\\p{M}|[ΣςİıßẞſǅK]){1,12}(\\.\\p{L}{1,3})?")
            -> String { local }
    }

    prop_compose! {
        fn domain()(domain in "[a-zA-Z0-9]([a-zA-Z0-9-]{0,9}[a-zA-Z])?\\.[a-zA-ZäÖßẞΣς]{1,6}") -> String { domain }
    }

    proptest! {
        #[test]
        fn folding_is_an_address_that_folds_to_itself(local in local_part(), domain in domain()) {
            if let Ok(address) = format!("{local}@{domain}").parse::<EmailAddress>() {
                let once = address.folded();
                let again: EmailAddress = once.parse().expect("valid");
                prop_assert_eq!(again.as_str(), &once);
                prop_assert_eq!(again.folded(), once);
            }
        }

        #[test]
        fn an_accepted_address_is_its_own_nfc_and_parses_again(local in local_part(), domain in domain()) {
            let input = format!("{local}@{domain}");
            if let Ok(address) = input.parse::<EmailAddress>() {
                prop_assert_eq!(address.as_str(), input.nfc().collect::<String>());
                prop_assert_eq!(address.as_str().parse::<EmailAddress>().expect("valid"), address);
            }
        }

        #[test]
        fn case_does_not_matter(local in "[a-zA-Z0-9äöüÄÖÜçÇéÉαβγσςΣΩωжЖяЯŐőǆǅǄ]{1,16}", domain in "[a-zA-ZäÖ]{1,9}\\.[a-z]{2}") {
            let input = format!("{local}@{domain}");
            prop_assert_eq!(folded(&input.to_uppercase()), folded(&input));
            prop_assert_eq!(folded(&input.to_lowercase()), folded(&input));
        }

        #[test]
        fn any_text_is_answered_without_a_panic(input in "\\PC{0,80}") {
            let _ = input.parse::<EmailAddress>();
        }
    }
}
