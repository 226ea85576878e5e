//! What a failure says of the address: whether it is dead, whether it may work another time, or nothing,
//! since it was about the message.
//!
//! | enhanced code (RFC 3463) | |
//! |---|---|
//! | 4.x.x | transient |
//! | 5.2.2 mailbox full, 5.4.7 delivery time expired | transient, whatever their class |
//! | 5.2.3, 5.3.4 message too big; 5.6.x content; 5.7.x policy | about the message |
//! | 5.1.7 to 5.1.9 sender's address and content, 5.2.4 mailing list | about the message |
//! | 5.3.x, 5.4.x and 5.5.x otherwise: system, network, protocol | about the way there: nothing on the address |
//! | 5.0.x, 5.1.x, 5.2.x otherwise; 5.4.1, 5.4.4 no route to the domain | permanent |
//!
//! Without an enhanced code the SMTP code counts: 4yz is transient, 552 (storage exceeded) too, 554
//! (transaction failed) is about the message, 500 to 504, 530, 535 and 555 are about the way there; other
//! 5yz are permanent. Codes that are not given are looked for in the diagnostic. Without any, a bounce is permanent, and any other failure says nothing.

use super::model::{MailEvent, MailEventType};
use crate::values::{EnhancedCode, SmtpCode, Text};

/// What a failure says of the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// Mail to it does not arrive.
    Permanent,
    /// Mail to it may arrive another time.
    Transient,
    /// Nothing.
    NotOfAddress,
}

impl Failure {
    /// None if the event reports no failure.
    pub(super) fn of(event: &MailEvent) -> Option<Self> {
        let without_codes = match event.kind {
            MailEventType::Bounced => Self::Permanent,
            MailEventType::Failed => Self::NotOfAddress,
            _ => return None,
        };
        let (smtp_code, enhanced_code) = codes(event);
        let by_enhanced_code = enhanced_code.and_then(|code| Self::by_enhanced_code(code.parts()));
        let by_smtp_code = || Self::by_smtp_code(smtp_code?.get());
        Some(
            by_enhanced_code
                .or_else(by_smtp_code)
                .unwrap_or(without_codes),
        )
    }

    fn by_enhanced_code(code: (u16, u16, u16)) -> Option<Self> {
        Some(match code {
            (4, _, _) | (5, 2, 2) | (5, 4, 7) => Self::Transient,
            (5, 1, 7..=9) | (5, 2, 3 | 4) => Self::NotOfAddress,
            (5, 0..=2, _) | (5, 4, 1 | 4) => Self::Permanent,
            (5, _, _) => Self::NotOfAddress,
            // Success, of a mail that failed: the code says nothing.
            _ => return None,
        })
    }

    fn by_smtp_code(code: i16) -> Option<Self> {
        Some(match code {
            400..=499 | 552 => Self::Transient,
            500..=504 | 530 | 535 | 554 | 555 => Self::NotOfAddress,
            505..=599 => Self::Permanent,
            _ => return None,
        })
    }
}

/// The codes of an event, and where one is not given, that which its diagnostic tells: `550 5.1.1 …`,
/// `550-5.1.1 …`, `smtp; 550 5.1.1 …` (RFC 3464, section 2.3.6), `host mx.example.org said: 550 5.1.1 …`. A
/// reply code stands at the beginning, or in front of an enhanced one.
fn codes(event: &MailEvent) -> (Option<SmtpCode>, Option<EnhancedCode>) {
    let text = event.diagnostic.as_ref().map_or("", Text::as_str);
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '.');
    let words: Vec<_> = words
        .filter(|word| !word.is_empty() && *word != "smtp")
        .collect();
    let enhanced = |word: &&str| -> Option<EnhancedCode> {
        let code: EnhancedCode = word.trim_end_matches('.').parse().ok()?;
        (code.parts().0 > 2).then_some(code)
    };
    let place = words.iter().position(|word| enhanced(word).is_some());
    let enhanced_code = place.and_then(|place| enhanced(&words[place]));
    let in_front = place.map_or(0, |place| place.saturating_sub(1));
    let smtp_code = words.get(in_front).and_then(|word| {
        let code: i16 = word.parse().ok()?;
        f64::from(code).try_into().ok()
    });
    (
        event.smtp_code.or(smtp_code),
        event.enhanced_code.clone().or(enhanced_code),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mail_records::events::fold::tests::event;

    fn of(
        kind: &str,
        smtp_code: Option<i16>,
        enhanced_code: Option<&str>,
        diagnostic: &str,
    ) -> Option<Failure> {
        let event = MailEvent {
            smtp_code: smtp_code.map(|code| f64::from(code).try_into().expect("a code")),
            enhanced_code: enhanced_code.map(|code| code.parse().expect("a code")),
            ..event(1, kind, 0, Some(diagnostic))
        };
        Failure::of(&event)
    }

    #[test]
    fn the_enhanced_code_says_most() {
        for (code, failure) in [
            ("5.1.1", Failure::Permanent),
            ("5.1.10", Failure::Permanent),
            ("5.0.0", Failure::Permanent),
            ("5.2.0", Failure::Permanent),
            ("5.2.1", Failure::Permanent),
            ("5.4.4", Failure::Permanent),
            ("4.1.1", Failure::Transient),
            ("4.4.7", Failure::Transient),
            ("5.2.2", Failure::Transient),
            ("5.4.7", Failure::Transient),
            ("5.1.7", Failure::NotOfAddress),
            ("5.1.8", Failure::NotOfAddress),
            ("5.1.9", Failure::NotOfAddress),
            ("5.2.4", Failure::NotOfAddress),
            ("5.2.3", Failure::NotOfAddress),
            ("5.3.4", Failure::NotOfAddress),
            ("5.4.6", Failure::NotOfAddress),
            ("5.5.4", Failure::NotOfAddress),
            ("5.6.0", Failure::NotOfAddress),
            ("5.7.1", Failure::NotOfAddress),
            ("5.7.26", Failure::NotOfAddress),
        ] {
            for smtp_code in [None, Some(550), Some(450)] {
                assert_eq!(
                    of("bounced", smtp_code, Some(code), "x"),
                    Some(failure),
                    "{code}"
                );
                assert_eq!(
                    of("failed", smtp_code, Some(code), "x"),
                    Some(failure),
                    "{code}"
                );
            }
        }
    }

    #[test]
    fn the_reply_code_counts_where_the_enhanced_code_says_nothing() {
        for (code, failure) in [
            (421, Failure::Transient),
            (450, Failure::Transient),
            (552, Failure::Transient),
            (550, Failure::Permanent),
            (551, Failure::Permanent),
            (553, Failure::Permanent),
            (556, Failure::Permanent),
            (554, Failure::NotOfAddress),
            (501, Failure::NotOfAddress),
            (530, Failure::NotOfAddress),
        ] {
            assert_eq!(
                of("bounced", Some(code), None, "x"),
                Some(failure),
                "{code}"
            );
            assert_eq!(
                of("failed", Some(code), Some("2.0.0"), "x"),
                Some(failure),
                "{code}"
            );
        }
    }

    #[test]
    fn codes_are_found_where_a_diagnostic_begins_with_them() {
        for (diagnostic, failure) in [
            ("550 5.1.1 no such user", Failure::Permanent),
            ("smtp; 550-5.7.1 spam", Failure::NotOfAddress),
            ("SMTP;452 4.2.2 mailbox full", Failure::Transient),
            ("4.2.2: mailbox full", Failure::Transient),
            ("450\ngreylisted", Failure::Transient),
            ("552", Failure::Transient),
        ] {
            assert_eq!(
                of("bounced", None, None, diagnostic),
                Some(failure),
                "{diagnostic}"
            );
            assert_eq!(
                of("failed", None, None, diagnostic),
                Some(failure),
                "{diagnostic}"
            );
        }
        for diagnostic in [
            "mailbox 552",
            "5501 users",
            "55",
            "dns; 550 x",
            "10.4.2.2 is down",
            "2.0.0 taken",
            "999 x",
            "é",
        ] {
            assert_eq!(
                of("bounced", None, None, diagnostic),
                Some(Failure::Permanent)
            );
            assert_eq!(
                of("failed", None, None, diagnostic),
                Some(Failure::NotOfAddress)
            );
        }
    }

    #[test]
    fn a_reply_code_that_is_given_hides_no_enhanced_code_in_the_diagnostic() {
        for (diagnostic, failure) in [
            ("550 5.7.1 spam", Failure::NotOfAddress),
            ("550-5.7.26 unauthenticated", Failure::NotOfAddress),
            (
                "host mx.example.org[192.0.2.1] said: 550 5.7.1 spam",
                Failure::NotOfAddress,
            ),
            (
                "host mx said: 552 5.3.4 too big (in reply to end of DATA)",
                Failure::NotOfAddress,
            ),
            ("5.2.3 too big", Failure::NotOfAddress),
            ("550-5.1.1 no such user", Failure::Permanent),
            ("no such user", Failure::Permanent),
        ] {
            assert_eq!(
                of("bounced", Some(550), None, diagnostic),
                Some(failure),
                "{diagnostic}"
            );
        }
    }

    #[test]
    fn what_is_no_failure_says_nothing_of_the_address() {
        for kind in [
            "sent",
            "deferred",
            "delivered",
            "opened",
            "complained",
            "canceled",
        ] {
            assert_eq!(of(kind, Some(550), Some("5.1.1"), "x"), None, "{kind}");
        }
    }
}
