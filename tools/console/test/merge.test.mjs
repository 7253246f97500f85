import assert from "node:assert/strict";
import test from "node:test";

const { backTo, changedPointers, changedSince, chosen, equal, laterEdits, listAt, merge, patchOf,
    realEdits } =
    await import("../../../crates/roster-console/web/merge.js");

const base = { id: "1", version: 7, username: "ada", email: "ada@exmaple.com",
    emails: [{ value: "ada@exmaple.com", primary: true }], zoneinfo: "Europe/Paris",
    attributes: { team: "core", badge: 1815 }, manager: { id: "cb", display_name: "Babbage" } };

test("a patch has the changed members only", () => {
    const edits = new Map([["/email", "ada@example.com"], ["/username", "ada"],
        ["/attributes/team", null], ["/attributes/floor", 3], ["/manager/display_name", "B"]]);
    assert.deepEqual(patchOf(base, edits), { email: "ada@example.com",
        attributes: { team: null, floor: 3 }, manager: { display_name: "B" } });
    assert.equal(realEdits(base, new Map([["/username", "ada"]])).size, 0);
});

test("a member that is left out of an object is removed", () => {
    const stored = { attributes: { deep: { a: 1, b: { c: 1, d: [1] } } } };
    assert.deepEqual(patchOf(stored, new Map([["/attributes/deep", { b: { d: [2] }, e: 1 }]])),
        { attributes: { deep: { a: null, b: { c: null, d: [2] }, e: 1 } } });
});

test("edits after a request are those that it did not have", () => {
    const sent = new Map([["/title", "a"], ["/nickname", "n"], ["/zoneinfo", "Europe/London"]]);
    const edits = new Map([["/title", "ab"], ["/nickname", "n"], ["/department", "d"]]);
    assert.deepEqual([...laterEdits(base, sent, edits)],
        [["/title", "ab"], ["/zoneinfo", "Europe/Paris"], ["/department", "d"]]);
});

test("clearing an address clears its list too", () => {
    assert.deepEqual(patchOf(base, new Map([["/email", ""]])), { email: null, emails: null });
});

test("an empty text, an empty list and a missing member are the same", () => {
    assert.ok(equal("", undefined) && equal([], null) && !equal(0, null) && !equal(false, ""));
    assert.ok(equal({ a: 1, b: [2] }, { b: [2], a: 1 }) && !equal([1, 2], [2, 1]));
});

test("inside of a value an empty text and an empty list are stored", () => {
    assert.ok(equal({ a: null, b: 1 }, { b: 1 }) && equal([{ a: undefined }], [{}]));
    assert.ok(!equal({ a: "", b: 1 }, { b: 1 }) && !equal({ a: [], b: 1 }, { b: 1 }));
    assert.ok(!equal(["a", ""], ["a"]) && !equal(["a", null], ["a"]) && !equal([null], [""]));
    assert.deepEqual(patchOf({ attributes: { odd: { a: "", b: 1 } } },
        new Map([["/attributes/odd", { b: 1 }]])), { attributes: { odd: { a: null, b: 1 } } });
});

test("changed members, without those of the service and implied lists", () => {
    const now = { ...base, version: 8, updated_at: "x", email: "b@example.com",
        emails: [{ value: "b@example.com", primary: true }], attributes: { team: "web", badge: 1815 } };
    assert.deepEqual(changedPointers(base, now).sort(), ["/attributes/team", "/email"]);
});

test("members that one side changed fit together", () => {
    const now = { ...base, version: 8, title: "Lady", attributes: { team: "web", badge: 1815 } };
    const edits = new Map([["/attributes/badge", 1], ["/phone_number", "+44"]]);
    const merged = merge(base, now, edits);
    assert.deepEqual(merged.both, []);
    assert.deepEqual(merged.mine, ["/attributes/badge", "/phone_number"]);
    assert.deepEqual(merged.theirs.sort(), ["/attributes/team", "/title"]);
});

test("a member that both changed needs a choice, the same change does not", () => {
    const now = { ...base, zoneinfo: "Europe/Dublin", username: "lovelace" };
    const edits = new Map([["/zoneinfo", "Europe/London"], ["/username", "lovelace"]]);
    assert.deepEqual(merge(base, now, edits), { mine: [], theirs: [], both: [{ pointer: "/zoneinfo",
        base: "Europe/Paris", now: "Europe/Dublin", mine: "Europe/London" }] });
    assert.equal(chosen(edits, new Map([["/zoneinfo", "now"]])).has("/zoneinfo"), false);
    assert.equal(chosen(edits, new Map([["/zoneinfo", "mine"]])).get("/zoneinfo"), "Europe/London");
});

test("a removal against a change is a clash", () => {
    const now = { ...base, attributes: { team: "web", badge: 1815 } };
    const [clash] = merge(base, now, new Map([["/attributes/team", null]])).both;
    assert.deepEqual(clash, { pointer: "/attributes/team", base: "core", now: "web", mine: null });
});

test("a primary address that changed within a list goes with the list", () => {
    const emails = [{ value: "a@x.example", primary: true }, { value: "b@x.example" }];
    const before = { version: 1, email: "a@x.example", emails };
    const now = { version: 2, email: "c@x.example",
        emails: [{ value: "c@x.example", primary: true }, emails[1]] };
    const edits = new Map([["/emails", [emails[0], { value: "d@x.example" }]]]);
    const { theirs, both } = merge(before, now, edits);
    assert.deepEqual([theirs, both.map(({ pointer }) => pointer)], [[], ["/emails"]]);
});

test("an attribute may have any name", () => {
    const before = JSON.parse('{"version":1,"attributes":{"__proto__":"a"}}');
    const patch = patchOf(before, new Map([["/attributes/__proto__", "b"]]));
    assert.equal(JSON.stringify(patch), '{"attributes":{"__proto__":"b"}}');
});

test("members may have the names of inherited ones", () => {
    const odd = JSON.parse('{"constructor":"x","toString":{"a":1},"__proto__":{},"b":1}');
    const stored = { version: 1, attributes: { odd } };
    const patch = patchOf(stored, new Map([["/attributes/odd", { constructor: "x" }]]));
    assert.equal(JSON.stringify(patch), '{"attributes":{"odd":{"constructor":"x",'
        + '"toString":null,"__proto__":null,"b":null}}}');
    assert.ok(equal(odd, structuredClone(odd)) && !equal({}, { constructor: "x" }));
    assert.ok(!equal({}, JSON.parse('{"__proto__":{}}')));
    assert.deepEqual(changedPointers({ attributes: {} }, { attributes: odd }).sort(),
        ["__proto__", "b", "constructor", "toString"].map((name) => `/attributes/${name}`));
    const now = { version: 2, attributes: { odd: { ...odd, b: 2 } } };
    const [clash] = merge(stored, now, new Map([["/attributes/odd", { constructor: "y" }]])).both;
    assert.deepEqual(clash.now, now.attributes.odd);
});

test("an address that is cleared clashes with what somebody did to its list", () => {
    const [one, other] = [{ value: "ada@exmaple.com", primary: true }, { value: "b@x.example" }];
    const now = { ...base, version: 8, emails: [one, other] };
    assert.deepEqual(merge(base, now, new Map([["/email", ""]])), { mine: [], theirs: [],
        both: [{ pointer: "/email", base: base.emails, now: [one, other], mine: "" }] });
    // A type alone is a change too.
    const work = { ...base, emails: [{ ...one, type: "work" }] };
    assert.equal(merge(base, work, new Map([["/email", null]])).both.length, 1);
    // Of another address the list stays, and so does one that nobody else changed.
    const edits = new Map([["/email", "c@x.example"]]);
    assert.deepEqual(merge(base, now, edits), { mine: ["/email"], theirs: ["/emails"], both: [] });
    const title = { ...base, title: "Lady" };
    assert.deepEqual(merge(base, title, new Map([["/email", ""]])),
        { mine: ["/email"], theirs: ["/title"], both: [] });
    // Both removed it.
    const gone = { version: 8 };
    assert.deepEqual(merge({ email: "a", emails: [{ value: "a" }] }, gone,
        new Map([["/email", ""]])), { mine: [], theirs: [], both: [] });
});

test("each primary value has a list", () => {
    assert.deepEqual(["/email", "/phone_number", "/picture", "/emails", "/title"].map(listAt),
        ["/emails", "/phone_numbers", "/photos", undefined, undefined]);
});

test("what is put back of a cleared address is its list, with types and names", () => {
    const emails = [{ value: "a@x.example", type: "home", display: "Mine" }];
    const before = { title: "A", email: "a@x.example", emails };
    assert.deepEqual(backTo(before, { title: "B" }, ["/title", "/email"]),
        [["/title", "A"], ["/emails", emails]]);
    assert.deepEqual(patchOf({ title: "A" }, new Map(backTo(before, {}, ["/email"]))), { emails });
    // One that was replaced keeps them, and one that was added goes with its list.
    const replaced = { email: "b@x.example", emails: [{ ...emails[0], value: "b@x.example" }] };
    assert.deepEqual(backTo(before, replaced, ["/email"]), [["/email", "a@x.example"]]);
    const added = backTo({}, replaced, ["/email"]);
    assert.deepEqual(patchOf(replaced, new Map(added)), { email: null, emails: null });
});

test("what somebody changed since is not undone", () => {
    const after = { title: "B", email: "a@x.example", emails: [{ value: "a@x.example" }] };
    assert.equal(changedSince(after, { ...after, nickname: "n" }, ["/title", "/email"]), undefined);
    assert.equal(changedSince(after, { ...after, title: "C" }, ["/email", "/title"]), "/title");
    const more = { ...after, emails: [...after.emails, { value: "b@x.example" }] };
    assert.equal(changedSince(after, more, ["/title", "/email"]), "/email");
});

test("a manager of whom nothing is left is removed", () => {
    const all = new Map([["/manager/id", ""], ["/manager/display_name", null]]);
    assert.deepEqual(patchOf(base, all), { manager: null });
    assert.deepEqual(patchOf({ manager: { id: "cb" } }, all), { manager: null });
    assert.deepEqual(patchOf(base, new Map([["/manager/display_name", ""]])),
        { manager: { display_name: null } });
    assert.deepEqual(patchOf({}, new Map([["/manager/id", "cb"]])), { manager: { id: "cb" } });
    assert.deepEqual(patchOf(base, new Map([["/manager/id", "d"], ["/manager/display_name", ""]])),
        { manager: { id: "d", display_name: null } });
});
