// The results of an import: counted, grouped by what is wrong, and as a table of refused rows.
import { REPORT, cellsOf, toCsv } from "../csv_columns.js";
import { valueAt } from "../merge.js";

/** @typedef {{line: number, status: number, code: string, column: string, detail: string}} Refused
 * */
/** @typedef {{code: string, title: string, member: string, count: number,
 *   items: {line: number, value: string, detail: string}[]}} Group */
/** @typedef {{created: number, replaced: number, skipped: number, failed: number, taken: number,
 *   groups: Map<string, Group>, refused: Refused[]}} Tally */
/** @typedef {import("./import_job.js").Job} Job */

export const SHOWN = 50;

/** @returns {Tally} */
export const emptyTally = () => ({ created: 0, replaced: 0, skipped: 0, failed: 0, taken: 0,
    groups: new Map(), refused: [] });

/** The row that begins at a line. @param {Job} job @param {number} line */
export function rowAt({ rows }, line) {
    let [low, high] = [0, rows.length - 1];
    while (low < high) {
        const middle = (low + high + 1) >> 1;
        [low, high] = rows[middle].line <= line ? [middle, high] : [low, middle - 1];
    }
    return rows[low]?.line === line ? rows[low] : undefined;
}

/** The name in the file for a column of the request. @param {Job} job @param {string} column */
function nameOf(job, column) {
    const at = columnAt(job, column);
    return at < 0 ? column : job.table?.columns[at] ?? column;
}

/** @param {Job} job @param {string} column */
function columnAt(job, column) {
    const left = /^left_out_(\d+)$/.exec(column);
    return left ? Number(left[1]) - 1 : job.members.indexOf(column);
}

/** The value that a fault is about. @param {Job} job @param {number} line @param {string} member */
function valueOf(job, line, member) {
    const row = rowAt(job, line);
    if (!row) {
        return "";
    }
    const text = job.text.slice(row.start, row.end);
    if (job.table) {
        const cells = cellsOf(text, job.table.delimiter);
        return cells && member ? cells[job.table.columns.indexOf(member)] ?? "" : text;
    }
    try {
        const value = valueAt(JSON.parse(text), member ? `/${member}` : "");
        return value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);
    } catch {
        return text;
    }
}

/** Count one result. @param {Tally} tally @param {Job} job @param {any} one @param {number} line */
export function addResult(tally, job, one, line) {
    if (one.status === 201) {
        tally.created += 1;
    } else if (one.skipped) {
        tally.skipped += 1;
    } else if (one.status === 200) {
        tally.replaced += 1;
    } else {
        addFault(tally, job, one, line);
    }
}

/** @param {Tally} tally @param {Job} job @param {any} one @param {number} line */
function addFault(tally, job, { status, problem }, line) {
    const [first = { code: problem.code, detail: problem.detail }] = problem.errors ?? [];
    const taken = status === 409 && job.policy === "fail";
    tally.failed += 1;
    tally.taken += taken ? 1 : 0;
    const member = first.column ? nameOf(job, first.column) : (first.pointer ?? "").slice(1);
    const detail = (problem.errors?.length ? problem.errors :
        [first]).map((/** @type {any} */ fault) =>
        fault.detail).join("; ");
    const refused = { line, status, code: first.code, column: member, detail };
    tally.refused.push(refused);
    addGroup(tally, job, refused, status === 409 ? problem.title : first.detail);
}

/** Put a refused row to those with the same fault. @param {Tally} tally @param {Job} job
 * @param {Refused} refused @param {string} title */
function addGroup(tally, job, { line, code, column, detail }, title) {
    const key = `${code} ${column}`;
    let group = tally.groups.get(key);
    if (!group) {
        group = { code, title, member: column, count: 0, items: [] };
        tally.groups.set(key, group);
    }
    group.count += 1;
    if (group.items.length < SHOWN) {
        group.items.push({ line, value: valueOf(job, line, column), detail });
    }
}

/** The groups again, after a reload kept the refused rows alone. @param {Tally} tally @param {Job}
 * job */
export function regroup(tally, job) {
    tally.groups = new Map();
    tally.refused.forEach((one) => addGroup(tally, job, one, one.detail));
}

/** The refused rows as CSV, with the reason at the end. The service ignores these columns, so that
 * a
 * corrected table can be imported as it is. @param {Job} job @param {Refused[]} refused */
export function refusedCsv(job, refused) {
    const reason = (/** @type {Refused} */ { status, code, line, column, detail }) =>
        [String(status), code, String(line), column, detail];
    const texts = refused.map(({ line }) => {
        const row = rowAt(job, line);
        return row ? job.text.slice(row.start, row.end) : "";
    });
    if (job.table) {
        const { columns, delimiter, reported } = job.table;
        const width = columns.length + (reported ? REPORT.length : 0);
        return toCsv([[...columns, ...REPORT], ...refused.map((one, i) => {
            const cells = cellsOf(texts[i], delimiter);
            // A row that cannot be read as it was stays empty: correct it in the file itself.
            const own = cells?.length === width ? cells.slice(0, columns.length) :
                columns.map(() => "");
            return [...own, ...reason(one)];
        })], true);
    }
    const records = texts.map((text) => {
        try {
            return JSON.parse(text) ?? {};
        } catch {
            return {};
        }
    });
    const names = [...new Set(records.flatMap((record) => Object.keys(record)))]
        .filter((name) => !REPORT.includes(name) || name === "status");
    const cell = (/** @type {any} */ value) => (value === undefined || value === null ? ""
        : typeof value === "string" ? value : JSON.stringify(value));
    return toCsv([[...names, ...REPORT], ...refused.map((one, i) =>
        [...names.map((name) => cell(records[i][name])), ...reason(one)])]);
}
