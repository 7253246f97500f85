import assert from "node:assert/strict";
import test from "node:test";
import { ENDS, endsSoon, endTime, findKeys, PRESETS, presetScopes, scopeAdvice, SCOPES,
    scopeWords, tryLine } from "../../../crates/roster-console/web/screens/keys_scopes.js";

const NOW = new Date("2026-11-28T08:00:00Z");

test("scopes have a word and a sentence, and presets name known ones", () => {
    const names = SCOPES.map(({ name }) => name);
    assert.equal(new Set(names).size, 13);
    SCOPES.forEach(({ word, text }) => assert.ok(word && text.endsWith(".")));
    PRESETS.forEach(({ scopes }) => scopes.forEach((name) => assert.ok(names.includes(name))));
});

test("everything is all but scim:strict, and tenants only for all tenants", () => {
    assert.ok(!presetScopes("all", true).includes("scim:strict"));
    assert.ok(presetScopes("all", true).includes("tenants:admin"));
    assert.ok(!presetScopes("all", false).includes("tenants:admin"));
    assert.deepEqual(presetScopes("scim", false), ["scim"]);
});

test("scopes in a few words", () => {
    assert.equal(scopeWords(["users:read"]), "Read users");
    assert.equal(scopeWords(["users:write", "users:read", "events:read"]),
        "Read and write users, events");
    assert.equal(scopeWords(["scim"]), "SCIM");
    assert.equal(scopeWords(presetScopes("all", false)), "Everything");
    assert.equal(scopeWords(["new:scope"]), "New:scope");
});

test("scopes that do nothing are named", () => {
    assert.match(scopeAdvice(["audit:read"], false), /events:read/);
    assert.equal(scopeAdvice(["audit:read", "events:read"], false), "");
    assert.match(scopeAdvice(["tenants:admin"], false), /one tenant/);
    assert.equal(scopeAdvice(["tenants:admin"], true), "");
});

test("ends", () => {
    assert.equal(endTime("never", "", NOW), null);
    assert.equal(endTime("90", "", NOW), "2027-02-26T08:00:00.000Z");
    assert.equal(endTime("day", "nonsense", NOW), "");
    assert.equal(endTime("day", "", NOW), "");
    assert.equal(endTime("day", "2027-01-31", NOW),
        new Date("2027-01-31T23:59:59").toISOString());
    assert.ok(ENDS.some(([value]) => value === "90"));
});

test("an end is near below 14 days, of an active key only", () => {
    const at = (days) => new Date(NOW.getTime() + days * 86400000).toISOString();
    assert.ok(endsSoon({ status: "active", expires_at: at(13.9) }, NOW));
    assert.ok(!endsSoon({ status: "active", expires_at: at(14) }, NOW));
    assert.ok(!endsSoon({ status: "revoked", expires_at: at(1) }, NOW));
    assert.ok(!endsSoon({ status: "active" }, NOW));
});

test("the command to try a key has no secret", () => {
    assert.match(tryLine("https://a.example", ["users:read"]),
        /\$KEY" 'https:\/\/a.example\/caller'/);
    assert.match(tryLine("https://a.example", ["scim"]), /scim\/v2\/Users/);
});

test("a key is found by name and by id", () => {
    const keys = [{ id: "AbC", name: "Billing" }, { id: "xyz", name: "Okta" }];
    assert.deepEqual(findKeys(keys, " bill ").map(({ id }) => id), ["AbC"]);
    assert.deepEqual(findKeys(keys, "key:xyz").map(({ id }) => id), ["xyz"]);
    assert.equal(findKeys(keys, "").length, 2);
    assert.equal(findKeys(keys, "abc").length, 0);
});
