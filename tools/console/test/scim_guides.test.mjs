import assert from "node:assert/strict";
import test from "node:test";
import { guides, reachFault } from
    "../../../crates/roster-console/web/screens/scim_guides.js";

const SCIM = "https://a.example/tenants/acme/scim/v2";

test("each guide has the URL and says where the key goes", () => {
    const all = guides(SCIM);
    assert.equal(new Set(all.map(({ name }) => name)).size, all.length);
    for (const { name, title, steps, values } of all) {
        assert.ok(values.some(({ copy }) => copy?.startsWith(SCIM)), name);
        assert.ok(values.some(({ text }) => text?.startsWith("the key")), name);
        assert.ok(title && values.every(({ field, copy, text }) => field && (copy || text)), name);
        assert.equal(steps.filter((text) => text.endsWith(":")).length, 1, name);
        for (const text of steps) {
            assert.equal(text.split("*").length % 2, 1, text); // each star has its other
        }
    }
});

test("the template of OneLogin is JSON", () => {
    const one = guides(SCIM).find(({ name }) => name === "onelogin");
    assert.equal(JSON.parse(one.code).userName, "{$parameters.scimusername}");
});

test("what providers cannot reach", () => {
    assert.match(reachFault("http://127.0.0.1:8080"), /machine only/);
    assert.match(reachFault("https://localhost"), /machine only/);
    assert.match(reachFault("http://a.example"), /https only/);
    assert.equal(reachFault("https://a.example/x"), "");
});
