//! The commands beside `serve`.

use std::collections::HashSet;

use chrono::{Days, NaiveDate};
use member_mail::{commands::seed, config::SETTINGS};
use serde_json::json;

use crate::kit::{Folder, Process, get, send};

const CLOSED: (&str, &str) = ("DATABASE_URL", "postgres://ann@127.0.0.1:1/club");

#[test]
fn the_document_is_printed_without_a_database() {
    let folder = Folder::new();
    let printed = Process::run(&folder, &["openapi"], &[CLOSED]);
    let checked_in = include_str!("../../openapi.json");
    assert_eq!(printed.success(), checked_in);
    assert_eq!(std::fs::read_dir(&folder.path).expect("folder").count(), 0);
}

#[test]
fn help_names_every_setting_and_command() {
    let folder = Folder::new();
    let help = Process::run(&folder, &["--help"], &[]);
    let help = help.success();
    for setting in SETTINGS {
        assert!(help.contains(setting.name), "{}", setting.name);
        assert!(help.contains(setting.allowed), "{}", setting.name);
    }
    for command in ["serve", "migrate", "openapi", "seed", "keys"] {
        assert!(help.contains(&format!("\n  {command} ")), "{command}");
    }
}

#[test]
fn an_unknown_command_is_refused() {
    let folder = Folder::new();
    for arguments in [&["sreve"][..], &["seed", "--mail", "-1"], &["--port", "80"]] {
        let refused = Process::run(&folder, arguments, &[]);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert_eq!(refused.stdout, "");
    }
}

#[test]
fn a_database_is_migrated_without_serving() {
    let folder = Folder::new();
    for _ in 0..2 {
        let migrated = Process::run(&folder, &["migrate"], &[]);
        assert!(migrated.success().contains("has every migration"));
        folder.until_deserted();
    }
    Process::serve(&folder, &[("MIGRATE_ON_START", "false")]);
}

#[test]
fn a_service_without_migrations_is_not_ready() {
    let folder = Folder::new();
    let mut process = Process::start(&folder, &[], &[("MIGRATE_ON_START", "false")]);
    let [_, api, ..] = process.greeting();
    let address = crate::kit::process::address(&api);
    let (status, body) = get(address, "/readyz");
    assert_eq!((status, &body["code"]), (503, &json!("not_ready")));

    // From another terminal, while the service runs.
    Process::run(&folder, &["migrate"], &[]).success();
    assert_eq!(get(address, "/readyz").0, 200);
}

#[test]
fn the_register_to_try_things_on_is_as_described() {
    let folder = Folder::new();
    let (_process, address) = Process::serve(&folder, &[]);
    let mine = json!({"name": "Ann", "email": "person-7@example.org"});
    assert_eq!(
        send(address, "POST", "/api/v1/members", &mine)
            .expect("an answer")
            .0,
        201
    );

    // Beside the running service, on its server.
    let seed = |mail| Process::run(&folder, &["seed", "--mail", mail], &[]);
    assert_eq!(
        seed("0").success(),
        "Added 18992 members and 0 mail records.\n"
    );
    assert_eq!(
        seed("2").success(),
        "Added 0 members and 37984 mail records.\n"
    );
    assert_eq!(seed("2").success(), "Added 0 members and 0 mail records.\n");

    let mut ids = HashSet::new();
    let mut path = "/api/v1/members?limit=500".to_owned();
    loop {
        let (status, page) = get(address, &path);
        assert_eq!(status, 200);
        for member in page["data"].as_array().expect("members") {
            let id = member["id"].as_str().expect("id").to_owned();
            assert!(ids.insert(id), "twice: {member}");
            let Some(number) = member["external_id"].as_str() else {
                continue;
            };
            let number: u64 = number
                .strip_prefix("person-")
                .and_then(|number| number.parse().ok())
                .expect("a number");
            let birth = NaiveDate::default() + Days::new(number - 1);
            assert_eq!(member["birth"], birth.to_string());
            assert_eq!(member["joined"], (birth + Days::new(10_000)).to_string());
        }
        let Some(cursor) = page["page"]["next_cursor"].as_str() else {
            break;
        };
        path = format!("/api/v1/members?limit=500&cursor={cursor}");
    }
    assert_eq!(ids.len(), 18_993);
    for person in [0, 1, 18_992] {
        assert!(
            ids.contains(&seed::id(person, None).to_string()),
            "{person}"
        );
    }
}
