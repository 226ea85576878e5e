//! What becomes of each item of a batch.

use serde_json::{Value, json};

use super::{MAIL_BATCH, MEMBERS, MEMBERS_BATCH, count, post, problem, statuses};
use crate::kit::{App, document::Subject};

#[tokio::test]
async fn each_member_is_created_or_refused_by_itself_in_the_order_of_the_request() {
    let app = App::start().await;
    app.member("ann").await;
    let keyed = json!({"name": "Key", "external_id": "key"});
    app.post(MEMBERS, keyed.clone()).await.created();
    let answer = post(
        &app,
        MEMBERS_BATCH,
        &json!([
            {"name": "First"},
            {"name": "Taken", "email": "ANN@example.org"},
            {"name": "Wrong", "email": "nobody"},
            keyed,
            {"name": "Second", "email": "second@example.org", "tags": ["board"]},
            1,
            {"name": "Unknown", "nickname": "x"},
        ]),
    )
    .await
    .expect(200);

    assert_eq!(statuses(&answer), [201, 409, 422, 409, 201, 422, 422]);
    assert_eq!(
        (&answer.body["created"], &answer.body["failed"]),
        (&json!(2), &json!(5))
    );
    let results = answer.body["results"].as_array().expect("results");
    for (index, name) in [(0, "First"), (4, "Second")] {
        let member = &results[index]["member"];
        assert_eq!(member["name"], name);
        let id = member["id"].as_str().expect("an id");
        assert_eq!(results[index]["id"], id);
        assert_eq!(results[index]["version"], 1);
        assert_eq!(
            &app.get(&format!("{MEMBERS}/{id}")).await.expect(200).body,
            member
        );
    }
    assert_eq!(problem(&results[1]), ("email_taken", "#/items/1/email"));
    assert_eq!(problem(&results[2]), ("invalid_body", "#/items/2/email"));
    assert_eq!(
        problem(&results[3]),
        ("external_id_taken", "#/items/3/external_id")
    );
    assert_eq!(problem(&results[5]), ("invalid_body", "#/items/5"));
    assert_eq!(problem(&results[6]), ("invalid_body", "#/items/6/nickname"));
    assert_eq!(count(&app, MEMBERS).await, 4);
}

#[tokio::test]
async fn each_mail_record_is_created_found_or_refused_by_itself() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    let bob = app
        .post(MEMBERS, json!({"name": "Bob"}))
        .await
        .expect(201)
        .body;
    let records = format!("{}/mail-records", ann.member);
    let standing = json!({"subject": "Hi", "external_id": "one"});
    let standing_id = app.post(&records, standing.clone()).await.expect(201).body["id"].clone();
    let unknown = uuid::Uuid::now_v7();
    let of_ann = |mut record: Value| {
        record["member_id"] = json!(ann.member_id);
        record
    };
    let answer = post(
        &app,
        MAIL_BATCH,
        &json!([
            of_ann(json!({"subject": "New", "retry_of": ann.mail_record_id})),
            of_ann(standing),
            of_ann(json!({"subject": "Other", "external_id": "one"})),
            {"subject": "Hi", "member_id": unknown},
            {"subject": "Hi", "member_id": bob["id"]},
            {"subject": "Hi", "member_id": bob["id"], "recipient": "bob@example.org"},
            {"subject": "Hi", "member_id": bob["id"], "recipient": "bob@example.org",
             "retry_of": ann.mail_record_id},
            {"subject": "Hi"},
            {"subject": "Hi", "member_id": 1, "tags": ["a", ""]},
        ]),
    )
    .await
    .expect(200);

    assert_eq!(
        statuses(&answer),
        [201, 200, 409, 404, 422, 201, 422, 422, 422]
    );
    assert_eq!(
        (&answer.body["created"], &answer.body["failed"]),
        (&json!(2), &json!(6))
    );
    let results = answer.body["results"].as_array().expect("results");
    assert_eq!(results[0]["mail_record"]["retry_of"], ann.mail_record_id);
    assert_eq!(results[0]["mail_record"]["recipient"], "ann@example.org");
    assert_eq!(results[1]["mail_record"]["id"], standing_id);
    assert_eq!(
        problem(&results[2]),
        ("external_id_taken", "#/items/2/external_id")
    );
    assert_eq!(
        problem(&results[3]),
        ("member_not_found", "#/items/3/member_id")
    );
    assert_eq!(
        problem(&results[4]),
        ("invalid_body", "#/items/4/recipient")
    );
    assert_eq!(results[5]["mail_record"]["recipient"], "bob@example.org");
    assert_eq!(problem(&results[6]), ("invalid_body", "#/items/6/retry_of"));
    assert_eq!(
        problem(&results[7]),
        ("invalid_body", "#/items/7/member_id")
    );
    let errors = results[8]["problem"]["errors"].as_array().expect("errors");
    let pointers: Vec<_> = errors
        .iter()
        .map(|error| error["pointer"].as_str())
        .collect();
    assert_eq!(
        pointers,
        [Some("#/items/8/member_id"), Some("#/items/8/tags/1")]
    );
    for index in [0, 5] {
        let record = &results[index]["mail_record"];
        let (member_id, id) = (record["member_id"].as_str(), record["id"].as_str());
        let (member_id, id) = (member_id.expect("an id"), id.expect("an id"));
        let path = format!("{MEMBERS}/{member_id}/mail-records/{id}");
        assert_eq!(&app.get(&path).await.expect(200).body, record);
    }
}

/// What is created in a batch is what is created by itself, and is refused for the same reasons.
#[tokio::test]
async fn an_item_is_taken_as_it_is_by_itself() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    let taken = json!({"name": "x", "email": "ann@example.org", "external_id": "taken"});
    app.put(&ann.member, taken.clone()).await.expect(200);
    let records = format!("{}/mail-records", ann.member);
    let full_record = json!({
        "recipient": "Ann@Example.org", "sender": "a@club.example", "subject": "\u{fc}", "category": "marketing",
        "tags": ["b", "a\"{}\\"], "metadata": {"a": [1, 1.5, 1e-7, {"$b": null}]}, "message_id": "1@club",
        "provider": "p", "provider_message_id": "1", "external_id": "e", "status": "delivered",
        "status_at": "2024-05-01T12:00:00.123456+02:00", "status_reason": "250\nOK",
    });
    let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
    for (single, batch, item) in [
        (MEMBERS, MEMBERS_BATCH, json!({"name": "Ann"})),
        (
            MEMBERS,
            MEMBERS_BATCH,
            json!({
                "name": "A\u{308}nn \"'\\", "birth": "1970-01-01", "joined": "1997-05-19", "status": "pending",
                "tags": ["b", "a", "NULL", "\"{}\\"],
                "attributes": {"a": [1, 1.5, 1e-7, -0.0, {"$b": null}], "\u{e9}": "\u{1f600}"},
            }),
        ),
        (MEMBERS, MEMBERS_BATCH, taken),
        (
            MEMBERS,
            MEMBERS_BATCH,
            json!({"nmae": 1, "email": "x", "tags": ["a", "a"], "status": []}),
        ),
        (
            MEMBERS,
            MEMBERS_BATCH,
            json!({"name": "Ann", "attributes": {"a": deep}}),
        ),
        (MEMBERS, MEMBERS_BATCH, json!([])),
        (MEMBERS, MEMBERS_BATCH, json!({"name": "A\0"})),
        (&records, MAIL_BATCH, json!({"subject": "Hi"})),
        (&records, MAIL_BATCH, full_record),
        (
            &records,
            MAIL_BATCH,
            json!({"subject": 1, "recipient": "x", "status": {"sent": null}, "x": 1}),
        ),
    ] {
        // By itself last: what was created first has its keys.
        let mut in_batch = item.clone();
        if batch == MAIL_BATCH {
            in_batch["member_id"] = json!(ann.member_id);
        }
        let answer = post(&app, batch, &json!([in_batch])).await.expect(200);
        let result = &answer.body["results"][0];
        let row = row(&app, single, result).await;
        if let Some(id) = result["id"].as_str() {
            app.delete(&format!("{single}/{id}")).await.expect(204);
        }
        let alone = app.post(single, item.clone()).await;
        assert_eq!(
            result["status"],
            alone.status.as_u16(),
            "{item}: {}",
            answer.text
        );
        if alone.status == 201 {
            let name = if batch == MAIL_BATCH {
                "mail_record"
            } else {
                "member"
            };
            assert_eq!(without_chance(&result[name]), without_chance(&alone.body));
            assert_eq!(row, self::row(&app, single, &alone.body).await);
            continue;
        }
        let problem = &result["problem"];
        for member in ["type", "code", "title", "status"] {
            assert_eq!(problem[member], alone.body[member], "{item}");
        }
        let errors = problem["errors"].as_array().expect("errors");
        let in_place = |error: &Value| {
            let pointer = error["pointer"].as_str().expect("a pointer");
            pointer.starts_with("#/items/0")
        };
        assert!(
            !errors.is_empty() && errors.iter().all(in_place),
            "{problem}"
        );
        let count = alone.body["errors"].as_array().expect("errors").len();
        assert_eq!(errors.len(), count.max(1), "{problem}");
    }
}

/// All columns of what was created, those that no answer shows too.
async fn row(app: &App, collection: &str, created: &Value) -> Value {
    let rows = if collection == MEMBERS {
        "SELECT to_jsonb(r) FROM members r WHERE id::text = $1"
    } else {
        "SELECT to_jsonb(r) FROM mail_records r WHERE id::text = $1"
    };
    let row: Option<Value> = sqlx::query_scalar(rows)
        .bind(created["id"].as_str())
        .fetch_optional(&app.pool)
        .await
        .expect("a row");
    row.map_or(Value::Null, |row| without_chance(&row))
}

fn without_chance(resource: &Value) -> Value {
    let mut resource = resource.clone();
    let fields = resource.as_object_mut().expect("an object");
    for field in ["id", "status_event_id", "created_at", "updated_at"] {
        fields.remove(field);
    }
    if fields.get("status") == Some(&json!("recorded")) {
        fields.remove("status_at");
    }
    resource
}

#[tokio::test]
async fn of_two_items_with_one_key_the_first_is_created() {
    let app = App::start().await;
    let answer = post(
        &app,
        MEMBERS_BATCH,
        &json!([
            {"name": "0", "email": "z@example.org", "external_id": "1"},
            {"name": "1", "email": "a@example.org", "external_id": "1"},
            {"name": "2", "email": "Z@EXAMPLE.org"},
            {"name": "3", "email": "a@example.org"},
        ]),
    )
    .await
    .expect(200);
    // The second was refused, so that nobody had its address when the fourth came.
    assert_eq!(statuses(&answer), [201, 409, 409, 201]);
    let results = &answer.body["results"];
    assert_eq!(
        problem(&results[1]),
        ("external_id_taken", "#/items/1/external_id")
    );
    assert_eq!(problem(&results[2]), ("email_taken", "#/items/2/email"));

    let ann = app.member("ann").await;
    let id = ann.rsplit('/').next().expect("an id");
    let record = |subject: &str| json!({"member_id": id, "subject": subject, "external_id": "1"});
    let items = json!([record("z"), record("a"), record("z")]);
    let answer = post(&app, MAIL_BATCH, &items).await.expect(200);
    assert_eq!(statuses(&answer), [201, 409, 200]);
    let results = &answer.body["results"];
    assert_eq!(results[0]["mail_record"]["subject"], "z");
    assert_eq!(results[2]["mail_record"], results[0]["mail_record"]);
}

#[tokio::test]
async fn an_atomic_batch_is_written_as_a_whole_or_not_at_all() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    for (path, good, bad, place) in [
        (
            MEMBERS_BATCH,
            json!({"name": "Good"}),
            json!({"name": "Bad", "email": "ann@example.org"}),
            "email",
        ),
        (
            MAIL_BATCH,
            json!({"member_id": ann.member_id, "subject": "Good"}),
            json!({"member_id": uuid::Uuid::now_v7(), "subject": "Bad"}),
            "member_id",
        ),
    ] {
        let list = if path == MEMBERS_BATCH {
            MEMBERS
        } else {
            "/api/v1/mail-records"
        };
        let before = count(&app, list).await;
        let atomic = format!("{path}?atomic=true");
        let refused = post(&app, &atomic, &json!([good, bad, {}, good, 1])).await;
        let problem = refused.problem(422, "batch_refused");
        let errors = problem["errors"].as_array().expect("errors");
        let pointers: Vec<_> = errors
            .iter()
            .filter_map(|error| error["pointer"].as_str())
            .collect();
        assert_eq!(pointers[0], format!("#/items/1/{place}"));
        assert!(pointers[1].starts_with("#/items/2/"), "{problem}");
        assert_eq!(pointers.last(), Some(&"#/items/4"));
        assert_eq!(
            problem["detail"],
            "3 of 5 items cannot be written, so none was."
        );
        assert_eq!(count(&app, list).await, before);

        let many = Value::Array(vec![bad.clone(); 101]);
        let refused = post(&app, &atomic, &many)
            .await
            .problem(422, "batch_refused");
        assert_eq!(refused["errors"].as_array().map(Vec::len), Some(100));

        let written = post(&app, &atomic, &json!([good, good])).await.expect(200);
        assert_eq!(statuses(&written), [201, 201]);
        assert_eq!(count(&app, list).await, before + 2);
        let each = post(&app, &format!("{path}?atomic=false"), &json!([good, bad]))
            .await
            .expect(200);
        assert_eq!(each.body["created"], 1);
    }
    for flag in ["TRUE", "1", ""] {
        let request = post(&app, &format!("{MEMBERS_BATCH}?atomic={flag}"), &json!([])).await;
        request.error_at(400, "invalid_parameter", "atomic");
    }
}
