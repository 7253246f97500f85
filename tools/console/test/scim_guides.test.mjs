import assert from "node:assert/strict";
import test from "node:test";
import { guides, reachFault, wordsOf }
    from "../../../crates/roster-console/web/screens/scim_guides.js";

const SCIM = "https://a.example/tenants/acme/scim/v2";

test("each guide has the URL and says where the key goes", () => {
    const all = guides(SCIM);
    assert.equal(new Set(all.map(({ name }) => name)).size, all.length);
    for (const { name, keyName, steps, after } of all) {
        const values = steps.flatMap((step) => step.values ?? []);
        assert.ok(values.some(({ copy }) => copy?.startsWith(SCIM)), name);
        assert.ok(values.some(({ text }) => text?.startsWith("the key")), name);
        assert.ok(keyName && after.length, name);
        for (const text of [...steps.map((step) => step.text), ...after]) {
            assert.equal(text.split("*").length % 2, 1, text); // each star has its other
        }
    }
});

test("the template of OneLogin is JSON", () => {
    const one = guides(SCIM).find(({ name }) => name === "onelogin");
    assert.equal(JSON.parse(one.steps[1].code).userName, "{$parameters.scimusername}");
});

test("words between stars", () => {
    assert.deepEqual(wordsOf("Press *Save* now"), [{ text: "Press ", strong: false },
        { text: "Save", strong: true }, { text: " now", strong: false }]);
});

test("what providers cannot reach", () => {
    assert.match(reachFault("http://127.0.0.1:8080"), /machine only/);
    assert.match(reachFault("https://localhost"), /machine only/);
    assert.match(reachFault("http://a.example"), /https only/);
    assert.equal(reachFault("https://a.example/x"), "");
});
