import assert from "node:assert/strict";
import test from "node:test";
import { merge, patchOf } from "../../../crates/roster-console/web/merge.js";
import { findTenants, suggestName }
    from "../../../crates/roster-console/web/screens/tenants_rules.js";

test("a name is suggested", () => {
    assert.equal(suggestName("Acme Ltd."), "acme-ltd");
    assert.equal(suggestName("Müller & Söhne"), "muller-sohne");
    assert.equal(suggestName("株式会社"), "");
    assert.equal(suggestName("x".repeat(80)).length, 63);
});

test("a patch has the changes only; null clears", () => {
    const from = { display_name: "Acme", users_max: 5 };
    const patch = (limit, more = []) =>
        patchOf(from, new Map([["/users_max", limit], ...more]));
    assert.deepEqual(patch(5), {});
    assert.deepEqual(patch(""), { users_max: null });
    assert.deepEqual(patch(0, [["/external_id", "x"]]), { users_max: 0, external_id: "x" });
});

test("a new tenant has no empty members", () => {
    const edits = new Map([["/name", "acme"], ["/external_id", ""], ["/users_max", 7]]);
    assert.deepEqual(patchOf({}, edits), { name: "acme", users_max: 7 });
});

test("after a change of somebody else, the edits stay", () => {
    const opened = { display_name: "A", external_id: "1" };
    const edits = new Map([["/display_name", "B"]]);
    assert.deepEqual(merge(opened, { ...opened, external_id: "2", users_max: 9 }, edits),
        { mine: ["/display_name"], theirs: ["/external_id", "/users_max"], both: [] });
    assert.deepEqual(merge(opened, { ...opened, display_name: "C" }, edits).both,
        [{ pointer: "/display_name", base: "A", now: "C", mine: "B" }]);
    assert.deepEqual(merge(opened, { ...opened, display_name: "B" }, edits).both, []);
});

test("a search looks at all names", () => {
    const all = [{ name: "acme", display_name: "Acme Ltd" }, { name: "b", external_id: "CUS_7" }];
    assert.deepEqual(findTenants(all, "ltd").map(({ name }) => name), ["acme"]);
    assert.deepEqual(findTenants(all, "cus").map(({ name }) => name), ["b"]);
    assert.equal(findTenants(all, " ").length, 2);
});
