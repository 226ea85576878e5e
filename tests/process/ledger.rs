//! The events of one mail record, reported by many at once while the program is killed.

use std::{
    collections::BTreeSet,
    net::SocketAddr,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::kit::{
    Folder, Process, Random, get,
    ledger::{TYPES, folded, said},
    send, until,
};

const WRITERS: usize = 50;
const EVENTS: usize = 300;

/// Events of all types at few times, of which none is the repetition of another. Every other one has an id.
fn events(random: &mut Random) -> Vec<Value> {
    let mut all = BTreeSet::new();
    while all.len() < EVENTS {
        let mut event = json!({
            "type": TYPES[random.below(TYPES.len())],
            "occurred_at": format!("2026-01-01T00:00:{:02}.000000Z", random.below(20)),
        });
        if random.below(2) == 0 {
            event["diagnostic"] = json!(format!("said {}", random.below(3)));
        }
        if all.len().is_multiple_of(2) {
            event["provider_event_id"] = json!(format!("e-{}", all.len()));
        }
        all.insert(event.to_string());
    }
    let parse = |event: &String| serde_json::from_str(event).expect("JSON");
    all.iter().map(parse).collect()
}

/// What the writers share.
struct Ledger {
    /// Where the program listens; another place after each start.
    address: Mutex<SocketAddr>,
    path: String,
    acknowledged: AtomicUsize,
}

impl Ledger {
    /// Reports all of these, each until it is acknowledged; answers the ids that were told.
    fn report(&self, mut events: &[Value], random: &mut Random) -> Vec<String> {
        let mut ids = Vec::new();
        while !events.is_empty() {
            let count = events.len().min(1 + random.below(3));
            let (now, later) = events.split_at(count);
            let body = match now {
                [alone] if random.below(2) == 0 => alone.clone(),
                several => json!(several),
            };
            let answer = self.until_answered(&body);
            let told = match answer["data"].as_array() {
                Some(told) => told.iter().collect(),
                None => vec![&answer],
            };
            assert_eq!(told.len(), count, "{answer}");
            let told = told.iter().map(|event| event["id"].as_str());
            ids.extend(told.map(|id| id.expect("an id").to_owned()));
            self.acknowledged.fetch_add(count, Ordering::Relaxed);
            events = later;
        }
        ids
    }

    fn until_answered(&self, body: &Value) -> Value {
        loop {
            let address = *self.address.lock().expect("an address");
            match send(address, "POST", &self.path, body) {
                Ok((200 | 201, answer)) => return answer,
                Ok((503, _)) | Err(_) => thread::sleep(Duration::from_millis(10)),
                Ok((status, answer)) => panic!("{status}: {answer}"),
            }
        }
    }

    fn until_acknowledged(&self, count: usize) {
        until("events are acknowledged", || {
            self.acknowledged.load(Ordering::Relaxed) >= count
        });
    }
}

fn all_events(address: SocketAddr, path: &str) -> Vec<Value> {
    let mut all = Vec::new();
    let mut page = format!("{path}?limit=100");
    loop {
        let (status, body) = get(address, &page);
        assert_eq!(status, 200, "{body}");
        all.extend(body["data"].as_array().expect("rows").iter().cloned());
        let Some(cursor) = body["page"]["next_cursor"].as_str() else {
            return all;
        };
        page = format!("{path}?limit=100&cursor={cursor}");
    }
}

#[test]
fn no_event_is_lost_or_doubled_and_the_status_is_theirs_though_the_program_is_killed() {
    let folder = Folder::new();
    let (process, address) = Process::serve(&folder, &[]);
    let create = |path: &str, body| {
        let (status, body) = send(address, "POST", path, &body).expect("an answer");
        assert_eq!(status, 201, "{body}");
        format!("{path}/{}", body["id"].as_str().expect("an id"))
    };
    let ann = json!({"name": "Ann", "email": "ann@example.org"});
    let member = create("/api/v1/members", ann);
    let record = create(&format!("{member}/mail-records"), json!({"subject": "Hi"}));
    let ledger = Ledger {
        address: Mutex::new(address),
        path: format!("{record}/events"),
        acknowledged: AtomicUsize::new(0),
    };

    let mut random = Random::new(23);
    let events = events(&mut random);
    let mut reports = [events.clone(), events.clone(), events.clone()].concat();
    random.shuffle(&mut reports);
    let mut process = Some(process);
    let acknowledged: BTreeSet<_> = thread::scope(|scope| {
        let writers: Vec<_> = reports
            .chunks(reports.len() / WRITERS)
            .zip(1..)
            .map(|(reports, seed)| {
                let ledger = &ledger;
                scope.spawn(move || ledger.report(reports, &mut Random::new(seed)))
            })
            .collect();
        assert_eq!(writers.len(), WRITERS);
        for share in [4, 2] {
            ledger.until_acknowledged(reports.len() / share);
            let killed = process.take().expect("a process");
            killed.signal("KILL");
            drop(killed);
            let (again, address) = Process::serve(&folder, &[]);
            process = Some(again);
            *ledger.address.lock().expect("an address") = address;
        }
        let told = writers
            .into_iter()
            .map(|writer| writer.join().expect("a writer"));
        told.flatten().collect()
    });

    let address = *ledger.address.lock().expect("an address");
    let stored = all_events(address, &ledger.path);
    let ids: BTreeSet<_> = stored
        .iter()
        .map(|event| event["id"].as_str().expect("an id").to_owned())
        .collect();
    // One more: the event that the record was created with.
    assert_eq!(ids.len(), EVENTS + 1);
    assert_eq!(stored.len(), EVENTS + 1);
    assert!(acknowledged.is_subset(&ids));
    assert_eq!(acknowledged.len(), EVENTS);
    for event in &events {
        let fields = event.as_object().expect("fields");
        let same = |stored: &&Value| fields.iter().all(|(field, value)| stored[field] == *value);
        assert!(stored.iter().any(|stored| same(&stored)), "{event}");
    }
    let (_, read) = get(address, &record);
    assert_eq!(said(&read), folded(&stored));
}
