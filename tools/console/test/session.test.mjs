import assert from "node:assert/strict";
import test from "node:test";

// What these modules ask of the page when they are loaded.
Object.assign(globalThis, { localStorage: { getItem: () => null }, location: { hash: "" },
    document: { querySelector: () => ({ getAttribute: () => "" }) } });
const { Problem, faultsOf } = await import("../../../crates/roster-console/web/api.js");
const { openSession, plainCredential } =
    await import("../../../crates/roster-console/web/session.js");

test("a credential is what is left without quotation marks and what cannot be seen", () => {
    const key = "rst_0aB.c-d=";
    for (const text of [key, ` ${key}\n`, `${key}\u200b`, `\ufeff${key}\u00a0`, `rst_\u00ad0aB.c-d=`,
        `"${key}"`, `“${key}”`, `„${key}“`, `»${key}«`, `‘${key}’`, `'${key}'`, `\`${key}\``,
        `\u200b “ ${key}\u2060 ” `]) {
        assert.equal(plainCredential(text), key, JSON.stringify(text));
    }
});

test("a credential with another character than those of ASCII is not sent", async () => {
    globalThis.fetch = () => assert.fail("it is sent");
    for (const odd of ["é", "–", "\u0416", "😀", "\u0001"]) {
        await assert.rejects(openSession(`rst_a${odd}b`), { message:
            `It has the character “${odd}”, which no key or token has. Copy it again` });
    }
});

test("faults have a sentence, and any name", () => {
    const errors = [{ pointer: "/username", code: "username-taken", detail: "choose another" },
        { parameter: "type", detail: "give one" }, { column: "constructor", detail: "leave it out" },
        { column: "__proto__", detail: "leave it out" }, { parameter: "type", detail: "second" }];
    assert.deepEqual(Object.entries(faultsOf(new Problem(400, { errors }))),
        [["/username", "The username is taken: choose another"], ["type", "Give one"],
            ["constructor", "Leave it out"], ["__proto__", "Leave it out"]]);
});
