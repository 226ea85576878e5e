//! The tables of docs/providers.md, and what they make of a report.

use std::{cell::RefCell, collections::BTreeSet};

use serde_json::{Map, Value, json};

const DOCUMENT: &str = include_str!("../../../docs/providers.md");

/// What the document says of one provider.
pub(super) struct Provider {
    name: String,
    rows: Vec<Row>,
    fields: Vec<(String, Vec<String>)>,
    met: RefCell<BTreeSet<usize>>,
}

/// One kind of report.
struct Row {
    report: String,
    /// A path, and the values that it may have.
    conditions: Vec<(String, Vec<String>)>,
    /// None where it is no event of a mail.
    kind: Option<String>,
}

impl Provider {
    /// Reads the section under this heading.
    pub(super) fn named(name: &str) -> Self {
        let heading = format!("\n## {name}\n");
        let (_, section) = DOCUMENT.split_once(&heading).expect("a section");
        let section = section.split("\n## ").next().expect("its text");
        let mut tables = section
            .split("\n\n")
            .filter(|block| block.starts_with('|'))
            .map(|table| table.lines().skip(2).map(cells));
        let rows = tables.next().expect("reports").map(Row::read).collect();
        let fields = tables.next().expect("fields");
        Self {
            name: name.to_owned(),
            rows,
            fields: fields
                .map(|[field, from]| (codes(&field).remove(0), codes(&from)))
                .collect(),
            met: RefCell::default(),
        }
    }

    /// The event that a report tells of, if it is one of a mail.
    pub(super) fn event(&self, report: &Value) -> Option<Value> {
        let row = self.rows.iter().position(|row| row.fits(report));
        let row = row.unwrap_or_else(|| panic!("{}: no row for {report}", self.name));
        self.met.borrow_mut().insert(row);
        let kind = self.rows[row].kind.as_ref()?;
        let mut event = Map::new();
        event.insert("type".to_owned(), json!(kind));
        event.insert("source".to_owned(), json!(self.name));
        for (field, paths) in &self.fields {
            let found = paths.iter().find_map(|path| at(report, path));
            if let Some(value) = found.and_then(|value| converted(field, &value)) {
                event.insert(field.clone(), value);
            }
        }
        read_codes(&mut event);
        Some(Value::Object(event))
    }

    /// The rows that no report has met so far.
    pub(super) fn untried(&self) -> Vec<&str> {
        let met = self.met.borrow();
        let rows = self.rows.iter().enumerate();
        rows.filter(|(at, _)| !met.contains(at))
            .map(|(_, row)| row.report.as_str())
            .collect()
    }
}

impl Row {
    fn read([report, kind]: [String; 2]) -> Self {
        let mut conditions: Vec<(String, Vec<String>)> = Vec::new();
        for code in codes(&report) {
            let (path, value) = code.split_once(": ").expect("a path and a value");
            let known = conditions.iter_mut().find(|(known, _)| known == path);
            match known {
                Some((_, values)) => values.push(value.to_owned()),
                None => conditions.push((path.to_owned(), vec![value.to_owned()])),
            }
        }
        Self {
            report,
            conditions,
            kind: (!kind.starts_with("*nothing*")).then(|| codes(&kind).remove(0)),
        }
    }

    fn fits(&self, report: &Value) -> bool {
        self.conditions.iter().all(|(path, values)| {
            let Some(found) = at(report, path) else {
                return false;
            };
            let text = found
                .as_str()
                .map_or_else(|| found.to_string(), str::to_owned);
            values.iter().any(|value| matches(value, &text))
        })
    }
}

fn cells(line: &str) -> [String; 2] {
    let cells: Vec<_> = line
        .trim_matches('|')
        .split('|')
        .map(|cell| cell.trim().to_owned())
        .collect();
    cells.try_into().expect("two cells")
}

fn codes(cell: &str) -> Vec<String> {
    let parts = cell.split('`').skip(1).step_by(2);
    parts.map(str::to_owned).collect()
}

/// Whether `text` is `pattern`, in which `…` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    match (pattern.strip_prefix('…'), pattern.strip_suffix('…')) {
        (Some(rest), Some(_)) => text.contains(rest.trim_end_matches('…')),
        (None, Some(start)) => text.starts_with(start),
        (Some(end), None) => text.ends_with(end),
        (None, None) => text == pattern,
    }
}

/// What a report has at a path.
fn at(report: &Value, path: &str) -> Option<Value> {
    let mut value = report.clone();
    for step in path.split('.') {
        if let Some(text) = value.as_str() {
            value = serde_json::from_str(text).expect("JSON in a text");
        }
        value = match step.strip_suffix("[]") {
            Some(list) => value.get(list)?.get(0)?.clone(),
            None => value.get(step)?.clone(),
        };
    }
    let empty = value.is_null() || value == "";
    (!empty).then_some(value)
}

fn converted(field: &str, value: &Value) -> Option<Value> {
    match (field, value) {
        ("occurred_at", Value::Number(seconds)) => {
            let seconds = seconds.as_f64().expect("a number");
            #[expect(
                clippy::cast_possible_truncation,
                reason = "microseconds of today fit, and fractions of one are not kept"
            )]
            let micros = (seconds * 1e6).round() as i64;
            let time = chrono::DateTime::from_timestamp_micros(micros);
            Some(json!(time.expect("a time").to_rfc3339()))
        }
        ("smtp_code", code) => (200..=599).contains(&code.as_i64()?).then(|| code.clone()),
        ("provider_event_id", Value::Number(id)) => Some(json!(id.to_string())),
        _ => Some(value.clone()),
    }
}

/// Adds the codes that the diagnostic begins with.
fn read_codes(event: &mut Map<String, Value>) {
    let diagnostic = event.get("diagnostic").and_then(Value::as_str);
    let text = diagnostic.unwrap_or_default().to_owned();
    let mut words = text
        .trim_start_matches("smtp;")
        .split([' ', '-', '\n'])
        .filter(|word| !word.is_empty())
        .peekable();
    let reply = words.next_if(|word| word.len() == 3);
    if let Some(code) = reply.and_then(|word| word.parse::<i16>().ok())
        && let Some(code) = converted("smtp_code", &json!(code))
        && !event.contains_key("smtp_code")
    {
        event.insert("smtp_code".to_owned(), code);
    }
    let enhanced = words.next().filter(|word| {
        let digits =
            |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        word.split('.').count() == 3 && word.split('.').all(digits)
    });
    if let Some(code) = enhanced
        && !event.contains_key("enhanced_code")
    {
        event.insert("enhanced_code".to_owned(), json!(code));
    }
}
