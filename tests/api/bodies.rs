//! Request bodies that are refused, on every operation that takes one.

use hyper::header::CONTENT_TYPE;
use serde_json::{Map, Value, json};

use crate::kit::{
    Answer, App,
    document::{DOCUMENT, Operation, Subject, resource_operations, writing_operations},
};

async fn send(
    app: &App,
    subject: &Subject,
    operation: &Operation,
    content_type: Option<&str>,
    body: impl Into<bytes::Bytes>,
) -> Answer {
    let mut request = operation.request(app, subject).body(body);
    if let Some(content_type) = content_type {
        request = request.header(CONTENT_TYPE.as_str(), content_type);
    }
    request.send().await
}

async fn send_json(app: &App, subject: &Subject, operation: &Operation, body: &Value) -> Answer {
    send_text(app, subject, operation, body.to_string()).await
}

async fn send_text(
    app: &App,
    subject: &Subject,
    operation: &Operation,
    body: impl Into<bytes::Bytes>,
) -> Answer {
    send(app, subject, operation, operation.media_type(), body).await
}

/// The places and codes of a problem's errors.
fn errors(problem: &Value) -> Vec<(&str, &str)> {
    problem["errors"]
        .as_array()
        .expect("errors")
        .iter()
        .map(|error| {
            let pointer = error["pointer"].as_str().expect("a pointer");
            (pointer, error["code"].as_str().expect("a code"))
        })
        .collect()
}

/// Text that only repeats what was sent may be long; what the service says must not be Rust.
fn assert_plain(problem: &Value) {
    let text = problem.to_string();
    for word in ["struct ", "enum ", "tuple", "::", "Option<"] {
        assert!(!text.contains(word), "{word} in {text}");
    }
}

#[tokio::test]
async fn what_is_not_one_json_document_in_utf_8_is_malformed() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for operation in writing_operations() {
        let example = Value::Object(operation.example()).to_string();
        let utf_16: Vec<u8> = example.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let bodies: Vec<Vec<u8>> = vec![
            b"".to_vec(),
            b" \n".to_vec(),
            b"{".to_vec(),
            example.as_bytes()[..example.len() - 1].to_vec(),
            example.replace(':', "=").into_bytes(),
            example.replace('"', "'").into_bytes(),
            example.replacen('}', ",}", 1).into_bytes(),
            format!("{example}{example}").into_bytes(),
            format!("{example}\n{example}").into_bytes(),
            format!("{example},").into_bytes(),
            format!("/* why */ {example}").into_bytes(),
            format!("\u{feff}{example}").into_bytes(),
            format!("\u{c}{example}").into_bytes(),
            [b"{\"a\": \"", &[0xff][..], b"\"}"].concat(),
            [b"{\"", &[0xc3, 0x28][..], b"\": 1}"].concat(),
            // A surrogate in UTF-8, and one of a pair in an escape.
            [b"{\"a\": \"", &[0xed, 0xa0, 0x80][..], b"\"}"].concat(),
            br#"{"a": "\ud83d"}"#.to_vec(),
            br#"{"a": "\ude00\ud83d"}"#.to_vec(),
            br#"{"a": "\x"}"#.to_vec(),
            b"{\"a\": \"\n\"}".to_vec(),
            br#"{"a": NaN}"#.to_vec(),
            br#"{"a": 01}"#.to_vec(),
            br#"{"a": +1}"#.to_vec(),
            b"{a: 1}".to_vec(),
            "[".repeat(100_000).into_bytes(),
            utf_16,
        ];
        for body in bodies {
            let shown = String::from_utf8_lossy(&body[..body.len().min(200)]).into_owned();
            let answer = send_text(&app, &ann, &operation, body).await;
            assert_eq!(answer.status, 400, "{}: {shown}", operation.name());
            let problem = answer.problem(400, "malformed_json");
            assert_eq!(problem["errors"], json!([]), "{shown}");
            assert_plain(&problem);
        }
    }
}

#[tokio::test]
async fn a_body_that_is_not_an_object_is_invalid() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for operation in writing_operations() {
        let example = operation.example();
        // The fields in the order in which they are declared, which a decoder may take for an object.
        let in_order = |with: &dyn Fn(&str, &Value) -> Value| -> Value {
            let fields = operation.fields().iter();
            fields.map(|(name, schema)| with(name, schema)).collect()
        };
        let nulls = in_order(&|name, _| example.get(name).cloned().unwrap_or_default());
        let declared = json!([null, null, "x", null, null, "active", [], {}]);
        let mut bodies = vec![
            json!(null),
            json!(true),
            json!(1),
            json!("text"),
            json!({ "body": 1 })["body"].clone(),
        ];
        if !operation.takes_a_list() {
            bodies.extend([json!([]), json!([example]), nulls, declared]);
            for length in 1..=20 {
                bodies.push(vec![Value::Null; length].into());
                bodies.push(vec![json!("x"); length].into());
            }
        }
        for body in bodies {
            let problem = send_json(&app, &ann, &operation, &body).await;
            let problem = problem.problem(422, "invalid_body");
            assert_eq!(errors(&problem), [("#", "invalid")], "{body}");
            assert_plain(&problem);
        }
    }
}

/// What a field may be given, most of it of a wrong type for most fields.
fn candidates(schema: &Value) -> Vec<Value> {
    let mut candidates = vec![
        json!(null),
        json!(true),
        json!(0),
        json!(-1.5),
        json!("no such thing"),
        json!(""),
        json!([]),
        json!([null]),
        json!([[1]]),
        json!(["a", 1]),
        json!({}),
        json!({"": null}),
        json!({"a": 1}),
        json!({"$serde_json::private::Number": "1"}),
    ];
    for word in words(schema) {
        candidates.extend([
            json!({ &word: null }),
            json!([&word]),
            json!(word.to_uppercase()),
            json!(format!("{word} ")),
        ]);
    }
    candidates
}

/// The closed list that a schema has, by reference or directly.
fn words(schema: &Value) -> Vec<String> {
    let schema = resolve(schema);
    let own = schema["enum"].as_array().into_iter().flatten();
    let own = own.filter_map(Value::as_str).map(str::to_owned);
    let parts = ["oneOf", "anyOf", "allOf"]
        .iter()
        .flat_map(|key| schema[*key].as_array().into_iter().flatten());
    own.chain(parts.flat_map(words)).collect()
}

fn resolve(schema: &Value) -> &Value {
    match schema["$ref"].as_str() {
        Some(reference) => DOCUMENT
            .pointer(reference.trim_start_matches('#'))
            .expect("the schema"),
        None => schema,
    }
}

fn validator(schema: &Value) -> jsonschema::Validator {
    let schema = json!({"allOf": [schema], "components": DOCUMENT["components"]});
    jsonschema::options()
        .should_validate_formats(true)
        .build(&schema)
        .expect("a schema")
}

#[tokio::test]
async fn a_field_of_a_wrong_type_is_named() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for operation in resource_operations() {
        for (field, schema) in operation.fields() {
            let validator = validator(schema);
            let mut refused = 0;
            for candidate in candidates(schema) {
                if validator.is_valid(&candidate) {
                    continue;
                }
                refused += 1;
                let mut body = operation.example();
                body.insert(field.clone(), candidate.clone());
                let answer = send_json(&app, &ann, &operation, &body.into()).await;
                let shown = format!("{}: {field} = {candidate}", operation.name());
                assert_eq!(answer.status, 422, "{shown}: {}", answer.text);
                let problem = answer.problem(422, "invalid_body");
                let [(pointer, _)] = errors(&problem)[..] else {
                    panic!("{shown}: {problem}");
                };
                let place = format!("#/{field}");
                let below = pointer.strip_prefix(&place);
                assert!(
                    below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
                    "{shown}: {problem}"
                );
                assert_plain(&problem);
            }
            assert!(refused >= 5, "{}: {field}", operation.name());
        }
    }
}

#[tokio::test]
async fn a_missing_field_is_named() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for operation in writing_operations() {
        let Some(required) = operation.body()["required"].as_array() else {
            assert_eq!(operation.method, "PATCH");
            continue;
        };
        assert!(!required.is_empty());
        for field in required {
            let field = field.as_str().expect("a name");
            let mut body = operation.example();
            body.remove(field);
            let answer = send_json(&app, &ann, &operation, &body.into()).await;
            let code = answer.error_at(422, "invalid_body", &format!("#/{field}"));
            assert_eq!(code, "required");
        }
    }
}

#[tokio::test]
async fn an_unknown_field_is_named() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for operation in writing_operations() {
        for (field, step) in [
            ("nme", "nme"),
            ("", ""),
            ("Name", "Name"),
            ("id", "id"),
            ("version", "version"),
            ("a/b~c", "a~1b~0c"),
            ("ü 😀%\"#", "%C3%BC%20%F0%9F%98%80%25%22%23"),
            ("\0\r\n", "%00%0D%0A"),
            ("__proto__", "__proto__"),
        ] {
            let mut body = operation.example();
            body.insert(field.to_owned(), Value::Null);
            let answer = send_json(&app, &ann, &operation, &body.into()).await;
            let code = answer.error_at(422, "invalid_body", &format!("#/{step}"));
            assert_eq!(code, "unknown");
        }
    }
}

#[tokio::test]
async fn a_repeated_field_is_named() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for operation in writing_operations() {
        let example = Value::Object(operation.example()).to_string();
        for (field, value) in operation.example() {
            // Equal or not, escaped or not: it is the same field.
            let escaped = format!("\\u{:04x}{}", field.as_bytes()[0], &field[1..]);
            for again in [
                format!("\"{field}\": {value}"),
                format!("\"{field}\": null"),
                format!("\"{escaped}\": {value}"),
            ] {
                let body = example.replacen('{', &format!("{{{again},"), 1);
                let answer = send_text(&app, &ann, &operation, body.clone()).await;
                let problem = answer.problem(422, "invalid_body");
                let place = format!("#/{field}");
                assert!(
                    errors(&problem).contains(&(place.as_str(), "repeated")),
                    "{body}: {problem}"
                );
            }
        }
    }
}

#[tokio::test]
async fn everything_that_is_wrong_is_named_at_once() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for operation in resource_operations() {
        let wrong: Map<_, _> = operation
            .fields()
            .keys()
            .map(|field| (field.clone(), json!([[0]])))
            .collect();
        let text = Value::Object(wrong).to_string();
        let again = operation.fields().keys().next().expect("a field");
        let text = text.replacen('{', &format!("{{\"nme\": 1, \"{again}\": 0,"), 1);
        let answer = send_text(&app, &ann, &operation, text).await;
        let problem = answer.problem(422, "invalid_body");
        let found = errors(&problem);
        for field in operation.fields().keys() {
            let place = format!("#/{field}");
            assert!(
                found.iter().any(|(pointer, _)| pointer.starts_with(&place)),
                "{place}: {problem}"
            );
        }
        assert!(found.contains(&("#/nme", "unknown")), "{problem}");
        let again = format!("#/{again}");
        assert!(found.contains(&(&again, "repeated")), "{problem}");
    }
}

/// A short body must not be answered with a long list.
#[tokio::test]
async fn a_hundred_errors_are_named_and_no_more() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for operation in writing_operations() {
        let body: Map<_, _> = (0..20_000)
            .map(|number| (format!("a{number}"), json!(1)))
            .collect();
        let answer = send_json(&app, &ann, &operation, &body.into()).await;
        let problem = answer.problem(422, "invalid_body");
        assert_eq!(errors(&problem).len(), 100);

        let mut body = operation.example();
        body.insert("tags".to_owned(), json!("x".repeat(500_000)));
        let answer = send_json(&app, &ann, &operation, &body.into()).await;
        assert!(answer.text.len() < 2_000, "{} bytes", answer.text.len());
        answer.error_at(422, "invalid_body", "#/tags");
    }
}
