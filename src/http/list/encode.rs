//! Rows as bytes, in the forms that are streamed.

use std::{borrow::Cow, fmt::Write};

use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    Listed,
    form::{END, Format},
};
use crate::http::views::{self, Visible};

/// Milliseconds after which a client of events connects again.
const RETRY: u32 = 3000;
/// Read as the beginning of a formula by one spreadsheet or another.
const FORMULA: [char; 10] = ['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠'];
/// Put before a cell that would be read as a formula, and before one that begins with it.
const QUOTE: char = '\'';

/// Writes the rows of a list, and what stands before and behind them.
#[derive(Debug)]
pub(super) struct Encoder {
    format: Format,
    event: &'static str,
    /// Those that are visible.
    fields: Vec<&'static &'static str>,
    visible: Visible,
    pub(super) rows: u64,
}

impl Encoder {
    pub(super) fn new<R: Listed>(format: Format, visible: Visible) -> Self {
        Self {
            format,
            event: R::NAME,
            fields: visible.of_list(R::RESOURCE, R::FIELDS),
            visible,
            rows: 0,
        }
    }

    pub(super) fn begin(&self, out: &mut Vec<u8>) {
        match self.format {
            Format::Csv => line(out, self.fields.iter().map(|name| Cow::Borrowed(**name))),
            Format::Sse => push(out, format_args!("retry: {RETRY}\n\n")),
            Format::Json | Format::Ndjson => {}
        }
    }

    /// Writes a row; `cursor` is the place behind it.
    pub(super) fn row(
        &mut self,
        out: &mut Vec<u8>,
        row: &impl Serialize,
        cursor: impl FnOnce() -> String,
    ) -> serde_json::Result<()> {
        self.rows += 1;
        match self.format {
            Format::Csv => {
                let row = views::to_value(row, &self.visible)?;
                let none = Map::new();
                let row = row.as_object().unwrap_or(&none);
                line(out, self.fields.iter().map(|name| cell(row.get(**name))));
            }
            Format::Sse => {
                push(
                    out,
                    format_args!("id: {}\nevent: {}\ndata: ", cursor(), self.event),
                );
                // JSON has no line breaks but escaped ones.
                views::write(&mut *out, row, &self.visible)?;
                out.extend_from_slice(b"\n\n");
            }
            Format::Json | Format::Ndjson => {
                views::write(&mut *out, row, &self.visible)?;
                out.push(b'\n');
            }
        }
        Ok(())
    }

    /// Says that all rows were written.
    pub(super) fn end(&self, out: &mut Vec<u8>) {
        if self.format == Format::Sse {
            let rows = self.rows;
            push(
                out,
                format_args!("id: {END}\nevent: end\ndata: {{\"rows\":{rows}}}\n\n"),
            );
        }
    }

    /// Says why there are no more rows, where the form can; what follows must not be a clean end.
    pub(super) fn fail(&self, out: &mut Vec<u8>, problem: &[u8]) {
        match self.format {
            Format::Sse => {
                out.extend_from_slice(b"event: error\ndata: ");
                out.extend_from_slice(problem);
                out.extend_from_slice(b"\n\n");
            }
            Format::Ndjson => {
                out.extend_from_slice(problem);
                out.push(b'\n');
            }
            Format::Json | Format::Csv => {}
        }
    }

    /// What is sent while nothing is there to be sent, so that both sides learn when the other is
    /// gone.
    pub(super) fn heartbeat(&self) -> Option<&'static [u8]> {
        (self.format == Format::Sse).then_some(b":\n\n")
    }
}

fn push(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    let mut buffer = String::new();
    // Writing to a string does not fail.
    buffer.write_fmt(text).ok();
    out.extend_from_slice(buffer.as_bytes());
}

/// One record (RFC 4180, section 2).
fn line<'a>(out: &mut Vec<u8>, cells: impl Iterator<Item = Cow<'a, str>>) {
    for (index, cell) in cells.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        if cell.contains(['"', ',', '\r', '\n']) || cell.starts_with(' ') || cell.ends_with(' ') {
            out.push(b'"');
            out.extend_from_slice(cell.replace('"', "\"\"").as_bytes());
            out.push(b'"');
        } else {
            out.extend_from_slice(cell.as_bytes());
        }
    }
    out.extend_from_slice(b"\r\n");
}

/// A value as the text of a cell: text as it is, nothing for null, and JSON for all else.
fn cell(value: Option<&Value>) -> Cow<'_, str> {
    match value {
        None | Some(Value::Null) => Cow::Borrowed(""),
        Some(Value::String(text)) => harmless(text),
        Some(other) => Cow::Owned(harmless(&other.to_string()).into_owned()),
    }
}

/// Text that no spreadsheet evaluates. Whoever reads it back takes one `'` from its beginning, if one
/// is there.
fn harmless(text: &str) -> Cow<'_, str> {
    if text.starts_with(FORMULA) || text.starts_with(QUOTE) {
        Cow::Owned(format!("{QUOTE}{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads records as RFC 4180 has them.
    fn read(text: &str) -> Vec<Vec<String>> {
        let mut records = vec![vec![String::new()]];
        let mut characters = text.chars().peekable();
        let mut quoted = false;
        while let Some(character) = characters.next() {
            let record = records.last_mut().expect("a record");
            let cell = record.last_mut().expect("a cell");
            match character {
                '"' if quoted && characters.peek() == Some(&'"') => {
                    characters.next();
                    cell.push('"');
                }
                '"' => quoted = !quoted,
                ',' if !quoted => record.push(String::new()),
                '\r' if !quoted && characters.peek() == Some(&'\n') => {
                    characters.next();
                    records.push(vec![String::new()]);
                }
                other => cell.push(other),
            }
        }
        records.pop();
        records
    }

    fn unquoted(cell: &str) -> &str {
        cell.strip_prefix(QUOTE).unwrap_or(cell)
    }

    proptest! {
        #[test]
        fn a_record_that_is_read_back_has_the_same_cells(
            cells in prop::collection::vec("[=+@',\"\\r\\n\\t a-c-]{0,6}|.{0,6}", 1..6)
        ) {
            let values: Vec<_> = cells.iter().cloned().map(Value::from).collect();
            let mut out = Vec::new();
            line(&mut out, values.iter().map(|value| cell(Some(value))));
            let records = read(&String::from_utf8(out).expect("UTF-8"));
            prop_assert_eq!(records.len(), 1);
            for cell in &records[0] {
                prop_assert!(!cell.starts_with(FORMULA));
            }
            let back: Vec<_> = records[0].iter().map(|cell| unquoted(cell)).collect();
            prop_assert_eq!(back, cells);
        }
    }

    #[test]
    fn lists_and_objects_are_json_in_their_cells() {
        let tags = serde_json::json!(["Bristol, UK", "\"", " "]);
        assert_eq!(cell(Some(&tags)), r#"["Bristol, UK","\""," "]"#);
        assert_eq!(cell(Some(&serde_json::json!(-1))), "'-1");
        assert_eq!(cell(Some(&Value::Null)), "");
    }
}
