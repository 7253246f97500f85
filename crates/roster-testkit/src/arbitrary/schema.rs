//! Random schemas of users, with indexes of declared and built-in members.
//!
//! A literal of a random filter must be valid whatever is declared, so only `attributes.d` may be
//! declared as a time.

use proptest::{
    arbitrary::any,
    option,
    sample::{select, subsequence},
    strategy::{BoxedStrategy, Strategy},
};
use serde_json::{Value, json};

fn likely(strategy: impl Strategy<Value = Value>) -> impl Strategy<Value = Option<Value>> {
    option::weighted(0.8, strategy)
}

/// The body of a replacement of the schema.
pub fn schema() -> BoxedStrategy<Value> {
    let built_in = subsequence(vec!["locale", "title", "nickname"], 0..3);
    let indexed = || select(&[true, true, true, false][..]);
    let flags = || (indexed(), select(&[false, false, false, true][..]));
    let text = (flags(), any::<bool>()).prop_map(|((indexed, unique), case_exact)| {
        json!({"name": "t", "type": "string", "indexed": indexed, "unique": unique,
               "case_exact": case_exact})
    });
    let number = (flags(), select(&["number", "integer"][..])).prop_map(
        |((indexed, unique), value_type)| {
            json!({"name": "n", "type": value_type, "indexed": indexed, "unique": unique})
        },
    );
    // Users have lists here.
    let many = (indexed(), indexed()).prop_map(|(indexed, multi_valued)| {
        json!({"name": "m", "type": "string", "multi_valued": multi_valued, "indexed": indexed})
    });
    let time =
        indexed().prop_map(|indexed| json!({"name": "d", "type": "date_time", "indexed": indexed}));
    // Users have values of any type here.
    let other = (select(&["string", "number", "boolean"][..]), indexed()).prop_map(
        |(value_type, indexed)| json!({"name": "a", "type": value_type, "indexed": indexed}),
    );
    let declared = (likely(text), likely(number), likely(many), likely(time), option::of(other));
    (declared, built_in)
        .prop_map(|((text, number, many, time, other), built_in)| {
            let attributes: Vec<Value> =
                [text, number, many, time, other].into_iter().flatten().collect();
            json!({"attributes": attributes, "indexed_members": built_in})
        })
        .boxed()
}
