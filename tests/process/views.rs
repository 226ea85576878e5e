//! Views, as the program takes them from its file.

use serde_json::{Value, json};

use crate::kit::{Folder, Process, process::address, send_with};

const PARTNER: &str = r#"
[views.partner]
members = ["name", "status"]
mail_records = "*"
mail_events = "*"
mail_summary = "*"
consents = "*"
suppressions = "*"
eligibility = "*"

[platforms]
ios = "partner"
"#;

#[test]
fn a_file_that_cannot_be_used_stops_the_start_in_one_line_with_the_nearest_name() {
    let folder = Folder::new();
    for (from, to, named) in [
        ("\"status\"", "\"staus\"", "`status`"),
        ("mail_events", "mail_event", "`mail_events`"),
        ("ios = \"partner\"", "ios = \"partnr\"", "`partner`"),
        ("consents = \"*\"", "", "consents"),
        ("\"*\"", "\"all\"", "\"*\""),
        ("[platforms]", "[platform]", "platforms"),
        ("[views.partner]", "[views.partner", "line 2"),
    ] {
        folder.write("views.toml", &PARTNER.replacen(from, to, 1));
        let output = Process::run(&folder, &[], &[("VIEWS_FILE", "views.toml")]);
        let refusal = output.refusal();
        assert!(refusal.contains("views.toml"), "{refusal}");
        assert!(refusal.contains(named), "{refusal}");
    }
    let output = Process::run(&folder, &[], &[("VIEWS_FILE", "nowhere.toml")]);
    assert!(output.refusal().contains("nowhere.toml"));
    assert!(!folder.data_dir().exists());
}

#[test]
fn a_key_has_its_view_from_the_command_line_and_none_when_that_is_gone() {
    let folder = Folder::new();
    folder.write("views.toml", PARTNER);
    let views = [("VIEWS_FILE", "views.toml")];
    let create = |view: &str| {
        let arguments = [
            "keys",
            "create",
            "x",
            "--scopes",
            "members:read,members:write",
        ];
        Process::run(
            &folder,
            &[&arguments[..], &["--view", view]].concat(),
            &views,
        )
    };
    assert!(create("partnr").refusal().contains("partner"));
    let key = create("partner").success().trim_end().to_owned();
    let line = format!("Authorization: Bearer {key}\r\n");

    let (process, service) = Process::serve(&folder, &views);
    let ask = |service, method, body: &Value| {
        send_with(service, method, "/api/v1/members", &line, body).expect("an answer")
    };
    let (status, made) = ask(service, "POST", &json!({"name": "Ann"}));
    assert_eq!(status, 201, "{made}");
    assert_eq!((&made["name"], made.get("email")), (&json!("Ann"), None));
    let (status, refused) = ask(
        service,
        "POST",
        &json!({"name": "Bo", "email": "bo@example.org"}),
    );
    assert_eq!((status, &refused["code"]), (403, &json!("field_hidden")));
    process.signal("TERM");
    process.output().success();

    let mut process = Process::start(&folder, &[], &[]);
    let [_, api, ..] = process.greeting();
    let (status, refused) = ask(address(&api), "GET", &Value::Null);
    assert_eq!(
        (status, &refused["code"]),
        (403, &json!("view_not_configured"))
    );
    process.signal("TERM");
    let output = process.output();
    assert!(output.stderr.contains("partner"), "{}", output.stderr);
}
