// Run: node --test tools/console/test
import assert from "node:assert/strict";
import test from "node:test";
import { attributeOf, cellsOf, decode, delimiterOf, digest, newHeader, readLines, readTable,
    safeCell, toCsv }
    from "../../../crates/roster-console/web/csv_columns.js";

const rowsOf = (text) => {
    const table = readTable(text);
    return table.rows.map(({ start, end, line, bad }) =>
        [text.slice(start, end), line, Boolean(bad)]);
};

test("cells have quotation marks, doubled ones, and line ends", () => {
    assert.deepEqual(cellsOf('a,"b,""c""\nd",', ","), ["a", 'b,"c"\nd', ""]);
    assert.deepEqual(cellsOf("", ","), [""]);
    for (const wrong of ['a,"b', 'a,b"c', 'a,"b"c', 'a,b"c"']) {
        assert.equal(cellsOf(wrong, ","), null, wrong);
    }
});

test("the delimiter is the one that the header row has most often", () => {
    assert.equal(delimiterOf("a;b;c,d"), ";");
    assert.equal(delimiterOf('a\tb\t"c,d,e,f"'), "\t");
    assert.equal(delimiterOf("a"), ",");
    assert.equal(readTable("sep=;\na,b;c\n1;2").delimiter, ";");
});

// The same texts as in crates/roster-http/src/rest/bulk/csv/rows.rs, below a header row.
test("rows are cut where the service cuts them", () => {
    const row = (text, line, bad = false) => [text, line, bad];
    for (const [text, expected] of [
        ["a,b\r\nc,d\n\ne", [row("a,b", 2), row("c,d", 3), row("e", 5)]],
        ['"a\r\n""b""",c\nd', [row('"a\r\n""b""",c', 2), row("d", 4)]],
        ['a,"b\nc,d\ne,"f, g"\n', [row('a,"b', 2, true), row("c,d", 3), row('e,"f, g"', 4)]],
        ['"a\nb,c\nd"\ne,f\n',
            [row('"a', 2, true), row("b,c", 3), row('d"', 4, true), row("e,f", 5)]],
        ['a,"b\nc,d\ne"\n', [row('a,"b\nc,d\ne"', 2)]],
        ['a,"b\nc,d', [row('a,"b', 2, true), row("c,d", 3)]],
        ['a,"b"c\nd', [row('a,"b"c', 2, true), row("d", 3)]],
    ]) {
        assert.deepEqual(rowsOf(`x,y\n${text}`), expected, text);
    }
});

test("a header row may be below a mark, and have line ends in a cell", () => {
    assert.deepEqual(readTable('\ufeffsep=;\r\n"a\nb";c\r\n1;2').columns, ["a\nb", "c"]);
    assert.deepEqual(rowsOf('sep=;\n"a\nb";c\n1;2'), [["1;2", 4, false]]);
    assert.equal(readTable(""), null);
    assert.equal(readTable("\n"), null);
    assert.deepEqual(readTable("a,b").rows, []);
});

test("the new header row names members and leaves columns out", () => {
    const table = readTable("Login;Hat;status;code;line;column;detail\na;b;c;d;e;f;g");
    assert.deepEqual(table.columns, ["Login", "Hat"]);
    assert.deepEqual(newHeader(table, ["username", null]),
        { header: "username;;;;;;\n", map: ":" });
    assert.deepEqual(newHeader(readTable("sep=;\na;b"), ["x", "y"]), { header: "x;y\n", map: "" });
});

test("a spreadsheet executes no cell", () => {
    for (const [value, expected] of [["=1+1", "'=1+1"], ["+44", "'+44"], ["-1", "'-1"],
        ["@x", "'@x"], ["\tx", "'\tx"], ["'=1", "''=1"], ["a=1", "a=1"], ["'tis", "'tis"]]) {
        assert.equal(safeCell(value), expected);
    }
    assert.equal(safeCell("'=1", true), "'=1");
    assert.equal(toCsv([["a", '="b"'], ["c\nd", "e,f"]]), 'a,"\'=""b"""\r\n"c\nd","e,f"\r\n');
});

test("lines of NDJSON without blank ones", () => {
    assert.deepEqual(readLines('{"a":1}\n\n{"b":2}'),
        [{ start: 0, end: 7, line: 1 }, { start: 9, end: 16, line: 3 }]);
});

test("texts of old programs are read", () => {
    const bytes = (...all) => Uint8Array.from(all);
    assert.deepEqual(decode(bytes(0x4a, 0xf8)), { text: "Jø", encoding: "windows-1252" });
    assert.deepEqual(decode(bytes(0xff, 0xfe, 0x61, 0)), { text: "a", encoding: "utf-16le" });
    assert.deepEqual(decode(new TextEncoder().encode("Jø\rb")),
        { text: "Jø\nb", encoding: "utf-8" });
});

test("names of attributes and digests", () => {
    assert.equal(attributeOf(" Room no. "), "attributes.room_no");
    assert.equal(attributeOf("#"), "attributes.column");
    assert.equal(attributeOf("Größe des Prénoms"), "attributes.grosse_des_prenoms");
    assert.deepEqual(["नाम की", "2 x", "2"].map(attributeOf),
        ["attributes.column", "attributes.x", "attributes.column"]);
    assert.notEqual(digest("ab"), digest("ba"));
    assert.equal(digest("ab"), digest("ab"));
});
