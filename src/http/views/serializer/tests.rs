use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{
    super::resource::{FieldSet, Resource, Visible},
    *,
};

const LEAVES: Resource = Resource {
    name: "leaves",
    schema: "Leaf",
    fields: &["id", "a", "b", "c", "d"],
    told_by: &[],
    taken_from: &[],
};

#[derive(Debug, Clone, Serialize)]
struct Leaf {
    id: u8,
    a: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    b: Vec<i64>,
    #[serde(skip)]
    _hidden: u8,
    c: BTreeMap<String, bool>,
    d: (f64, char),
}

/// Whatever a leaf may stand in.
#[derive(Debug, Clone, Serialize)]
struct Tree {
    leaf: Leaf,
    leaves: Vec<Leaf>,
    named: BTreeMap<String, Leaf>,
    maybe: Option<Box<Leaf>>,
    pair: (u8, Leaf),
    kinds: Vec<Kind>,
    wrapped: Wrapped,
}

#[derive(Debug, Clone, Serialize)]
enum Kind {
    None,
    One(Leaf),
    Two(u8, Leaf),
    Named { leaf: Leaf, a: u8 },
}

#[derive(Debug, Clone, Serialize)]
struct Wrapped(Leaf);

fn leaf() -> impl Strategy<Value = Leaf> {
    (
        any::<u8>(),
        any::<Option<String>>(),
        prop::collection::vec(any::<i64>(), 0..2),
        prop::collection::btree_map("[a-d]", any::<bool>(), 0..3),
        any::<i32>(),
    )
        .prop_map(|(id, a, b, c, d)| Leaf {
            id,
            a,
            b,
            _hidden: 0,
            c,
            d: (f64::from(d) / 2.0, 'x'),
        })
}

fn tree() -> impl Strategy<Value = Tree> {
    prop::collection::vec(leaf(), 8).prop_map(|leaves| {
        let nth = |n: usize| leaves[n].clone();
        Tree {
            leaf: nth(0),
            leaves: leaves[..2].to_vec(),
            named: BTreeMap::from([("a".to_owned(), nth(2))]),
            maybe: Some(Box::new(nth(3))),
            pair: (1, nth(4)),
            kinds: vec![
                Kind::None,
                Kind::One(nth(5)),
                Kind::Two(2, nth(6)),
                Kind::Named { leaf: nth(7), a: 3 },
            ],
            wrapped: Wrapped(nth(1)),
        }
    })
}

/// The text of a leaf that shows these fields, put together by hand.
fn text(leaf: &Leaf, shown: FieldSet) -> String {
    let fields = [
        Some(leaf.id.to_string()),
        Some(serde_json::to_string(&leaf.a).expect("JSON")),
        (!leaf.b.is_empty()).then(|| serde_json::to_string(&leaf.b).expect("JSON")),
        Some(serde_json::to_string(&leaf.c).expect("JSON")),
        Some(serde_json::to_string(&leaf.d).expect("JSON")),
    ];
    let fields = LEAVES.fields.iter().zip(fields).enumerate();
    let fields = fields.filter(|(place, _)| shown >> place & 1 == 1);
    let fields: Vec<_> = fields
        .filter_map(|(_, (name, value))| Some(format!("\"{name}\":{}", value?)))
        .collect();
    format!("{{{}}}", fields.join(","))
}

proptest! {
    #[test]
    fn what_is_hidden_is_left_out_and_all_else_is_as_it_was(tree in tree(), set in 0..32_u64) {
        let shown = set | LEAVES.always_shown();
        let visible = Visible::of([(&LEAVES, set)]);
        let mut written = Vec::new();
        write(&mut written, &tree, &visible).expect("JSON");
        let mut wanted = serde_json::to_string(&tree).expect("JSON");
        for leaf in tree.leaves.iter().chain([&tree.leaf, &tree.named["a"]]).chain([&tree.pair.1, &tree.wrapped.0]) {
            wanted = wanted.replace(&text(leaf, LEAVES.all()), &text(leaf, shown));
        }
        if let Some(leaf) = tree.maybe.as_deref() {
            wanted = wanted.replace(&text(leaf, LEAVES.all()), &text(leaf, shown));
        }
        for kind in &tree.kinds {
            if let Kind::One(leaf) | Kind::Two(_, leaf) | Kind::Named { leaf, .. } = kind {
                wanted = wanted.replace(&text(leaf, LEAVES.all()), &text(leaf, shown));
            }
        }
        let value = to_value(&tree, &visible).expect("JSON");
        prop_assert_eq!(value, serde_json::from_str::<Value>(&wanted).expect("JSON"));
        prop_assert_eq!(String::from_utf8(written).expect("UTF-8"), wanted);
    }

    #[test]
    fn what_two_hide_is_hidden_in_both(one in 0..32_u64, other in 0..32_u64) {
        let (one, other) = (Visible::of([(&LEAVES, one)]), Visible::of([(&LEAVES, other)]));
        let both = one.and(&other);
        prop_assert_eq!(both.shown(&LEAVES), one.shown(&LEAVES) & other.shown(&LEAVES));
        prop_assert_eq!(both.tag(), other.and(&one).tag());
        prop_assert_eq!(both.tag() == one.tag(), both.shown(&LEAVES) == one.shown(&LEAVES));
    }
}

#[test]
fn a_field_is_told_by_its_name_where_the_order_is_another() {
    #[derive(Serialize)]
    struct Leaf {
        d: u8,
        unknown: u8,
        id: u8,
        a: u8,
    }

    let visible = Visible::of([(&LEAVES, LEAVES.field("a").unwrap_or_default())]);
    let leaf = Leaf {
        d: 1,
        unknown: 2,
        id: 3,
        a: 4,
    };
    let written = to_value(&leaf, &visible).expect("JSON");
    assert_eq!(written, serde_json::json!({"id": 3, "a": 4}));
}
