//! The settings of uniqueness (contract 1): shared mailboxes, unique external ids.

use roster_core::{Refusal, Rules, Sharing, Taken};
use serde_json::json;

use super::scene::Scene;

pub const RULES: Rules =
    Rules { email: Sharing::Shared, external_id: Sharing::Unique, ..super::DEFAULT };

const EXTERNAL_ID_TAKEN: Refusal =
    Refusal::Taken(Taken { username: None, email: false, external_id: true });

pub async fn shared_mailboxes_are_allowed_by_the_setting(scene: Scene) {
    scene.user(json!({"username": "ada", "email": "team@example.com"})).await;
    let grace = scene.user(json!({"username": "grace", "email": "TEAM@example.com"})).await;
    let body = json!({"email": "team@example.com"});
    scene.replace(grace.id, body).await.expect("shared");
}

pub async fn an_external_id_is_unique_by_the_setting(scene: Scene) {
    let ada = scene.user(json!({"username": "ada", "external_id": "E7"})).await;
    let grace = scene.user(json!({"username": "grace"})).await;
    let body = json!({"username": "x", "external_id": "E7"});
    assert_eq!(scene.create(body.clone()).await, Err(EXTERNAL_ID_TAKEN));
    let result = scene.patch(grace.id, json!({"external_id": "E7"})).await;
    assert_eq!(result, Err(EXTERNAL_ID_TAKEN));
    scene.patch(ada.id, json!({"external_id": "E8"})).await.expect("its own");
    scene.patch(grace.id, json!({"external_id": "E7"})).await.expect("free");
    scene.delete(grace.id).await.expect("there");
    scene.user(body).await;
}

pub async fn an_external_id_is_compared_exactly(scene: Scene) {
    for (number, id) in
        ["e7", "E7", "e7 ", "\u{ff45}7", "e\u{301}7", "", "7", "07"].iter().enumerate()
    {
        scene.user(json!({"username": number.to_string(), "external_id": id})).await;
    }
    let composed = json!({"username": "x", "external_id": "\u{e9}7"});
    assert_eq!(scene.create(composed).await, Err(EXTERNAL_ID_TAKEN));
}

pub async fn users_without_an_external_id_do_not_clash(scene: Scene) {
    for name in ["ada", "grace", "joan"] {
        scene.user(json!({"username": name})).await;
    }
}
