//! Where to leave out what a view hides: the four places side by side with no shaping at all.
//!
//!     cargo bench --bench shaping
//!
//! Each round runs all of them in turn, the first another one each time, and what is told is the median of
//! the rounds' ratios: what else the machine does is then in all of them alike.

use std::{hint::black_box, time::Instant};

use member_mail::{
    app::RESOURCES,
    http::views::{Views, Visible, write},
    members::model::{Mailability, Member, MemberStatus},
    values::{Date, JsonObject, Line, Tags, Timestamp},
};
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

const PERSONS: u128 = 18_993;

fn member(number: u128) -> Member {
    let at: Timestamp = "2024-01-01T12:00:00Z".parse().expect("a time");
    let day: Date = "1970-01-01".parse().expect("a date");
    let tags: Tags = serde_json::from_str("[\"board\"]").expect("tags");
    let attributes: JsonObject = serde_json::from_str("{\"locker\": 12}").expect("an object");
    Member {
        id: Uuid::from_u128(number),
        external_id: format!("person-{number}").parse().ok(),
        email: format!("person-{number}@example.org").parse().ok(),
        name: format!("Person {number}")
            .parse::<Line<1, 200>>()
            .expect("a name"),
        birth: Some(day),
        joined: day,
        status: MemberStatus::Active,
        tags,
        attributes,
        mailability: Mailability::Ok,
        created_at: at,
        updated_at: at,
        version: 1,
    }
}

/// A type of its own for those who do not see the day of birth.
#[derive(Serialize)]
struct WithoutBirth<'a> {
    id: &'a Uuid,
    external_id: &'a Option<Line<1, 255>>,
    email: &'a Option<member_mail::values::EmailAddress>,
    name: &'a Line<1, 200>,
    joined: &'a Date,
    status: &'a MemberStatus,
    tags: &'a Tags,
    attributes: &'a JsonObject,
    mailability: &'a Mailability,
    created_at: &'a Timestamp,
    updated_at: &'a Timestamp,
    version: &'a i64,
}

impl<'a> From<&'a Member> for WithoutBirth<'a> {
    fn from(member: &'a Member) -> Self {
        Self {
            id: &member.id,
            external_id: &member.external_id,
            email: &member.email,
            name: &member.name,
            joined: &member.joined,
            status: &member.status,
            tags: &member.tags,
            attributes: &member.attributes,
            mailability: &member.mailability,
            created_at: &member.created_at,
            updated_at: &member.updated_at,
            version: &member.version,
        }
    }
}

fn plain(rows: &[Member]) -> Vec<u8> {
    let mut out = Vec::with_capacity(512);
    serde_json::to_writer(&mut out, rows).expect("JSON");
    out
}

/// The bytes are read again, and written without the field.
fn in_a_middleware(rows: &[Member]) -> Vec<u8> {
    let mut value: Value = serde_json::from_slice(&plain(rows)).expect("JSON");
    for row in value.as_array_mut().into_iter().flatten() {
        row.as_object_mut()
            .and_then(|fields| fields.remove("birth"));
    }
    serde_json::to_vec(&value).expect("JSON")
}

/// The handler takes the value out of each row, which stands there as null.
fn cleared_in_the_handler(rows: &[Member]) -> Vec<u8> {
    let mut cleared = rows.to_vec();
    for row in &mut cleared {
        row.birth = None;
    }
    plain(&cleared)
}

/// The handler answers with another type.
fn branched_in_the_handler(rows: &[Member]) -> Vec<u8> {
    let rows: Vec<_> = rows.iter().map(WithoutBirth::from).collect();
    let mut out = Vec::with_capacity(512);
    serde_json::to_writer(&mut out, &rows).expect("JSON");
    out
}

fn in_the_serializer(rows: &[Member], visible: &Visible) -> Vec<u8> {
    let mut out = Vec::with_capacity(512);
    write(&mut out, rows, visible).expect("JSON");
    out
}

fn hiding_birth() -> Visible {
    let fields = |fields: &[&str]| {
        let shown = fields.iter().filter(|field| **field != "birth");
        format!("{:?}", shown.collect::<Vec<_>>())
    };
    let lines =
        RESOURCES.map(|resource| format!("{} = {}", resource.name, fields(resource.fields)));
    let text = format!("[views.partner]\n{}", lines.join("\n"));
    let views = Views::parse(&text, &RESOURCES).expect("views");
    views.get("partner").expect("the view").clone()
}

/// Writes the answer in one of the ways.
type Way<'a> = &'a dyn Fn(&[Member]) -> Vec<u8>;

fn main() {
    let birth = hiding_birth();
    let ways: [(&str, Way<'_>); 6] = [
        ("no shaping", &plain),
        ("rewriting the bytes in a middleware", &in_a_middleware),
        ("clearing fields in the handler", &cleared_in_the_handler),
        ("branching in the handler", &branched_in_the_handler),
        ("the serializer, hiding birth", &|rows| {
            in_the_serializer(rows, &birth)
        }),
        ("the serializer, hiding nothing", &|rows| {
            in_the_serializer(rows, &Visible::EVERYTHING)
        }),
    ];
    let rows: Vec<_> = (0..PERSONS).map(member).collect();
    for (name, rows, repetitions, rounds) in [
        ("a single member", &rows[..1], 20_000, 101),
        ("a list of 18,993", &rows[..], 2, 61),
    ] {
        println!("{name}");
        let mut times = vec![Vec::new(); ways.len()];
        for round in 0..rounds {
            for turn in 0..ways.len() {
                let at = (round + turn) % ways.len();
                let start = Instant::now();
                for _ in 0..repetitions {
                    black_box(ways[at].1(black_box(rows)));
                }
                times[at].push(start.elapsed().as_secs_f64() / f64::from(repetitions));
            }
        }
        for (at, (way, _)) in ways.iter().enumerate() {
            let ratios = times[at]
                .iter()
                .zip(&times[0])
                .map(|(time, plain)| time / plain);
            let (ratio, time) = (median(ratios.collect()), median(times[at].clone()));
            println!("  {ratio:5.2}  {:10.2} µs  {way}", time * 1e6);
        }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
