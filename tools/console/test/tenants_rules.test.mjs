import assert from "node:assert/strict";
import test from "node:test";
import { draftBody, draftFaults, draftOf, draftPatch, findTenants, rebase, suggestName }
    from "../../../crates/roster-console/web/screens/tenants_rules.js";

const EMPTY = { display_name: "", external_id: "", users_max: "" };

test("a name is suggested", () => {
    assert.equal(suggestName("Acme Ltd."), "acme-ltd");
    assert.equal(suggestName("Müller & Söhne"), "muller-sohne");
    assert.equal(suggestName("株式会社"), "");
    assert.equal(suggestName("x".repeat(80)).length, 63);
});

test("faults of a draft", () => {
    const faults = (draft) => Object.keys(draftFaults({ ...EMPTY, ...draft }));
    assert.deepEqual(faults({ name: "acme-1" }), []);
    assert.deepEqual(faults({ name: "Acme" }), ["/name"]);
    assert.deepEqual(faults({ name: "" }), ["/name"]);
    assert.deepEqual(faults({ name: "a".repeat(64) }), ["/name"]);
    assert.deepEqual(faults({ users_max: "-1" }), ["/users_max"]);
    assert.deepEqual(faults({ users_max: "1.5" }), ["/users_max"]);
    assert.deepEqual(faults({ users_max: " 0 " }), []);
    assert.deepEqual(faults({ display_name: "x".repeat(257) }), ["/display_name"]);
});

test("a patch has the changes only; null clears", () => {
    const from = draftOf({ display_name: "Acme", users_max: 5 });
    assert.deepEqual(draftPatch(from, from), {});
    assert.deepEqual(draftPatch(from, { ...from, users_max: "" }), { users_max: null });
    assert.deepEqual(draftPatch(from, { ...from, users_max: "0", external_id: " x " }),
        { users_max: 0, external_id: "x" });
});

test("a new tenant has no empty members", () => {
    assert.deepEqual(draftBody({ ...EMPTY, name: " acme ", users_max: "7" }),
        { name: "acme", users_max: 7 });
});

test("after a change of somebody else, the edits stay", () => {
    const opened = { display_name: "A", external_id: "1", users_max: "" };
    const edited = { display_name: "B", external_id: "1", users_max: "" };
    const now = { display_name: "A", external_id: "2", users_max: "9" };
    assert.deepEqual(rebase(opened, edited, now),
        { draft: { display_name: "B", external_id: "2", users_max: "9" }, theirs: [] });
    assert.deepEqual(rebase(opened, edited, { ...opened, display_name: "C" }),
        { draft: edited, theirs: ["display_name"] });
    assert.deepEqual(rebase(opened, edited, edited).theirs, []);
});

test("a search looks at all names", () => {
    const all = [{ name: "acme", display_name: "Acme Ltd" }, { name: "b", external_id: "CUS_7" }];
    assert.deepEqual(findTenants(all, "ltd").map(({ name }) => name), ["acme"]);
    assert.deepEqual(findTenants(all, "cus").map(({ name }) => name), ["b"]);
    assert.equal(findTenants(all, " ").length, 2);
});
