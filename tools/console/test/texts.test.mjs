import assert from "node:assert/strict";
import test from "node:test";

const { agoTime, count, initials, label, shortId, shortTime, textsOf, total, userName,
    valueText } =
    await import("../../../crates/roster-console/web/texts.js");

const now = new Date("2026-11-28T15:00:00");
const before = (seconds) => new Date(now.getTime() - seconds * 1000).toISOString();

test("short times", () => {
    const cases = [[0, "now"], [30, "30 s"], [120, "2 min"], [3 * 3600, "3 h"], [20 * 3600, "Yesterday"]];
    for (const [seconds, text] of cases) {
        assert.equal(shortTime(before(seconds), now), text);
    }
    assert.equal(shortTime("2026-11-12T10:00:00", now), "12 Nov");
    assert.equal(shortTime("2024-11-12T10:00:00", now), "12 Nov 2024");
    assert.equal(shortTime(undefined, now), "");
    assert.equal(shortTime("no time", now), "");
});

test("times in a sentence", () => {
    assert.equal(agoTime(before(120), now), "2 min ago");
    assert.equal(agoTime("2026-11-27T16:20:00", now), "yesterday, 16:20");
    assert.equal(agoTime(before(-86400 * 30), now), "in 30 days");
    assert.equal(agoTime(before(-7200), now), "in 2 hours");
});

test("counts", () => {
    assert.equal(count(1, "user"), "1 user");
    assert.equal(count(1204, "user"), "1,204 users");
    assert.equal(total({ total: 10000, total_relation: "at_least" }), "10,000 or more");
    assert.equal(total({}), "");
});

test("names", () => {
    assert.equal(initials("Ada Lovelace"), "AL");
    assert.equal(initials("svc-billing"), "SB");
    assert.equal(initials("山田 太郎"), "山太");
    assert.equal(initials("ada"), "AD");
    assert.equal(initials(""), "?");
    assert.equal(userName({ given_name: "Ada", family_name: "King", username: "a" }), "Ada King");
    assert.equal(userName({ email: "a@b.example" }), "a@b.example");
    assert.equal(label("zoneinfo"), "Time zone");
    assert.equal(label("attributes.cost_group"), "Cost group");
    assert.equal(shortId("01a1fb98-4b12-74db-aa79-777b1997ebb5"), "01a1fb98-4b12…97ebb5");
});

test("values", () => {
    assert.equal(valueText([{ value: "a" }, { value: "b" }]), "a, b");
    assert.equal(valueText(true), "yes");
    assert.equal(valueText({ x: 1 }), '{"x":1}');
    assert.equal(valueText(null), "");
});

test("each value of JSON has a text", () => {
    for (const odd of [{ toString: 1 }, { value: { a: 2 } }, { value: [1] },
        { value: { toString: "x" } }, { formatted: null, value: null }]) {
        assert.equal(valueText(odd), JSON.stringify(odd));
        assert.equal(valueText([odd, 1]), `${JSON.stringify(odd)}, 1`);
        assert.deepEqual(textsOf([odd, "x"]), [JSON.stringify(odd), "x"]);
    }
    assert.equal(valueText({ value: 0 }), "0");
    assert.equal(valueText({ display_name: "A" }), "A");
});

test("values that differ do not look alike", () => {
    assert.deepEqual(textsOf(["a", "b"]), ["a", "b"]);
    assert.deepEqual(textsOf([undefined, "b"]), ["", "b"]);
    assert.deepEqual(textsOf([1, "1"]), ["1", '"1"']);
    assert.deepEqual(textsOf([[{ value: "a" }], [{ value: "a", type: "work" }]]),
        ['[{"value":"a"}]', '[{"value":"a","type":"work"}]']);
});
