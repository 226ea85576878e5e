//! Whatever is suppressed, said and written of members in whatever order: what follows for each is what a
//! slow model, which keeps all of it, says.

use std::collections::{BTreeMap, BTreeSet};

use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use serde_json::{Value, json};

use crate::kit::App;

const SUPPRESSIONS: &str = "/api/v1/suppressions";
const TOPICS: [Option<&str>; 3] = [None, Some("news"), Some("offers")];
const STATES: [&str; 3] = ["granted", "pending", "withdrawn"];
const REASONS: [&str; 3] = ["hard_bounce", "unsubscribe", "complaint"];

#[derive(Debug, Clone)]
enum Step {
    /// Who, with which address, in which spelling.
    Write(usize, Option<usize>, bool),
    Delete(usize),
    Suppress(usize, usize),
    Unsuppress(usize, usize),
    /// Who, on what, what, and on which day.
    Say(usize, usize, usize, u32),
}

fn step() -> impl Strategy<Value = Step> {
    let (member, address, reason) = (0..2_usize, 0..2_usize, 0..REASONS.len());
    prop_oneof![
        2 => (member.clone(), prop::option::weighted(0.8, address.clone()), any::<bool>())
            .prop_map(|(who, address, spelling)| Step::Write(who, address, spelling)),
        1 => member.clone().prop_map(Step::Delete),
        1 => (address.clone(), reason.clone())
            .prop_map(|(address, reason)| Step::Suppress(address, reason)),
        2 => (address, reason).prop_map(|(address, reason)| Step::Unsuppress(address, reason)),
        6 => (member, 0..TOPICS.len(), 0..STATES.len(), 1..5_u32)
            .prop_map(|(who, topic, state, day)| Step::Say(who, topic, state, day)),
    ]
}

#[derive(Debug, Default)]
struct Member {
    address: Option<usize>,
    /// Topic, state and day, as they came in.
    said: Vec<(usize, usize, u32)>,
}

impl Member {
    /// What counts of what was said on a topic, or else on all: the latest, and of one day the strictest.
    fn state(&self, topic: usize) -> Option<usize> {
        let mut counts: Option<(u32, usize)> = None;
        for (on, state, day) in &self.said {
            if (*on == topic || *on == 0) && counts.is_none_or(|counts| counts < (*day, *state)) {
                counts = Some((*day, *state));
            }
        }
        counts.map(|(_, state)| state)
    }

    /// What counts today of all that she spoke of.
    fn states(&self) -> Vec<&'static str> {
        let spoken_of: BTreeSet<_> = self.said.iter().map(|(topic, ..)| *topic).collect();
        let states = spoken_of.iter().filter_map(|topic| self.state(*topic));
        states.map(|state| STATES[state]).collect()
    }

    /// Whether nothing is left that she did not refuse.
    fn refused_all(&self) -> bool {
        let states = self.states();
        !states.is_empty() && states.iter().all(|state| *state == "withdrawn")
    }
}

#[derive(Debug, Default)]
struct Model {
    members: BTreeMap<usize, Member>,
    suppressed: BTreeSet<(usize, usize)>,
}

impl Model {
    fn follow(&mut self, step: &Step) {
        match *step {
            Step::Write(who, address, _) => {
                let taken = self.members.iter().any(|(other, member)| {
                    *other != who && address.is_some() && member.address == address
                });
                if !taken {
                    self.members.entry(who).or_default().address = address;
                }
            }
            Step::Delete(who) => {
                if let Some(member) = self.members.remove(&who)
                    && member.states().contains(&"withdrawn")
                    && let Some(address) = member.address
                {
                    self.suppressed.insert((address, 1));
                }
            }
            Step::Suppress(address, reason) => {
                self.suppressed.insert((address, reason));
            }
            Step::Unsuppress(address, reason) => {
                self.suppressed.remove(&(address, reason));
            }
            Step::Say(who, topic, state, day) => {
                if let Some(member) = self.members.get_mut(&who) {
                    member.said.push((topic, state, day));
                }
            }
        }
    }

    /// Whether an address is suppressed for one of these reasons.
    fn is_suppressed(&self, address: usize, reasons: &[usize]) -> bool {
        reasons
            .iter()
            .any(|reason| self.suppressed.contains(&(address, *reason)))
    }

    fn mailability(&self, member: &Member) -> &'static str {
        match member.address {
            None => "no_address",
            Some(address) if self.is_suppressed(address, &[0, 2]) => "suppressed",
            Some(address) if self.is_suppressed(address, &[1]) || member.refused_all() => {
                "unsubscribed"
            }
            Some(_) => "ok",
        }
    }

    /// The codes of what is in the way, each once.
    fn obstacles(&self, member: &Member, topic: Option<usize>) -> BTreeSet<&'static str> {
        let (reasons, state) = match topic {
            None => (&[0, 2][..], None),
            // Who refused all that she spoke of has refused all.
            Some(0) if member.refused_all() => (&[0, 1, 2][..], Some(2)),
            Some(topic) => (&[0, 1, 2][..], member.state(topic)),
        };
        let mut codes = BTreeSet::new();
        match member.address {
            None => _ = codes.insert("no_address"),
            Some(address) if self.is_suppressed(address, reasons) => _ = codes.insert("suppressed"),
            Some(_) => {}
        }
        match state.map(|state| STATES[state]) {
            Some("withdrawn") => _ = codes.insert("consent_withdrawn"),
            Some("pending") => _ = codes.insert("consent_pending"),
            _ => {}
        }
        codes
    }
}

fn address(number: usize, upper: bool) -> String {
    let address = format!("a{number}@example.org");
    if upper {
        address.to_uppercase()
    } else {
        address
    }
}

fn path(who: usize) -> String {
    format!("/api/v1/members/by-external-id/m{who}")
}

/// The path by id, if the member is there.
async fn by_id(app: &App, who: usize) -> Option<String> {
    let member = app.get(&path(who)).await;
    let id = member.body["id"].as_str()?;
    Some(format!("/api/v1/members/{id}"))
}

async fn take(app: &App, step: &Step) {
    match *step {
        Step::Write(who, email, upper) => {
            let email = email.map(|number| address(number, upper));
            let body = json!({"name": "Ann", "email": email});
            app.put(&path(who), body).await;
        }
        Step::Delete(who) => _ = app.delete(&path(who)).await,
        Step::Suppress(number, reason) => {
            let body = json!({"address": address(number, reason == 2), "reason": REASONS[reason]});
            assert!(app.post(SUPPRESSIONS, body).await.status.is_success());
        }
        Step::Unsuppress(number, reason) => {
            let query = format!(
                "address={}&reason={}",
                address(number, false),
                REASONS[reason]
            );
            for id in app.get(&format!("{SUPPRESSIONS}?{query}")).await.ids() {
                let path = format!("{SUPPRESSIONS}/{id}?confirm=true");
                app.delete(&path).await.expect(204);
            }
        }
        Step::Say(who, topic, state, day) => {
            if let Some(member) = by_id(app, who).await {
                let body = json!({
                    "topic": TOPICS[topic], "state": STATES[state],
                    "occurred_at": format!("2026-01-{day:02}T00:00:00Z")
                });
                app.post(&format!("{member}/consents"), body)
                    .await
                    .expect(201);
            }
        }
    }
}

async fn compare(app: &App, model: &Model, taken: &[Step]) {
    for who in 0..2 {
        let found = by_id(app, who).await;
        assert_eq!(
            found.is_some(),
            model.members.contains_key(&who),
            "{taken:?}"
        );
        let (Some(path), Some(member)) = (found, model.members.get(&who)) else {
            continue;
        };
        let read = app.get(&path).await.expect(200).body;
        let word = model.mailability(member);
        assert_eq!(read["mailability"], word, "{who}: {taken:#?}");
        let listed = app
            .get(&format!("/api/v1/members?mailability={word}"))
            .await;
        assert!(
            listed
                .ids()
                .contains(&read["id"].as_str().expect("an id").to_owned())
        );
        let topics = [
            ("transactional", None),
            ("marketing", Some(0)),
            ("marketing&topic=news", Some(1)),
        ];
        for (query, topic) in topics {
            let asked = format!("{path}/mail-eligibility?category={query}");
            let answer = app.get(&asked).await.expect(200).body;
            let reasons = answer["reasons"].as_array().expect("reasons");
            let codes: BTreeSet<_> = reasons
                .iter()
                .filter_map(|reason| reason["code"].as_str())
                .collect();
            assert_eq!(
                codes,
                model.obstacles(member, topic),
                "{who}, {query}: {taken:#?}"
            );
            assert_eq!(answer["allowed"], Value::from(codes.is_empty()));
        }
    }
}

#[tokio::test]
async fn what_follows_for_a_member_is_what_the_model_says() {
    let app = App::start().await;
    let mut runner = TestRunner::new_with_rng(
        Config::default(),
        TestRng::deterministic_rng(RngAlgorithm::ChaCha),
    );
    for _ in 0..20 {
        let steps = prop::collection::vec(step(), 40);
        let steps = steps.new_tree(&mut runner).expect("steps").current();
        let mut model = Model::default();
        for (number, step) in steps.iter().enumerate() {
            take(&app, step).await;
            model.follow(step);
            compare(&app, &model, &steps[..=number]).await;
        }
        sqlx::raw_sql("DELETE FROM members; DELETE FROM suppressions")
            .execute(&app.pool)
            .await
            .expect("emptied");
    }
}
