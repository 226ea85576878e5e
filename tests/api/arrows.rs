//! The architecture, read from the `use` lines.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The rooms of the house, each below those that may use it. Those on one line do not know each
/// other.
const FLOORS: [&[&str]; 9] = [
    &["main"],
    &["commands"],
    &["app"],
    &["members"],
    &["mail_records"],
    &["http"],
    &["problem"],
    &["values", "postgres"],
    &["config"],
];

#[test]
fn arrows_between_rooms_go_one_way() {
    let faults = faults_in(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")));
    assert!(
        faults.is_empty(),
        "arrows that run back:\n{}",
        faults.join("\n")
    );
}

#[test]
fn an_arrow_that_runs_back_is_found() {
    let floor = |room| floor(room).expect("a room");
    assert_eq!(uses("use crate::members::model::Member;"), ["members"]);
    assert_eq!(
        uses("use crate::{http::page::Page, members, problem::{Code, Problem}};"),
        ["http", "members", "problem"]
    );
    assert_eq!(
        uses("    let id = crate::commands::seed::id(1, None);"),
        ["commands"]
    );
    assert!(floor("members") < floor("http"));
}

#[test]
fn every_room_is_on_a_floor() {
    let lib =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/src/lib.rs")).expect("lib.rs");
    for line in lib.lines() {
        if let Some(room) = line
            .strip_prefix("pub mod ")
            .and_then(|rest| rest.strip_suffix(';'))
        {
            assert!(floor(room).is_some(), "{room} is on no floor");
        }
    }
}

fn floor(room: &str) -> Option<usize> {
    FLOORS.iter().position(|rooms| rooms.contains(&room))
}

fn faults_in(src: &Path) -> Vec<String> {
    let mut faults = Vec::new();
    for file in files(src) {
        let relative = file.strip_prefix(src).expect("below src");
        let room = relative.components().next().expect("a name").as_os_str();
        let room = room.to_str().expect("UTF-8").trim_end_matches(".rs");
        let Some(own) = floor(room) else { continue };
        let text = fs::read_to_string(&file).expect("source");
        for (line, statement) in statements(&text) {
            for used in uses(&statement) {
                let back = floor(&used).is_some_and(|used| used < own);
                let beside = floor(&used) == Some(own) && used != room;
                if back || beside {
                    faults.push(format!("{}:{line}: {room} uses {used}", file.display()));
                }
            }
        }
    }
    faults
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("folder") {
        let path = entry.expect("entry").path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// Each `use` in one piece, and every other line of code, with the number of the line it begins on.
fn statements(text: &str) -> Vec<(usize, String)> {
    let mut statements = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        if line.trim_start().starts_with("//") {
            continue;
        }
        let mut statement = line.to_owned();
        let begins = line
            .trim_start()
            .trim_start_matches("pub ")
            .starts_with("use ");
        while begins && !statement.contains(';') {
            let Some((_, next)) = lines.next() else { break };
            statement.push_str(next);
        }
        statements.push((number + 1, statement));
    }
    statements
}

/// The rooms that a statement names behind `crate::`.
fn uses(statement: &str) -> Vec<String> {
    let mut rooms = Vec::new();
    for rest in statement.split("crate::").skip(1) {
        match rest.strip_prefix('{') {
            None => rooms.push(first_word(rest)),
            Some(group) => {
                let mut depth = 0;
                let mut start = 0;
                for (at, character) in group.char_indices() {
                    match character {
                        '{' => depth += 1,
                        '}' if depth == 0 => {
                            rooms.push(first_word(&group[start..at]));
                            break;
                        }
                        '}' => depth -= 1,
                        ',' if depth == 0 => {
                            rooms.push(first_word(&group[start..at]));
                            start = at + 1;
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    rooms.retain(|room| !room.is_empty());
    rooms
}

fn first_word(text: &str) -> String {
    text.trim_start()
        .chars()
        .take_while(|character| character.is_alphanumeric() || *character == '_')
        .collect()
}
