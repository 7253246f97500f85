import assert from "node:assert/strict";
import { test } from "node:test";
import * as text from "../../../crates/roster-console/web/screens/webhook_text.js";

test("a type replaces nothing, a whole subject replaces its types", () => {
    assert.deepEqual(text.withType(["user.created", "log.*"], "user.*", true), ["log.*", "user.*"]);
    assert.deepEqual(text.withType(["user.*"], "user.*", false), []);
    assert.deepEqual(text.withType(["user.created"], "user.deleted", true),
        ["user.created", "user.deleted"]);
    assert.deepEqual(text.withType(["user.created"], "user.created", false), []);
});

test("a URL", () => {
    assert.equal(text.hostOf("https://h.example.com:8443/r"), "h.example.com:8443");
    assert.equal(text.hostOf("nothing"), "nothing");
});

test("states have a word", () => {
    assert.deepEqual(text.stateOf({ status: "active" }), ["ok", "Active"]);
    assert.deepEqual(text.stateOf({ status: "active", failing_since: "x" }), ["warn", "Failing"]);
    assert.deepEqual(text.stateOf({ status: "parked", failing_since: "x" }), ["bad", "Parked"]);
    assert.deepEqual(text.stateOf({ status: "paused" }), ["plain", "Paused"]);
    assert.equal(text.lagText({ lag: 0 }), "Up to date");
    assert.equal(text.lagText({ lag: 1204 }), "1,204 behind");
});

test("positions", () => {
    assert.deepEqual(text.parts("82B4-3-22"), { log: "82b4", first: 3, last: 22 });
    assert.equal(text.parts("test-01a2"), null);
    assert.equal(text.parts(undefined), null);
    assert.equal(text.positionBefore("82b4-3-22"), "82b4-2");
    assert.equal(text.positionBefore("82b4-1"), "82b4-0");
    assert.equal(text.positionBefore("82b4-0"), "");
    assert.equal(text.rangeText({ id: "82b4-3-22" }), "3–22");
    assert.equal(text.rangeText({ id: "82b4-1003" }), "1,003");
});

test("what a replay does", () => {
    const webhook = { position: "82b4-100" };
    assert.match(text.replayText(webhook, "82b4-90"), /Repeats up to 10 events/);
    assert.match(text.replayText(webhook, "82b4-101"), /Skips up to 1 event:/);
    assert.match(text.replayText(webhook, "82b4-100"), /Nothing/);
    assert.match(text.replayText(webhook, "82b5-100"), /another log/);
    assert.equal(text.replayText(webhook, "x"), "");
});

test("results", () => {
    assert.equal(text.resultText({ status: 204 }), "Received, 204");
    assert.equal(text.resultText({ status: 500 }), "Status 500");
    assert.equal(text.resultText({ error: "no connection" }), "no connection");
    assert.match(text.helpText({ status: 302 }), /redirects/);
    assert.match(text.helpText({ status: 503 }), /fault/);
    assert.match(text.helpText({ status: 422 }), /200 to 299/);
    assert.match(text.helpText({ error: "no TLS: the certificate has expired" }), /certificate/);
});
