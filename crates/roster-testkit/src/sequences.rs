//! Random sequences: a store and the oracle live through the same, and must answer the same.
//!
//! Compared are each outcome and refusal, every page of every walk with its position and total,
//! and at the end the whole of both: head, log and users, which the log must replay to.
#![expect(clippy::missing_panics_doc, reason = "a difference panics; that is its purpose")]

use std::sync::Arc;

use proptest::sample::Index;
use roster_core::{
    Act, Command, Draft, Json, OnConflict, Preconditions, Rules, Store, Tags, UserId,
    list::PageQuery,
};

use crate::{
    Oracle,
    arbitrary::{Held, Step, Turn},
    conformance::{
        Scene,
        scene::{Image, refused},
    },
    replay::replay,
};

/// Lets an empty store and the oracle live through these turns and compares all they say.
pub async fn compare(subject: Arc<dyn Store>, rules: Rules, turns: Vec<Turn>) {
    let mut pair = Pair {
        oracle: Scene::new(Arc::new(Oracle::new(rules))),
        subject: Scene::new(subject),
        known: Vec::new(),
    };
    for turn in turns {
        match turn {
            Turn::Writes(steps) => pair.write(steps).await,
            Turn::Elapse(millis) => pair.oracle.clock.step(millis),
            Turn::Walk(question) => pair.walk(question.query(&pair.known)).await,
        }
    }
    let image = pair.subject.image().await;
    assert_eq!(image, pair.oracle.image().await, "head, log and users");
    let Image { events, users, .. } = image;
    let replayed = replay(events.into_iter().map(|(_, event)| event));
    assert_eq!(replayed.into_values().collect::<Vec<_>>(), users, "the log replays to the users");
}

struct Pair {
    /// Its clock stamps the commands of both.
    oracle: Scene,
    subject: Scene,
    known: Vec<UserId>,
}

impl Pair {
    async fn write(&mut self, steps: Vec<Step>) {
        let mut commands = Vec::with_capacity(steps.len());
        for step in steps {
            if let Some(act) = self.act(step).await {
                commands.push(self.oracle.command(act));
            }
        }
        let answers = apply(&self.subject, commands.clone()).await;
        let expected = apply(&self.oracle, commands.clone()).await;
        assert_eq!(answers, expected, "{commands:#?}");
        for id in &self.known {
            assert_eq!(self.subject.get(*id).await, self.oracle.get(*id).await);
        }
    }

    async fn act(&mut self, step: Step) -> Option<Act> {
        let draft = |body: Json| Box::new(Draft::parse(body));
        Some(match step {
            Step::Create(body) => {
                let id = self.oracle.new_id();
                self.known.push(id);
                Act::Create { id, draft: draft(body), on_conflict: OnConflict::Fail }
            }
            Step::Replace(whom, body, held) => {
                let (id, held) = self.whom(whom, held).await?;
                Act::Replace { id, draft: draft(body), held }
            }
            Step::Patch(whom, body, held) => {
                let (id, held) = self.whom(whom, held).await?;
                Act::Patch { id, patch: Box::new(body), held }
            }
            Step::Delete(whom, held) => {
                let (id, held) = self.whom(whom, held).await?;
                Act::Delete { id, held }
            }
        })
    }

    /// The user that is meant, and what is held against it; `None` while there is nobody.
    async fn whom(&self, whom: Index, held: Held) -> Option<(UserId, Preconditions)> {
        if self.known.is_empty() {
            return None;
        }
        let id = *whom.get(&self.known);
        let version = self.oracle.get(id).await.map_or(1, |stored| stored.version);
        let versions = |version| Some(Tags::Versions(vec![version]));
        let (if_match, if_none_match) = match held {
            Held::Nothing => (None, None),
            Held::Current => (versions(version), None),
            Held::Stale => (versions(version - 1), None),
            Held::Any => (Some(Tags::Any), None),
            Held::NotCurrent => (None, versions(version)),
        };
        Some((id, Preconditions { if_match, if_none_match }))
    }

    async fn walk(&self, mut query: PageQuery) {
        if query.limit > 0 {
            let short = PageQuery { examined_max: 3, bytes_max: 700, ..query.clone() };
            let users = self.subject.walk(short).await;
            assert_eq!(users, self.oracle.walk(query.clone()).await, "in short looks: {query:?}");
        }
        loop {
            let page = self.subject.page(query.clone()).await;
            assert_eq!(page, self.oracle.page(query.clone()).await, "{query:?}");
            match page.next {
                Some(next) => query.after = Some(next),
                None => return,
            }
        }
    }
}

async fn apply(
    scene: &Scene,
    commands: Vec<Command>,
) -> Vec<Result<roster_core::Outcome, roster_core::Refusal>> {
    scene.store().apply(commands).await.into_iter().map(refused).collect()
}
