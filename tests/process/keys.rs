//! `member-mail keys`: access keys from the command line.

use serde_json::Value;

use crate::kit::{Folder, Process, process::address, send_with};

#[test]
fn keys_are_made_listed_rotated_and_revoked_beside_a_running_service() {
    let folder = Folder::new();
    let (_process, service) = Process::serve(&folder, &[]);
    let keys = |arguments: &[&str]| {
        let arguments = [&["keys"], arguments].concat();
        Process::run(&folder, &arguments, &[])
    };
    let made = keys(&["create", "the newsletter", "--scopes", "members:read,admin"]);
    let key = made.success().trim_end().to_owned();
    assert!(key.starts_with("mmk_") && key.len() == 110, "{key}");
    assert!(!made.stderr.contains(&key));

    let id = &key[4..36];
    let listed = keys(&["list"]);
    let line = listed.success();
    assert_eq!(line.lines().count(), 1, "{line}");
    assert!(line.contains("the newsletter  members:read,admin  valid, never used"));
    assert!(!line.contains("mmk_"));

    let rotated = keys(&["rotate", id, "--overlap", "60"]);
    let new = rotated.success().trim_end();
    assert_eq!(new[..36], key[..36]);
    assert_ne!(new, key);

    assert_eq!(keys(&["revoke", id]).success(), "");
    assert!(keys(&["list"]).success().contains("  revoked "));
    let ended = keys(&["rotate", id]);
    assert!(ended.refusal().contains("is revoked or has expired"));
    let unknown = keys(&["revoke", "018cc251-f400-7000-8000-000000000001"]);
    assert!(unknown.refusal().contains("there is no access key"));

    let made = keys(&["create", "x", "--scopes", "admin"]);
    let key = format!("Authorization: Bearer {}\r\n", made.success().trim_end());
    let path = "/api/v1/audit-log?sort=at";
    let (_, log) = send_with(service, "GET", path, &key, &Value::Null).expect("an answer");
    let entries = log["data"].as_array().expect("entries");
    let operations = entries.iter().map(|entry| &entry["operation"]);
    assert_eq!(
        operations.collect::<Vec<_>>(),
        [
            "create_access_key",
            "rotate_access_key",
            "revoke_access_key",
            "create_access_key"
        ]
    );
    for entry in entries {
        assert_eq!(entry["key_id"], Value::Null);
        assert_eq!(entry["request_id"], Value::Null);
    }
}

#[test]
fn what_is_no_key_is_refused_before_a_database_is_touched() {
    let folder = Folder::new();
    for arguments in [
        &["create", "x"][..],
        &["create", "x", "--scopes", "root"],
        &["create", " ", "--scopes", "admin"],
        &["create", "x", "--scopes", "admin", "--expires-at", "soon"],
        &["rotate", "x"],
        &["revoke"],
        &[],
    ] {
        let arguments = [&["keys"], arguments].concat();
        let refused = Process::run(&folder, &arguments, &[]);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    }
    assert!(!folder.data_dir().exists());
}

#[test]
fn beyond_loopback_a_key_is_needed_also_for_the_first_request() {
    let folder = Folder::new();
    let mut process = Process::start(&folder, &[], &[("BIND_ADDRESS", "0.0.0.0:0")]);
    let [_, api, ..] = process.greeting();
    let access = process.line();
    assert!(access.contains("there is none"), "{access}");
    assert!(access.contains("member-mail keys create"), "{access}");
    let service = ([127, 0, 0, 1], address(&api).port()).into();
    let ask = |path, lines: &str| {
        let (status, _) = send_with(service, "GET", path, lines, &Value::Null).expect("an answer");
        status
    };
    assert_eq!(ask("/readyz", ""), 200);
    assert_eq!(ask("/api/v1/members", ""), 401);

    let made = Process::run(
        &folder,
        &["keys", "create", "x", "--scopes", "members:read"],
        &[],
    );
    let key = format!("Authorization: Bearer {}\r\n", made.success().trim_end());
    assert_eq!(ask("/api/v1/members", &key), 200);
    assert_eq!(ask("/api/v1/members", ""), 401);
    assert_eq!(ask("/api/v1/suppressions", &key), 403);
}

#[test]
fn on_loopback_the_start_says_until_when_all_are_let_in() {
    let folder = Folder::new();
    for wanted in ["for all on this machine, until", "with an access key alone"] {
        let mut process = Process::start(&folder, &[], &[]);
        process.greeting();
        let access = process.line();
        assert!(access.contains(wanted), "{access}");
        process.signal("TERM");
        process.output().success();
        Process::run(&folder, &["keys", "create", "x", "--scopes", "admin"], &[]).success();
    }
}
