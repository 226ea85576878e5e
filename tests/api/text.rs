//! Text as it goes in and comes out: what is refused, what is normalised, and how it is measured.

use hyper::Method;
use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use serde_json::{Value, json};

use crate::kit::{
    Answer, App,
    document::{DOCUMENT, Operation, Subject, resource_operations},
};

const MEMBERS: &str = "/api/v1/members";

/// Sends the operation's example with `value` in `field`.
async fn send(
    app: &App,
    subject: &Subject,
    operation: &Operation,
    field: &str,
    value: &Value,
) -> Answer {
    let mut body = operation.example();
    // An event would be taken for the one before.
    body.remove("provider_event_id");
    body.insert(field.to_owned(), value.clone());
    let request = operation.request(app, subject);
    request.json(&body.into()).send().await
}

/// The schema that a field has besides null.
fn schema(field: &Value) -> &Value {
    let alternatives = ["oneOf", "anyOf"]
        .iter()
        .find_map(|key| field[*key].as_array());
    let schema = alternatives
        .into_iter()
        .flatten()
        .find(|schema| schema["type"] != "null")
        .unwrap_or(field);
    match schema["$ref"].as_str() {
        Some(reference) => DOCUMENT
            .pointer(reference.trim_start_matches('#'))
            .expect("the schema"),
        None => schema,
    }
}

/// Whether a field is free text, and not an address, a date or a word of a list.
fn is_text(field: &Value) -> bool {
    let schema = schema(field);
    schema["pattern"].is_string() && schema["maxLength"].is_u64()
}

/// The free text fields of every operation that takes a body, but those that its path names too.
fn text_fields() -> Vec<(Operation, String)> {
    let fields: Vec<_> = resource_operations()
        .into_iter()
        .flat_map(|operation| {
            let fields = operation.fields().iter();
            let in_path = operation.parameters("path");
            let text = fields.filter(|(name, schema)| is_text(schema) && !in_path.contains(name));
            let names: Vec<_> = text.map(|(name, _)| name.clone()).collect();
            names.into_iter().map(move |name| (operation.clone(), name))
        })
        .collect();
    assert!(fields.len() >= 12);
    fields
}

#[tokio::test]
async fn the_character_that_postgres_cannot_store_is_refused_in_every_field() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for operation in resource_operations() {
        for (field, schema) in operation.fields() {
            let values = match self::schema(schema)["type"].as_str() {
                Some("array") => vec![json!(["a", "b\0"])],
                Some("object") => vec![
                    json!({"a\0": 1}),
                    json!({"a": "\0"}),
                    json!({"a": [{"b": ["\0"]}]}),
                    json!({"a": [{"b\0": 1}]}),
                ],
                _ => vec![json!("\0"), json!("a\0@example.org"), json!("2024-01-01\0")],
            };
            for value in values {
                let answer = send(&app, &ann, &operation, field, &value).await;
                let problem = answer.problem(422, "invalid_body");
                let pointer = problem["errors"][0]["pointer"].as_str().expect("a pointer");
                assert!(pointer.starts_with(&format!("#/{field}")), "{problem}");
            }
        }
    }
}

/// Fields of text that may have several lines.
const MULTI_LINE: [&str; 2] = ["status_reason", "diagnostic"];

/// What stands in a mail's header, or may, must not begin another line there.
#[tokio::test]
async fn a_line_break_is_refused_in_all_that_may_stand_in_a_mails_header() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for operation in resource_operations() {
        for (field, schema) in operation.fields() {
            let is_array = self::schema(schema)["type"] == "array";
            if self::schema(schema)["type"] == "object" || MULTI_LINE.contains(&field.as_str()) {
                continue;
            }
            for text in [
                "Hi\r\nBcc: x@example.org",
                "a\rb",
                "a\nb",
                "a@example.org\r\n",
                "\n",
                "a\u{b}b",
                "a\u{c}b",
                "a\u{1b}[2J",
                "a\u{7f}",
                "a\u{85}b",
            ] {
                let value = if is_array {
                    json!(["a", text])
                } else {
                    json!(text)
                };
                let place = if is_array {
                    format!("#/{field}/1")
                } else {
                    format!("#/{field}")
                };
                let answer = send(&app, &ann, &operation, field, &value).await;
                answer.error_at(422, "invalid_body", &place);
            }
        }
    }
}

#[tokio::test]
async fn the_reason_of_a_status_may_have_several_lines() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let reason = "550-5.1.1 no such user\r\n550 5.1.1 try another\n\ttab";
    let record = json!({"subject": "Hi", "status": "bounced", "status_reason": reason});
    let created = app
        .post(&format!("{ann}/mail-records"), record)
        .await
        .expect(201);
    assert_eq!(created.body["status_reason"], reason);
}

/// Neither splits a header; an encoded word is text as any other, since nothing here decodes it.
#[tokio::test]
async fn harmless_separators_and_encoded_words_are_kept_as_they_came() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for (operation, field) in text_fields() {
        for text in [
            "a\u{2028}b\u{2029}c",
            "=?utf-8?B?SGkNCkJjYzogeA==?=",
            " a  b ",
            "\u{202e}abc",
            "👩\u{200d}👩\u{200d}👧",
            "%00 \\u0000 \\0 &#0; ' \" \\ ; -- <b>",
        ] {
            let answer = send(&app, &ann, &operation, &field, &json!(text)).await;
            if answer.status == 201 {
                let read = app.get(answer.header("location")).await.expect(200);
                assert_eq!(read.body[&field], text);
                app.remove(answer.header("location")).await;
            }
            assert_eq!(answer.body[&field], text, "{}", answer.text);
        }
    }
}

#[tokio::test]
async fn text_is_kept_in_nfc_and_found_in_either_form() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for (operation, field) in text_fields() {
        let answer = send(&app, &ann, &operation, &field, &json!("Mu\u{308}ller")).await;
        assert_eq!(answer.body[&field], "M\u{fc}ller", "{}", answer.text);
        if answer.status == 201 {
            app.remove(answer.header("location")).await;
        }
    }

    let input =
        json!({"name": "Jo\u{308}rg", "external_id": "Jo\u{308}rg", "tags": ["Jo\u{308}rg"]});
    let created = app.post(MEMBERS, input).await.expect(201).body;
    for filter in ["external_id", "tag"] {
        for spelling in ["J%C3%B6rg", "Jo%CC%88rg"] {
            let listed = app.get(&format!("{MEMBERS}?{filter}={spelling}")).await;
            assert_eq!(
                listed.expect(200).body["data"],
                json!([created]),
                "{filter}"
            );
        }
    }
    let twin = json!({"name": "x", "external_id": "J\u{f6}rg"});
    app.post(MEMBERS, twin)
        .await
        .problem(409, "external_id_taken");
}

#[tokio::test]
async fn length_is_counted_in_characters_wherever_they_stand_in_unicode() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for (operation, field) in text_fields() {
        let schema = schema(&operation.fields()[&field]);
        let bound = |name: &str| schema[name].as_u64().expect("a bound");
        let max = usize::try_from(bound("maxLength")).expect("a length");
        for character in ["a", "\u{fc}", "\u{20ac}", "😀", "u\u{308}"] {
            let fits = send(
                &app,
                &ann,
                &operation,
                &field,
                &json!(character.repeat(max)),
            )
            .await;
            assert!(fits.status.is_success(), "{field}: {}", fits.text);
            let kept = fits.body[&field].as_str().expect("text");
            assert_eq!(kept.chars().count(), max, "{field}");
            if fits.status == 201 {
                app.remove(fits.header("location")).await;
            }
            let value = json!(character.repeat(max + 1));
            let refused = send(&app, &ann, &operation, &field, &value).await;
            let code = refused.error_at(422, "invalid_body", &format!("#/{field}"));
            assert_eq!(code, "too_long");
        }
        if bound("minLength") > 0 {
            for blank in ["", " ", "\u{a0}\u{2003}\u{3000}"] {
                let refused = send(&app, &ann, &operation, &field, &json!(blank)).await;
                refused.error_at(422, "invalid_body", &format!("#/{field}"));
            }
        }
    }
}

#[tokio::test]
async fn fifty_tags_fit_and_none_stands_twice() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    let tags = |count: usize| -> Value { (0..count).map(|n| format!("{n:0100}")).collect() };
    let mut operations = resource_operations();
    operations.retain(|operation| operation.fields().contains_key("tags"));
    assert!(operations.len() >= 6);
    for operation in operations {
        let answer = send(&app, &ann, &operation, "tags", &tags(50)).await;
        assert_eq!(answer.body["tags"], tags(50), "{}", answer.text);
        for (value, place, code) in [
            (tags(51), "#/tags", "too_long"),
            (json!(["a", "b", "a"]), "#/tags", "repeated"),
            (json!(["\u{fc}", "u\u{308}"]), "#/tags", "repeated"),
            (json!(["a", ""]), "#/tags/1", "too_short"),
            (json!(["a", "b".repeat(101)]), "#/tags/1", "too_long"),
        ] {
            let refused = send(&app, &ann, &operation, "tags", &value).await;
            assert_eq!(refused.error_at(422, "invalid_body", place), code);
        }
        let kept = json!(["b", "A", "a", "Bristol, UK", "\"", "\\", "{}", "NULL", "😀"]);
        let answer = send(&app, &ann, &operation, "tags", &kept).await;
        assert_eq!(answer.body["tags"], kept);
    }
}

/// The fields that hold an object of the caller's own, where it is given as a whole.
fn object_fields() -> Vec<(Operation, &'static str)> {
    let fields: Vec<_> = resource_operations()
        .into_iter()
        .filter(|operation| operation.method != Method::PATCH)
        .filter_map(|operation| {
            let own = ["attributes", "metadata"];
            let field = own
                .into_iter()
                .find(|field| operation.fields().contains_key(*field))?;
            Some((operation, field))
        })
        .collect();
    assert!(fields.len() >= 4);
    fields
}

#[tokio::test]
async fn an_object_of_the_callers_own_is_bounded_in_size_depth_and_numbers() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    let nested = |levels: usize| (1..levels).fold(json!({}), |inner, _| json!({ "a": inner }));
    let sized = |bytes: usize| json!({ "a": "b".repeat(bytes - r#"{"a":""}"#.len()) });
    let max = 9_007_199_254_740_991_i64;
    for (operation, field) in object_fields() {
        for fits in [
            sized(16_384),
            json!({"a": "😀".repeat(4094)}),
            json!({"\u{fc}": "\u{fc}", "u\u{308}": "u\u{308}"}),
            nested(32),
            json!({"a": [max, -max, 0, 0.1, 1.5e-10, -1.0, 5e-324]}),
            json!({"": "", "a.b": 1, "__proto__": {}, "$ref": "#", "a": null}),
            json!({ "k".repeat(10_000): true }),
        ] {
            let answer = send(&app, &ann, &operation, field, &fits).await;
            assert_eq!(answer.body[field], fits, "{}", answer.text);
        }
        for (refused, code) in [
            (sized(16_385), "too_long"),
            (json!({"a": "😀".repeat(4095)}), "too_long"),
            (nested(33), "too_deep"),
            (json!({"a": [max + 1]}), "number_out_of_range"),
            (json!({"a": -max - 1}), "number_out_of_range"),
            (json!({"a": 1e16}), "number_out_of_range"),
            (json!({"a": u64::MAX}), "number_out_of_range"),
        ] {
            let answer = send(&app, &ann, &operation, field, &refused).await;
            let found = answer.error_at(422, "invalid_body", &format!("#/{field}"));
            assert_eq!(found, code);
        }
    }
}

/// Any JSON that fits.
fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-9_007_199_254_740_991_i64..=9_007_199_254_740_991).prop_map(Value::from),
        any::<f64>()
            .prop_filter("in range", |float| float.abs() < 9.0e15 && *float != 0.0)
            .prop_map(Value::from),
        "[^\\x00]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[^\\x00]{0,4}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

#[tokio::test]
async fn an_object_of_the_callers_own_comes_back_equal() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    let mut runner = TestRunner::deterministic();
    for _ in 0..50 {
        let value = json_value()
            .new_tree(&mut runner)
            .expect("a value")
            .current();
        let value = json!({ "a": value });
        for (operation, field) in object_fields() {
            let answer = send(&app, &ann, &operation, field, &value).await;
            assert_eq!(answer.body[field], value, "{}", answer.text);
            if answer.status == 201 {
                let read = app.get(answer.header("location")).await.expect(200);
                assert_eq!(read.text, answer.text);
            }
        }
    }
}

#[tokio::test]
async fn no_key_of_an_object_is_special() {
    let app = App::start().await;
    let raw = "$serde_json::private::RawValue";
    let attributes = json!({"keep": {raw: "{\"injected\":true}"}, "other": {raw: "not json"}});
    let body = json!({"name": "Ann", "attributes": attributes});
    let created = app.post("/api/v1/members", body).await.expect(201);
    assert_eq!(created.body["attributes"], attributes);
    let path = created.header("location").to_owned();
    assert_eq!(app.get(&path).await.expect(200).text, created.text);
    let refused = app
        .post("/api/v1/members", json!({raw: "{\"name\":\"x\"}"}))
        .await;
    refused.problem(422, "invalid_body");

    // Text in text in text, each as deep as one may be.
    let mut bomb = "1".to_owned();
    for _ in 0..8 {
        let (open, close) = ("[".repeat(124), "]".repeat(124));
        bomb = format!("{open}{{{:?}:{}}}{close}", raw, json!(bomb));
    }
    let body = format!("{{\"name\":\"x\",\"attributes\":{{\"a\":{bomb}}}}}");
    let request = app.request(Method::POST, "/api/v1/members");
    let request = request
        .header("content-type", "application/json")
        .body(body);
    request
        .send()
        .await
        .error_at(422, "invalid_body", "#/attributes");
    app.get(&path).await.expect(200);
}
