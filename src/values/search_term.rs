//! What is searched for in text.

use serde::Deserialize;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};

use super::{Invalid, Line, fold};

/// Letters or digits in a row that give an index of trigrams something to look for.
const TRIGRAM: usize = 3;

/// Text that is searched for: folded, and found wherever it stands. It holds `RUN` letters or digits in
/// a row, and no wildcards: each of its characters stands for itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct SearchTerm<const RUN: usize>(String);

impl<const RUN: usize> SearchTerm<RUN> {
    /// As a pattern for `LIKE`.
    #[must_use]
    pub fn pattern(&self) -> String {
        let mut pattern = String::from("%");
        for character in self.0.chars() {
            if matches!(character, '%' | '_' | '\\') {
                pattern.push('\\');
            }
            pattern.push(character);
        }
        pattern.push('%');
        pattern
    }

    /// Whether an index of trigrams can find it.
    #[must_use]
    pub fn has_trigram(&self) -> bool {
        longest_run(&self.0) >= TRIGRAM
    }

    /// The pairs of characters that stand side by side in it; its one character if it has no more.
    #[must_use]
    pub fn pairs(&self) -> Vec<String> {
        let characters: Vec<_> = self.0.chars().collect();
        if let [one] = characters[..] {
            return vec![one.to_string()];
        }
        let pairs = characters.windows(2);
        pairs.map(|pair| pair.iter().collect()).collect()
    }
}

fn longest_run(text: &str) -> usize {
    let runs = text.split(|character: char| !character.is_alphanumeric());
    runs.map(|run| run.chars().count()).max().unwrap_or(0)
}

impl<const RUN: usize> TryFrom<String> for SearchTerm<RUN> {
    type Error = Invalid;

    fn try_from(input: String) -> Result<Self, Invalid> {
        let line: Line<1, 200> = input.parse()?;
        let folded = fold(line.as_str());
        if folded.trim().is_empty() {
            let detail =
                "At least one character that is neither white space nor an accent is needed.";
            return Err(Invalid::new("blank", detail));
        }
        if longest_run(&folded) < RUN {
            let detail = format!("At least {RUN} letters or digits in a row are needed.");
            return Err(Invalid::new("too_short", detail));
        }
        Ok(Self(folded))
    }
}

impl<const RUN: usize> PartialSchema for SearchTerm<RUN> {
    fn schema() -> RefOr<Schema> {
        let mut schema = Line::<1, 200>::schema();
        if let RefOr::T(Schema::Object(schema)) = &mut schema {
            schema.description = None;
            schema.min_length = Some(RUN.max(1));
        }
        schema
    }
}

impl<const RUN: usize> ToSchema for SearchTerm<RUN> {}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(input: &str) -> SearchTerm<0> {
        input.to_owned().try_into().expect(input)
    }

    fn code<const RUN: usize>(input: &str) -> &'static str {
        let refused = SearchTerm::<RUN>::try_from(input.to_owned());
        refused.expect_err(input).code
    }

    #[test]
    fn wildcards_stand_for_themselves() {
        assert_eq!(term(r"100%_\ü").pattern(), r"%100\%\_\\u%");
    }

    #[test]
    fn a_term_has_a_trigram_from_three_letters_in_a_row_on() {
        for (text, has) in [
            ("ann", true),
            ("ANN", true),
            ("ß1", true),
            ("an", false),
            ("a-n", false),
            ("%%%%", false),
        ] {
            assert_eq!(term(text).has_trigram(), has, "{text}");
        }
    }

    #[test]
    fn a_term_is_made_of_its_pairs() {
        assert_eq!(term("Ä").pairs(), ["a"]);
        assert_eq!(term("a-b").pairs(), ["a-", "-b"]);
    }

    #[test]
    fn a_term_that_nothing_is_left_of_is_refused() {
        assert_eq!(code::<0>("\u{301}"), "blank");
        assert_eq!(code::<0>(" \u{a0}"), "blank");
        assert_eq!(code::<0>(""), "too_short");
        assert_eq!(code::<0>("\0"), "control_character");
        assert_eq!(code::<0>(&"a".repeat(201)), "too_long");
    }

    #[test]
    fn a_term_may_have_to_hold_some_letters_in_a_row() {
        for text in ["a", "ab", "a-b-c", "a b c", "%%%", "...."] {
            assert_eq!(code::<3>(text), "too_short", "{text}");
        }
        assert!(SearchTerm::<3>::try_from("a abc".to_owned()).is_ok());
    }
}
