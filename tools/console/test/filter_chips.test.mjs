import assert from "node:assert/strict";
import test from "node:test";

const { byteToIndex, formatChips, opWords, parseChips, suggestion } =
    await import("../../../crates/roster-console/web/filter_chips.js");

test("tests joined by and are chips, and chips are text again", () => {
    const text = 'department eq "Sales" and updated_at gt "2026-11-01T00:00:00Z" and title pr';
    const chips = parseChips(text);
    assert.deepEqual(chips?.map(({ name, op, values }) => [name, op, values]), [
        ["department", "eq", ["Sales"]], ["updated_at", "gt", ["2026-11-01T00:00:00Z"]],
        ["title", "pr", []]]);
    assert.equal(formatChips(chips ?? []), text);
});

test("several values of one member are one chip", () => {
    const text = '(department eq "Sales" or department eq "Ventas") and status eq "active"';
    assert.deepEqual(parseChips(text)?.[0].values, ["Sales", "Ventas"]);
    assert.equal(formatChips(parseChips(text) ?? []), text);
});

test("null, numbers, booleans and escapes", () => {
    assert.deepEqual(parseChips("email eq null and attributes.badge gt 18")?.map(({ values }) => values),
        [[null], [18]]);
    assert.deepEqual(["eq", "ne"].map((op) => opWords(op, null)), ["has no value", "has a value"]);
    assert.equal(parseChips('(title eq null or title eq "a")'), null);
    const odd = [{ name: "title", op: "eq", values: ['say "hi" \\ and (x)'] }];
    assert.deepEqual(parseChips(formatChips(odd)), odd);
});

test("a number keeps all its digits", () => {
    const text = "attributes.n gt 9007199254740993 and attributes.x lt 1.10 and attributes.y eq -5";
    const chips = parseChips(text);
    assert.deepEqual(chips?.map(({ values }) => values),
        [[{ value: "9007199254740993" }], [{ value: "1.10" }], [-5]]);
    assert.equal(formatChips(chips ?? []), text);
});

test("what chips cannot express stays text", () => {
    for (const text of ['not (status eq "active")', 'a eq "1" or b eq "2"', 'emails[type eq "work"]',
        "status", 'a eq "1" and', 'a xx "1"', '(a eq "1" or b eq "2")', 'a eq "open', "a eq b"]) {
        assert.equal(parseChips(text), null, text);
    }
    assert.deepEqual(parseChips(""), []);
});

test("positions count bytes", () => {
    const text = 'title eq "日本🎉" and famly_name pr';
    const bytes = new TextEncoder().encode(text.slice(0, text.indexOf("famly"))).length;
    const at = byteToIndex(text, bytes);
    assert.equal(text.slice(at), "famly_name pr");
    assert.equal(suggestion("there is no member famly_name; did you mean family_name?"), "family_name");
});
