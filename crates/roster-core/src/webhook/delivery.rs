//! What became of requests to a webhook.

use crate::{
    json::{Json, present},
    timestamp::Timestamp,
};

/// How many deliveries of a webhook are kept that were received, and how many that failed.
pub const DELIVERIES_KEPT: usize = 20;

/// A request to a webhook, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookDelivery {
    /// Its `webhook-id`.
    pub id: String,
    /// When it began.
    pub at: Timestamp,
    /// The number of the attempt, from 1.
    pub attempt: i64,
    /// How many events it had.
    pub events: i64,
    /// How long it took, in milliseconds.
    pub duration_ms: i64,
    /// The status of the response, or why there was none.
    pub result: Result<u16, String>,
}

impl WebhookDelivery {
    /// Whether the events were received: a status of 2xx says so, and nothing else does.
    pub fn is_received(&self) -> bool {
        matches!(self.result, Ok(200..=299))
    }

    /// Its JSON form.
    pub fn to_json(&self) -> Json {
        let (status, error) = match &self.result {
            Ok(status) => (Some(Json::Int((*status).into())), None),
            Err(error) => (None, Some(Json::Text(error.clone()))),
        };
        Json::Object(present([
            ("id", Some(Json::Text(self.id.clone()))),
            ("at", Some(Json::Text(self.at.to_string()))),
            ("attempt", Some(Json::Int(self.attempt))),
            ("events", Some(Json::Int(self.events))),
            ("duration_ms", Some(Json::Int(self.duration_ms))),
            ("status", status),
            ("error", error),
        ]))
    }

    /// The delivery of such a form; `None` for any other value.
    pub fn from_json(tree: &Json) -> Option<Self> {
        let text = |name| match tree.member(name) {
            Some(Json::Text(text)) => Some(text.clone()),
            _ => None,
        };
        let number = |name| match tree.member(name) {
            Some(Json::Int(number)) => Some(*number),
            _ => None,
        };
        Some(Self {
            id: text("id")?,
            at: Timestamp::parse(&text("at")?)?,
            attempt: number("attempt")?,
            events: number("events")?,
            duration_ms: number("duration_ms")?,
            result: match number("status") {
                Some(status) => Ok(u16::try_from(status).ok()?),
                None => Err(text("error")?),
            },
        })
    }

    /// Adds it to the deliveries of its webhook, the newest first, which are a limited number.
    pub fn add_to(self, deliveries: &mut Vec<Self>) {
        deliveries.insert(0, self);
        let (mut received, mut failed) = (0, 0);
        deliveries.retain(|one| {
            let count = if one.is_received() { &mut received } else { &mut failed };
            *count += 1;
            *count <= DELIVERIES_KEPT
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(number: i64, result: Result<u16, String>) -> WebhookDelivery {
        let (id, at) = (number.to_string(), Timestamp::from_millis(number));
        WebhookDelivery { id, at, attempt: 1, events: 3, duration_ms: 4, result }
    }

    #[test]
    fn the_newest_of_each_kind_are_kept() {
        let mut kept = Vec::new();
        delivery(0, Ok(204)).add_to(&mut kept);
        for number in 1..100 {
            delivery(number, Err("no connection".to_owned())).add_to(&mut kept);
        }
        let numbers: Vec<i64> = kept.iter().map(|one| one.at.as_millis()).collect();
        assert_eq!(numbers, [(80..100).rev().collect::<Vec<_>>(), vec![0]].concat());
    }

    #[test]
    fn the_json_form_has_everything() {
        for result in [Ok(200), Ok(503), Err("no response within 15s".to_owned())] {
            let one = delivery(7, result);
            assert_eq!(WebhookDelivery::from_json(&one.to_json()), Some(one));
        }
        assert_eq!(WebhookDelivery::from_json(&Json::Object(Vec::new())), None);
    }

    #[test]
    fn only_a_status_of_2xx_is_a_receipt() {
        let is_received = |result| delivery(1, result).is_received();
        assert!(is_received(Ok(200)) && is_received(Ok(299)));
        for status in [101, 199, 300, 302, 410, 500, 999] {
            assert!(!is_received(Ok(status)), "{status}");
        }
        assert!(!is_received(Err(String::new())));
    }
}
