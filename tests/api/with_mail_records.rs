//! `/api/v1/members/{member_id}/with-mail-records`

use serde_json::{Value, json};
use uuid::Uuid;

use crate::kit::{App, Settings};

#[tokio::test]
async fn a_member_is_read_together_with_the_newest_mail() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let mut newest = Vec::new();
    for number in 0..25 {
        newest.insert(0, app.mail_record(&ann, &format!("Mail {number}")).await);
    }
    let member = app.get(&ann).await.expect(200).body;

    for (query, count) in [("", 20), ("?limit=3", 3), ("?limit=500", 25)] {
        let read = app
            .get(&format!("{ann}/with-mail-records{query}"))
            .await
            .expect(200)
            .body;
        assert_eq!(read["member"], member);
        let read: Vec<_> = read["mail_records"]
            .as_array()
            .expect("records")
            .iter()
            .map(|record| format!("{ann}/mail-records/{}", record["id"].as_str().expect("id")))
            .collect();
        assert_eq!(read, newest[..count]);
    }
}

#[tokio::test]
async fn a_member_without_mail_has_an_empty_history() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let read = app
        .get(&format!("{ann}/with-mail-records"))
        .await
        .expect(200)
        .body;
    assert_eq!(read["mail_records"], serde_json::json!([]));
}

#[tokio::test]
async fn all_mail_is_summed_up() {
    let app = App::start().await;
    let ann = app.member("ann").await;
    let read = app.get(&format!("{ann}/with-mail-records")).await;
    let summary = read.expect(200).body["mail_summary"].clone();
    assert_eq!(summary["total"], 0);
    assert_eq!(summary["last_delivered_at"], Value::Null);
    assert_eq!(summary["last_failed_at"], Value::Null);
    let statuses = summary["by_status"].as_object().expect("counts");
    let statuses: Vec<_> = statuses.keys().cloned().collect();
    assert_eq!(statuses.len(), 10);

    for (number, status) in statuses.iter().enumerate() {
        for second in 0..=number {
            let at = format!("2026-01-01T00:{number:02}:{second:02}.000000Z");
            let body = json!({"subject": "Hi", "status": status, "status_at": at});
            app.post(&format!("{ann}/mail-records"), body)
                .await
                .created();
        }
    }
    let read = app.get(&format!("{ann}/with-mail-records?limit=1")).await;
    let summary = read.expect(200).body["mail_summary"].clone();
    assert_eq!(summary["total"], 55);
    for (number, status) in statuses.iter().enumerate() {
        assert_eq!(summary["by_status"][status], number + 1, "{status}");
    }
    let at = |status: &str| {
        let number = statuses
            .iter()
            .position(|other| other == status)
            .expect(status);
        format!("2026-01-01T00:{number:02}:{number:02}.000000Z")
    };
    assert_eq!(summary["last_delivered_at"], at("delivered"));
    assert_eq!(summary["last_failed_at"], at("failed").max(at("bounced")));
}

#[tokio::test]
async fn an_unknown_member_is_not_found() {
    let app = App::start().await;
    let path = format!("/api/v1/members/{}/with-mail-records", Uuid::now_v7());
    app.get(&path).await.problem(404, "member_not_found");
}

#[tokio::test]
async fn one_connection_is_enough() {
    let settings = Settings {
        connections: 1,
        ..Settings::default()
    };
    let app = App::start_with(settings).await;
    let ann = app.member("ann").await;
    app.mail_record(&ann, "Hi").await;
    let path = format!("{ann}/with-mail-records");
    let reads = (0..50).map(|_| app.get(&path));
    for read in futures_util::future::join_all(reads).await {
        assert_eq!(
            read.expect(200).body["mail_records"]
                .as_array()
                .expect("records")
                .len(),
            1
        );
    }
}

/// The two reads see two snapshots: the member is read, then she is deleted, then the mail is read.
#[tokio::test]
async fn a_member_deleted_between_the_two_reads_is_not_found() {
    // On one connection, one read follows the other.
    let settings = Settings {
        connections: 1,
        ..Settings::default()
    };
    let (app, shim) = App::start_over_shim(settings).await;
    let ann = app.member("ann").await;
    app.mail_record(&ann, "Hi").await;
    let mut sql = app.sql().await;

    // It is prepared before it is run, so it is held before it reads.
    shim.hold_at("FROM mail_records r");
    let path = format!("{ann}/with-mail-records");
    let read = app.get(&path);
    let delete = async {
        shim.held().await;
        sqlx::query("DELETE FROM members")
            .execute(&mut sql)
            .await
            .expect("deleted");
        shim.release();
    };
    let (read, ()) = tokio::join!(read, delete);
    read.problem(404, "member_not_found");
}
