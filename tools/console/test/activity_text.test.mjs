import assert from "node:assert/strict";
import { test } from "node:test";
import * as text from "../../../crates/roster-console/web/screens/activity_text.js";

let last = 1000;
const event = (type, id, data = {}, rest = {}) => ({
    id: `82b4-${last--}`, type, subject: `${type.split(".")[0]}s/${id}`,
    time: "2026-11-28T10:00:00Z", actor: "key:a", data, ...rest });
const user = (more) => ({ id: "u1", username: "ada", name: "Ada Lovelace", ...more });

test("an update says the members with old and new values", () => {
    const one = event("user.updated", "u1", { changed: ["department"],
        user: user({ department: "Sales", version: 2 }) });
    const { subject, verb, changes } = text.sentenceOf(one, user({ department: "Research" }));
    assert.deepEqual(subject, { screen: "users", id: "u1", name: "Ada Lovelace", gone: false });
    assert.equal(verb, "");
    assert.deepEqual(changes, [{ label: "Department", from: "Research", to: "Sales" }]);
});

test("without the record of before the new value alone", () => {
    const one = event("user.updated", "u1", { changed: ["email", "emails"],
        user: user({ email: "a@b.c", emails: [{ value: "a@b.c" }] }) });
    assert.deepEqual(text.sentenceOf(one).changes, [{ label: "E-mail", from: "", to: "a@b.c" }]);
});

test("a status has words of its own", () => {
    const one = event("user.updated", "u1", { changed: ["status"], user: user({ status: "suspended" }) });
    assert.equal(text.sentenceOf(one).verb, "suspended");
    assert.equal(text.sentenceOf(one, user({ status: "active" })).verb, "suspended");
    const hook = event("webhook.updated", "w1", { webhook: { id: "w1", name: "hr", status: "paused" } });
    assert.equal(text.sentenceOf(hook, { id: "w1", name: "hr", status: "active" }).verb, "paused");
    assert.equal(text.sentenceOf(hook).verb, "changed");
});

test("other events", () => {
    assert.equal(text.sentenceOf(event("user.purged", "u1", { changed: [] })).verb, "erased");
    const key = text.sentenceOf(event("key.created", "k1", { key: { name: "okta", scopes: ["scim"] } }));
    assert.equal(`${key.subject.name} ${key.verb}`, "okta created, with scim");
    const group = event("group.updated", "g1", { changed: [], added: ["a", "b"], removed: ["c"],
        group: { id: "g1", display_name: "Core" } });
    assert.equal(text.sentenceOf(group).verb, "2 members joined, 1 left");
    assert.match(text.sentenceOf(event("log.forked", "", {}, { subject: "log" })).verb, /identity/);
    assert.match(text.sentenceOf(event("policy.changed", "", { policy: { unique_external_id: true } },
        { subject: "policy" })).verb, /unique external id yes/);
    assert.equal(text.sentenceOf(event("new.kind", "x")).verb, "kind");
});

test("three of one kind within a minute are one line", () => {
    const suspended = (id, time) => event("user.updated", id, { changed: ["status"],
        user: user({ status: "suspended" }) }, { time: `2026-11-28T10:${time}Z` });
    const lines = text.fold([suspended("a", "05:00"), suspended("b", "04:10"),
        suspended("c", "04:00"), suspended("d", "02:00"), suspended("e", "01:50")]);
    assert.deepEqual(lines.map(({ events }) => events.length), [3, 1, 1]);
    assert.equal(text.foldText(lines[0]), "3 users suspended");
    assert.equal(text.foldText(lines[0], true), "At least 3 users suspended");
});

test("other actors, kinds and statuses stay apart", () => {
    const a = event("user.created", "a");
    const list = [a, a, { ...a, actor: "key:b" }, event("user.deleted", "a"), a, a, a];
    assert.deepEqual(text.fold(list).map(({ events }) => events.length), [1, 1, 1, 1, 3]);
    const folded = text.fold([1, 2, 3].map((n) => event("user.updated", `u${n}`,
        { changed: ["department", "title"], user: user() })));
    assert.equal(text.foldText(folded[0]), "3 users: department, title changed");
});

test("joined members of a fold are added up", () => {
    const joins = [1, 2, 3].map((n) => event("group.updated", "g1", { changed: [], added: [`u${n}`],
        group: { display_name: "Core" } }));
    assert.equal(text.foldText(text.fold(joins)[0]), "1 group: 3 members joined");
});

test("the record of before is in the next older event of the same record", () => {
    const [new_, other, old] = [event("user.updated", "u1", { user: user({ version: 2 }) }),
        event("user.updated", "u2", { user: user() }),
        event("user.created", "u1", { user: user({ version: 1, title: "A" }) })];
    const known = text.knownBefore([new_, other, old]);
    assert.equal(known.get(new_.id).title, "A");
    assert.equal(known.size, 1);
    const later = event("user.updated", "u1", { user: user({ version: 4 }) });
    assert.equal(text.knownBefore([later, new_, old]).has(later.id), false);
});

test("frames of a stream", () => {
    const { take } = text.frameReader();
    assert.equal(take("retry: 2000"), null);
    assert.equal(take("id: 82b4-1\r"), null);
    assert.deepEqual(take(""), { id: "82b4-1", event: "message", data: "", retry: 2000 });
    assert.equal(take(""), null);
    take(": comment");
    assert.equal(take(""), null);
    take("event: end");
    take('data: {"a":');
    take("data: 1}");
    assert.deepEqual(take(""), { id: "", event: "end", data: '{"a":\n1}' });
});

test("pauses grow up to half a minute", () => {
    assert.equal(text.pause(0, 2000, () => 1), 2000);
    assert.equal(text.pause(2, 2000, () => 0), 4000);
    assert.equal(text.pause(20, 2000, () => 1), 30000);
});
