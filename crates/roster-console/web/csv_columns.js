// CSV as the service reads it (docs/bulk.md): rows, cells, and a header row with members in place
// of
// the names in the file. Pure functions; the service itself checks the values.

/**
 * @typedef {object} Row
 * @property {number} start  where its text begins
 * @property {number} end    where its text ends, without the line break
 * @property {number} line   the number of its first line, from 1
 * @property {boolean} [bad] a quotation mark is wrong; the row is this one line
 */
/** @typedef {{columns: string[], delimiter: string, sep: boolean, line: number, rows: Row[],
 *   reported: boolean}} Table */

const ROW_MAX = 131072;
/** Columns that a table of results has at its end; the service ignores them. */
export const REPORT = ["status", "code", "line", "column", "detail"];

/** The cells of a row, or null if a quotation mark is wrong. @param {string} row
 * @param {string} delimiter @returns {string[] | null} */
export function cellsOf(row, delimiter) {
    const cells = [];
    for (let at = 0; ;) {
        let end;
        if (row[at] === '"') {
            end = at + 1;
            while ((end = row.indexOf('"', end)) >= 0 && row[end + 1] === '"') {
                end += 2;
            }
            if (end < 0 || (end + 1 < row.length && row[end + 1] !== delimiter)) {
                return null;
            }
            cells.push(row.slice(at + 1, end).replaceAll('""', '"'));
            end += 1;
        } else {
            end = row.indexOf(delimiter, at);
            end = end < 0 ? row.length : end;
            const cell = row.slice(at, end);
            if (cell.includes('"')) {
                return null;
            }
            cells.push(cell);
        }
        if (end >= row.length) {
            return cells;
        }
        at = end + 1;
    }
}

/** The character that separates the cells of the header row. @param {string} header */
export function delimiterOf(header) {
    const bare = header.replace(/"[^"]*"/g, "");
    const times = (/** @type {string} */ mark) => bare.split(mark).length - 1;
    return [",", ";", "\t"].reduce((best, mark) => (times(mark) > times(best) ? mark : best), ",");
}

/**
 * One row after the other. A row whose quotation marks are wrong, and one of several lines with
 * another number of cells, is given back as its first line alone, as the service does it.
 * @param {string} text @param {number} from @param {number} line
 * @param {(row: string) => number | null} cells  the number of cells; null if marks are wrong
 * @param {number} wanted  the number of cells of the header row; 0 takes any
 * @returns {Generator<Row>}
 */
function* split(text, from, line, cells, wanted) {
    let mark = text.indexOf('"', from);
    /** Quotation marks up to a place. @param {number} start @param {number} to */
    const marksUpTo = (start, to) => {
        if (mark >= 0 && mark < start) {
            mark = text.indexOf('"', start);
        }
        let marks = 0;
        for (; mark >= 0 && mark < to; mark = text.indexOf('"', mark + 1)) {
            marks += 1;
        }
        return marks;
    };
    for (let start = from; start < text.length;) {
        let end = text.indexOf("\n", start);
        end = end < 0 ? text.length : end;
        const first = end;
        let marks = marksUpTo(start, end);
        let lines = 1;
        while (marks % 2 && end < text.length && end - start <= ROW_MAX) {
            let next = text.indexOf("\n", end + 1);
            next = next < 0 ? text.length : next;
            marks += marksUpTo(end + 1, next);
            end = next;
            lines += 1;
        }
        const found = cells(bare(text, start, end));
        const bad = found === null || (lines > 1 && wanted > 0 && found !== wanted);
        const last = bad ? first : end;
        const stop = text[last - 1] === "\r" && last > start ? last - 1 : last;
        yield bad ? { start, end: stop, line, bad } : { start, end: stop, line };
        if (bad && lines > 1) {
            mark = text.indexOf('"', last); // the lines after the first are read again
        }
        start = last + 1;
        line += bad ? 1 : lines;
    }
}

/** @param {string} text @param {number} start @param {number} end */
const bare = (text, start, end) =>
    text.slice(start, text[end - 1] === "\r" && end > start ? end - 1 : end);

/** Read the header row and find the rows. A blank line is no row. Null without a header row.
 * @param {string} text @returns {Table | null} */
export function readTable(text) {
    let from = text.startsWith("\ufeff") ? 1 : 0;
    let line = 1;
    const mark = /^sep=([,;\t])\r?\n/i.exec(text.slice(from, from + 8));
    if (mark) {
        from += mark[0].length;
        line = 2;
    }
    const first = text.slice(from, text.indexOf("\n", from) < 0 ? undefined : text.indexOf("\n",
        from));
    const delimiter = mark?.[1] ?? delimiterOf(first);
    const cells = (/** @type {string} */ row) => cellsOf(row, delimiter)?.length ?? null;
    const header = split(text, from, line, cells, 0).next().value;
    const names = header && cellsOf(text.slice(header.start, header.end), delimiter);
    if (!header || !names?.some((name) => name.trim())) {
        return null;
    }
    const reported = names.length > REPORT.length
        && REPORT.every((name, i) => names.at(i - REPORT.length) === name);
    const next = text.indexOf("\n", header.end);
    const body = next < 0 ? text.length : next + 1;
    const lines = breaksIn(text, header.start, header.end) + 1;
    const rows = [];
    for (const row of split(text, body, line + lines, cells, names.length)) {
        if (text.slice(row.start, row.end).trim()) {
            rows.push(row);
        }
    }
    return { columns: reported ? names.slice(0, -REPORT.length) : names, delimiter, sep:
        Boolean(mark),
        line, rows, reported };
}

/** Line breaks between two places. @param {string} text @param {number} from @param {number} to */
const breaksIn = (text, from, to) => text.slice(from, to).split("\n").length - 1;

/** The rows of NDJSON: the lines that are not blank. @param {string} text @returns {Row[]} */
export function readLines(text) {
    const rows = [];
    let line = 1;
    for (let start = text.startsWith("\ufeff") ? 1 : 0; start < text.length; line += 1) {
        let end = text.indexOf("\n", start);
        end = end < 0 ? text.length : end;
        if (text.slice(start, end).trim()) {
            rows.push({ start, end, line });
        }
        start = end + 1;
    }
    return rows;
}

/** A cell as CSV has it. @param {string} value @param {string} [delimiter] */
export const quoteCell = (value, delimiter = ",") =>
    (/["\r\n]/.test(value) || value.includes(delimiter) ? `"${value.replaceAll('"', '""')}"` :
        value);

/** A value that no spreadsheet executes. The service removes the apostrophe when it reads the cell,
 * so a cell that was in a file of CSV gets no second one.
 * @param {string} value @param {boolean} [cell] whether it is a cell of a file, with its apostrophe
 * */
export const safeCell = (value, cell = false) =>
    ((cell ? /^[=+\-@\t\r]/ : /^'*[=+\-@\t\r]/).test(value) ? `'${value}` : value);

/** Rows as the text of a CSV file. @param {string[][]} rows @param {boolean} [cells] */
export const toCsv = (rows, cells = false) => rows.map((row) => `${row.map((value) =>
    quoteCell(safeCell(value, cells))).join(",")}\r\n`).join("");

/**
 * The header row with members in place of the names, and `map` for the columns to leave out.
 * @param {Table} table @param {(string | null)[]} members  null leaves a column out
 * @returns {{header: string, map: string[]}}
 */
export function newHeader(table, members) {
    const names = members.map((member, i) => member ?? `left_out_${i + 1}`);
    const all = table.reported ? [...names, ...REPORT] : names;
    return { header: `${table.sep ? `sep=${table.delimiter}\n` : ""}${all.map((name) =>
        quoteCell(name, table.delimiter)).join(table.delimiter)}\n`,
    map: names.filter((_, i) => members[i] === null).map((name) => `${name}:`) };
}

/** The number of the first line after the header row that `newHeader` writes. @param {Table} table
 * */
export const firstLine = (table) => (table.sep ? 3 : 2);

/** The columns of the file whose members are named by more than one. @param {(string | null)[]}
 * members
 * @returns {Set<number>} */
export function twice(members) {
    const own = members.map((member, i) => ({ member, i })).filter(({ member }) => member);
    return new Set(own.filter(({ member, i }) => own.some((other) => other.i !== i
        && other.member === member)).map(({ i }) => i));
}

/** Words that make the path of an attribute: "Room no." -> "attributes.room_no". @param {string}
 * name */
export const attributeOf = (name) => `attributes.${name.trim().toLowerCase()
    .normalize("NFKD").replace(/[^\p{L}\p{N}]+/gu, "_").replace(/^_+|_+$/g, "") || "column"}`;

/** A digest of a text, to recognize a file again (cyrb53, twice). @param {string} text */
export function digest(text) {
    const one = (/** @type {number} */ seed) => {
        let [a, b] = [0xdeadbeef ^ seed, 0x41c6ce57 ^ seed];
        for (let i = 0; i < text.length; i += 1) {
            const code = text.charCodeAt(i);
            a = Math.imul(a ^ code, 2654435761);
            b = Math.imul(b ^ code, 1597334677);
        }
        a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
        b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
        return (b >>> 0).toString(16).padStart(8, "0") + (a >>> 0).toString(16).padStart(8, "0");
    };
    return `${one(1)}${one(2)}-${text.length}`;
}

/** The text of a file: UTF-8, UTF-16 with its mark, else Windows-1252 as old programs write it.
 * @param {Uint8Array} bytes @returns {{text: string, encoding: string}} */
export function decode(bytes) {
    const wide = bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le"
        : bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : "";
    if (wide) {
        return { text: breaks(new TextDecoder(wide).decode(bytes)), encoding: "UTF-16" };
    }
    try {
        return { text: breaks(new TextDecoder("utf-8", { fatal: true }).decode(bytes)), encoding:
            "UTF-8" };
    } catch {
        return { text: breaks(new TextDecoder("windows-1252").decode(bytes)), encoding:
            "Windows-1252" };
    }
}

/** Line breaks of old programs, CR alone, become LF. @param {string} text */
const breaks = (text) => (text.includes("\n") ? text : text.replaceAll("\r", "\n"));
