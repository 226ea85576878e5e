//! Cursors: for which list they are good.

use crate::kit::{
    App,
    document::Subject,
    lists::{fill, lists},
};

const MEMBERS: &str = "/api/v1/members";

#[tokio::test]
async fn cursors_that_were_given_out_before_there_were_orders_lead_on() {
    let app = App::start().await;
    for number in 1..=5 {
        sqlx::query(
            "INSERT INTO members (id, name, joined, status) VALUES ($1, 'n', '2000-01-01', 'active')",
        )
        .bind(format!("018cc251-f400-7000-8000-00000000000{number}").parse::<uuid::Uuid>().expect("an id"))
        .execute(&app.pool)
        .await
        .expect("a member");
    }
    // Behind the third, with the filter status=active.
    let cursor = "AQGMwlH0AHAAgAAAAAAAAAOWe3BTmbdKAw";
    let path = format!("{MEMBERS}?status=active&cursor={cursor}");
    let page = app.get(&path).await.expect(200);
    let ids: Vec<_> = page.ids().iter().map(|id| id[35..].to_owned()).collect();
    assert_eq!(ids, ["2", "1"]);
    let back = page.link("prev").expect("a link");
    let ids: Vec<_> = app
        .get(&back)
        .await
        .expect(200)
        .ids()
        .iter()
        .map(|id| id[35..].to_owned())
        .collect();
    assert_eq!(ids, ["5", "4", "3"]);
    for other in ["", "status=active&sort=-created_at&", "status=ended&"] {
        let refused = app.get(&format!("{MEMBERS}?{other}cursor={cursor}")).await;
        assert_eq!(
            refused.error_at(400, "invalid_parameter", "cursor"),
            "invalid_cursor"
        );
    }
}

/// Where a time narrows the list, newest first was by id too.
#[tokio::test]
async fn cursors_of_the_order_of_ids_lead_on_where_another_order_is_usual_now() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    app.delete(&ann.mail_record).await.expect(204);
    // Those that have the greater id were created earlier.
    for number in 1..=5 {
        sqlx::query(
            "INSERT INTO mail_records (member_id, id, recipient, recipient_folded, subject, created_at)
             VALUES ($1, $2, 'a@example.org', 'a@example.org', '', '2026-01-01T00:00:00Z'::timestamptz - $3 * interval '1 day')",
        )
        .bind(ann.member_id.parse::<uuid::Uuid>().expect("an id"))
        .bind(format!("018cc252-3e31-7000-8001-00000000000{number}").parse::<uuid::Uuid>().expect("an id"))
        .bind(number)
        .execute(&app.pool)
        .await
        .expect("a mail record");
    }
    let list = "/api/v1/mail-records?created_from=2000-01-01T00:00:00Z&limit=2";
    let numbers = |page: crate::kit::Answer| -> Vec<_> {
        page.ids().iter().map(|id| id[35..].to_owned()).collect()
    };
    let newest = app.get(list).await.expect(200);
    let next = newest.link("next").expect("a link");
    assert_eq!(numbers(newest), ["1", "2"]);
    assert_eq!(numbers(app.get(&next).await.expect(200)), ["3", "4"]);

    // Behind the third.
    let old = app
        .get(&format!("{list}&cursor=AQGMwlI-MXAAgAEAAAAAAAPUaMoKVWezBA"))
        .await
        .expect(200);
    let back = old.link("prev").expect("a link");
    assert_eq!(numbers(old), ["2", "1"]);
    assert_eq!(numbers(app.get(&back).await.expect(200)), ["4", "3"]);
}

#[tokio::test]
async fn a_cursor_is_good_for_its_own_list_and_order_alone() {
    let app = App::start().await;
    let ann = Subject::create(&app).await;
    fill(&app, &ann, 3).await;
    for list in lists() {
        let path = list.path_on(&ann);
        let orders = list.orders();
        for order in &orders {
            let page = app.get(&format!("{path}?{order}limit=2")).await.expect(200);
            let cursor = page.cursor("next_cursor").expect("a cursor");
            let flipped = flipped(cursor);
            let mut refused = vec![
                format!("{order}{}&cursor={cursor}", list.filter()),
                format!("{order}cursor={}", &cursor[..cursor.len() - 1]),
                format!("{order}cursor={}", &cursor[..cursor.len() / 2]),
                format!("{order}cursor={flipped}"),
                format!("{order}cursor={cursor}A"),
            ];
            refused.extend(
                orders
                    .iter()
                    .filter(|other| *other != order)
                    .map(|other| format!("{other}cursor={cursor}")),
            );
            for query in refused {
                let answer = app.get(&format!("{path}?{query}")).await;
                assert_eq!(
                    answer.error_at(400, "invalid_parameter", "cursor"),
                    "invalid_cursor",
                    "{query}"
                );
            }
        }
    }
}

/// The cursor with one byte changed in its middle.
fn flipped(cursor: &str) -> String {
    let (front, rest) = cursor.split_at(cursor.len() / 2);
    let other = if rest.starts_with('A') { 'B' } else { 'A' };
    format!("{front}{other}{}", &rest[1..])
}
