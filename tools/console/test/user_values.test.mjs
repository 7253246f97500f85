import assert from "node:assert/strict";
import test from "node:test";

const { asJson, isTime, jsonOf, listOf, listText, timeOf, timeText, typed } =
    await import("../../../crates/roster-console/web/screens/user_values.js");
const { parseJson, toJson } = await import("../../../crates/roster-console/web/texts.js");

const cannotKeepDigits = !(/** @type {any} */ (JSON).rawJSON);

test("long integers keep all digits", { skip: cannotKeepDigits }, () => {
    const text = '{"a":9007199254740993,"b":[-9223372036854775808,1.5],"c":1e20,"d":"9007199254740993"}';
    const value = parseJson(text);
    assert.equal(value.a, 9007199254740993n);
    assert.equal(toJson(value), text.replace("1e20", "100000000000000000000"));
    assert.equal(asJson(value.b), "[-9223372036854775808,1.5]");
    assert.equal(typed("9007199254740993", "integer"), 9007199254740993n);
    assert.throws(() => toJson({ a: Infinity }), RangeError);
});

test("without a way to write all digits nothing is written", { skip: !cannotKeepDigits }, () => {
    assert.throws(() => toJson({ a: [parseJson("9007199254740993")] }), /all digits/);
    assert.equal(toJson({ a: [1, "9007199254740993", null] }), '{"a":[1,"9007199254740993",null]}');
});

test("a text stays a text, and another value is JSON", () => {
    for (const text of ["1.20", "12345", "null", "true", "{}", "[1]"]) {
        assert.equal(typed(text, "", "1.10"), text);
        assert.equal(typed(text, "string", 5), text);
    }
    assert.deepEqual(["6", "1.50", "true", "[1]", "x"].map((text) => typed(text, "", 5)),
        [6, 1.5, true, [1], "x"]);
    assert.deepEqual(["1.5", "1.50", "007", "null", "-3", '"a"', "false", '{"a":1}', "1e400"].map(
        (text) => typed(text)), [1.5, "1.50", "007", "null", -3, '"a"', false, { a: 1 }, "1e400"]);
    assert.deepEqual(["1e400", "1", "true"].map((text) => typed(text, "number")), ["1e400", 1, "true"]);
    assert.equal(typed("true", "boolean"), true);
    assert.equal(jsonOf("-1e400"), undefined);
});

test("a list is read as what was written", () => {
    for (const list of [["Smith, John", "b"], [" a"], ["[1]"], ["a\nb", "c"], [""], ["1", "true"],
        [1, 2], [{ a: 1 }], [{ toString: 1 }], ["a", ""], [], ["[", "]"]]) {
        const type = typeof list[0] === "number" ? "integer" : "string";
        assert.deepEqual(listOf(listText(list, type), type), list);
    }
    assert.equal(listText(["Smith, John", "b"], "string"), "Smith, John\nb");
    assert.deepEqual(listOf(" a, b \n\nc", "string"), ["a, b", "c"]);
    assert.equal(listText(undefined, "string"), "");
});

test("a time is one of four digits of the year, or stays text", () => {
    const text = "2031-12-03T16:05";
    assert.ok(isTime(timeOf(text)));
    assert.equal(timeText(timeOf(text)), text);
    for (const bad of ["0002-12-03T16:05", "0203-12-03T16:05", "1969-06-01T00:00", "", "?",
        "12345-12-03T16:05"]) {
        assert.equal(timeOf(bad), bad);
        assert.equal(timeText(bad), bad);
        assert.ok(!isTime(bad));
    }
    assert.equal(timeText(undefined), "");
});
