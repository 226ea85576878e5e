//! The architecture, read from the `use` lines.

use std::{
    fs,
    path::{Path, PathBuf},
};

use uuid::Uuid;

/// The rooms of the house: each may use those behind it.
const CHAIN: [&str; 13] = [
    "main",
    "commands",
    "app",
    "members",
    "mail_records",
    "eligibility",
    "consents",
    "suppressions",
    "access_keys",
    "audit_log",
    "http",
    "problem",
    "values",
];

/// The rooms beside them, and who may use these.
const BESIDE: [(&str, &[&str]); 2] = [
    ("postgres", &["main", "commands", "app"]),
    ("config", &["main", "commands", "postgres"]),
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
    let faults = [
        ("main.rs", "use member_mail::{app, config};", None),
        ("lib.rs", "pub mod members;\nuse crate::members;", None),
        (
            "app/mod.rs",
            "use crate::{members, postgres::pool, values};",
            None,
        ),
        (
            "app/config.rs",
            "use crate::config;",
            Some((1, "app uses config")),
        ),
        (
            "app/kept.rs",
            "// crate::commands does it.\nuse crate::app::x;",
            None,
        ),
        (
            "members/model.rs",
            "use member_mail::app::AppState;",
            Some((1, "members uses app")),
        ),
        (
            "mail_records/queries.rs",
            "use std::fmt;\n\nuse crate::{\n    http::page::{Limit, Page},\n    members::model::Member,\n};",
            Some((3, "mail_records uses members")),
        ),
        (
            "http/layers/deep.rs",
            "pub use crate::problem::Code;\nfn f() {\n    crate::config::load();\n}",
            Some((3, "http uses config")),
        ),
        (
            "problem.rs",
            "use crate::postgres::pool;",
            Some((1, "problem uses postgres")),
        ),
        (
            "values/date.rs",
            "\nuse crate::config::Config;",
            Some((2, "values uses config")),
        ),
        (
            "postgres/pool.rs",
            "use crate::problem::Problem;",
            Some((1, "postgres uses problem")),
        ),
        (
            "config.rs",
            "use crate::values::Text;",
            Some((1, "config uses values")),
        ),
    ];
    let tree = Tree::new(faults.iter().map(|(file, text, _)| (*file, *text)));
    let mut wanted: Vec<_> = faults
        .iter()
        .filter_map(|(file, _, fault)| {
            let (line, fault) = (*fault)?;
            Some(format!("{}:{line}: {fault}", tree.0.join(file).display()))
        })
        .collect();
    wanted.sort();
    let mut found = faults_in(&tree.0);
    found.sort();
    assert_eq!(found, wanted);
}

#[test]
fn the_rooms_that_a_statement_names_are_found() {
    assert_eq!(uses("use crate::members::model::Member;"), ["members"]);
    assert_eq!(
        uses("use crate::{http::page::Page, members, problem::{Code, Problem}};"),
        ["http", "members", "problem"]
    );
    assert_eq!(
        uses("    let id = crate::commands::seed::id(1, None);"),
        ["commands"]
    );
}

#[test]
fn every_room_is_in_the_chain_or_beside_it() {
    let lib =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/src/lib.rs")).expect("lib.rs");
    let mut rooms: Vec<_> = lib
        .lines()
        .filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'))
        .chain(["main"])
        .collect();
    rooms.sort_unstable();
    let mut placed: Vec<_> = CHAIN
        .into_iter()
        .chain(BESIDE.map(|(room, _)| room))
        .collect();
    placed.sort_unstable();
    assert_eq!(placed, rooms);
}

/// A tree of sources, removed with this value.
struct Tree(PathBuf);

impl Tree {
    fn new<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let name = format!("mm-arrows-{}", Uuid::now_v7().simple());
        let tree = Self(std::env::temp_dir().join(name));
        for (file, text) in files {
            let path = tree.0.join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect(file);
        }
        tree
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

fn is_room(name: &str) -> bool {
    CHAIN.contains(&name) || BESIDE.iter().any(|(room, _)| *room == name)
}

fn may_use(room: &str, used: &str) -> bool {
    let place = |wanted| CHAIN.iter().position(|room| *room == wanted);
    match BESIDE.iter().find(|(room, _)| *room == used) {
        Some((_, users)) => users.contains(&room),
        // What is beside the chain uses nothing of it.
        None => place(room).is_some_and(|own| Some(own) < place(used)),
    }
}

fn faults_in(src: &Path) -> Vec<String> {
    let mut faults = Vec::new();
    for file in files(src) {
        let relative = file.strip_prefix(src).expect("below src");
        let room = relative.components().next().expect("a name").as_os_str();
        let room = room.to_str().expect("UTF-8").trim_end_matches(".rs");
        if !is_room(room) {
            continue;
        }
        let text = fs::read_to_string(&file).expect("source");
        for (line, statement) in statements(&text) {
            for used in uses(&statement) {
                if used != room && is_room(&used) && !may_use(room, &used) {
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

/// The rooms that a statement names behind `crate::` or the crate's name.
fn uses(statement: &str) -> Vec<String> {
    let mut rooms = Vec::new();
    // The program's own file calls the crate by its name.
    let statement = statement.replace("member_mail::", "crate::");
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
