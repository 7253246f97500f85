// CSV as the service reads it (docs/bulk.md). Pure functions.

const ROW_MAX = 131072;
/** Columns that a table of results has at its end; the service ignores them. */
export const REPORT = ["status", "code", "line", "column", "detail"];

/** The row at a place: its cells, its end, and the next row. Null if a quotation mark is wrong. */
function rowFrom(text, start, delimiter) {
    const cell = new RegExp(`(?:"([^"]*(?:""[^"]*)*)"|([^"\\n${delimiter}]*?))`
        + `(${delimiter}|\\r?(?:\\n|$))`, "y");
    cell.lastIndex = start;
    for (const cells = []; ;) {
        const found = cell.exec(text);
        if (!found) {
            return null;
        }
        cells.push(found[1]?.replaceAll('""', '"') ?? found[2]);
        if (found[3] !== delimiter) {
            return { cells, end: found.index + found[0].length - found[3].length,
                next: cell.lastIndex };
        }
    }
}

function lineFrom(text, start) {
    const at = text.indexOf("\n", start);
    const end = at < 0 ? text.length : at;
    return { end: text[end - 1] === "\r" ? end - 1 : end, next: end + 1 };
}

/** The cells of a row, or null if a quotation mark is wrong. */
export const cellsOf = (row, delimiter) => rowFrom(row, 0, delimiter)?.cells ?? null;

/** The character that separates the cells of the header row. */
export function delimiterOf(header) {
    const bare = header.replace(/"[^"]*"/g, "");
    const times = (mark) => bare.split(mark).length;
    return [";", "\t"].reduce((best, mark) => (times(mark) > times(best) ? mark : best), ",");
}

/** One row after the other. One whose quotation marks are wrong, and one of several lines with
 * another number of cells than the first row, is `bad`: its first line alone, as in the service. */
function* rowsFrom(text, start, line, delimiter) {
    for (let width = 0; start < text.length;) {
        const row = rowFrom(text, start, delimiter);
        const size = row?.cells.length;
        const bad = !row || (width > 0 && (size !== width || row.end - start > ROW_MAX)
            && text.slice(start, row.end).includes("\n"));
        const { end, next } = bad ? lineFrom(text, start) : row;
        yield { start, end, line, bad };
        width ||= size;
        line += text.slice(start, end).split("\n").length;
        start = next;
    }
}

const notBlank = (text) => ({ start, end }) => text.slice(start, end).trim();

/** The header row, without the columns of a table of results, and the other rows. */
export function readTable(text) {
    const [top, sep] = /^\ufeff?(?:sep=([,;\t])\r?\n)?/i.exec(text);
    const delimiter = sep ?? delimiterOf(text.slice(top.length, lineFrom(text, top.length).end));
    const [, ...rows] = rowsFrom(text, top.length, sep ? 2 : 1, delimiter);
    const names = rowFrom(text, top.length, delimiter)?.cells;
    if (!names?.some((name) => name.trim())) {
        return null;
    }
    const own = names.length - REPORT.length;
    return { columns: String(names.slice(own)) === String(REPORT) ? names.slice(0, own) : names,
        width: names.length, delimiter, rows: rows.filter(notBlank(text)) };
}

/** The rows of NDJSON. */
export function readLines(text) {
    const rows = [];
    for (let line = 1, start = text.startsWith("\ufeff") ? 1 : 0; start < text.length; line += 1) {
        const { end, next } = lineFrom(text, start);
        rows.push({ start, end, line });
        start = next;
    }
    return rows.filter(notBlank(text));
}

/** A value that no spreadsheet executes. The service removes the apostrophe when it reads the cell,
 * so a `cell` that was in a file of CSV gets no second one. */
export const safeCell = (value, cell = false) =>
    ((cell ? /^[=+\-@\t\r]/ : /^'*[=+\-@\t\r]/).test(value) ? `'${value}` : value);

/** Rows as the text of a CSV file. */
export const toCsv = (rows, cells = false) => rows.map((row) => `${row.map((value) =>
    (/[",\r\n]/.test(value) ? `"${safeCell(value, cells).replaceAll('"', '""')}"`
        : safeCell(value, cells))).join(",")}\r\n`).join("");

/** The header row with members in place of the names, and `map` for the columns to leave out, whose
 * member is null: they have no name. */
export function newHeader({ width, delimiter }, members) {
    const names = Array.from({ length: width }, (_, at) => members[at] ?? "");
    return { header: `${names.join(delimiter)}\n`, map: names.includes("") ? ":" : "" };
}

/** Words that make the path of an attribute which filters find: "Room no." ->
 * "attributes.room_no". */
export const attributeOf = (name) => `attributes.${name.toLowerCase().normalize("NFKD")
    .replace(/[\u0300-\u036f]/g, "").replaceAll("ß", "ss").replace(/[^a-z0-9]+/g, "_")
    .replace(/^[^a-z]+|_+$/g, "").slice(0, 64) || "column"}`;

/** A digest of a text, to recognize a file again. */
export function digest(text) {
    let hash = 0;
    for (let at = 0; at < text.length; at += 1) {
        hash = Math.imul(hash, 31) + text.charCodeAt(at) | 0;
    }
    return `${hash}.${text.length}`;
}

/** The text of a file: UTF-8, UTF-16 with its mark, else Windows-1252 as old programs write it.
 * Line breaks that are CR alone become LF. */
export function decode(bytes) {
    const read = (encoding) => {
        const text = new TextDecoder(encoding, { fatal: encoding === "utf-8" }).decode(bytes);
        return { text: text.includes("\n") ? text : text.replaceAll("\r", "\n"), encoding };
    };
    try {
        return read({ "255,254": "utf-16le", "254,255": "utf-16be" }[bytes.slice(0, 2).join()]
            ?? "utf-8");
    } catch {
        return read("windows-1252");
    }
}
