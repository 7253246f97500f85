// An import: its file, the dry run, the run in pieces, and what was refused.
import { Problem, asProblem, base, get, getSession, jsonLines, newKey, send } from "../api.js";
import { REPORT, cellsOf, decode, digest, newHeader, readLines, readTable, toCsv }
    from "../csv_columns.js";
import { own, valueAt } from "../merge.js";
import { refresh } from "../page.js";
import { parseJson, toJson } from "../texts.js";

const PIECE = 1000;
const REFUSED_KEPT = 5000;

const newTally = () => ({ created: 0, replaced: 0, skipped: 0, failed: 0, refused: [] });

/** `next` is the row after the last one that has a result. */
export const newJob = (tenant) => ({ tenant, step: "file", busy: false, error: null, name: "",
    pasted: "", encoding: "", hash: "", text: "", table: null, rows: [], members: [], schema: {},
    faults: {}, policy: "fail", match: "", key: newKey(), next: 0, tally: newTally(), began: null,
    stop: new AbortController() });

/** Change some of it, and draw. */
export function change(job, next) {
    Object.assign(job, next);
    refresh();
}

/** Stop the request. What it stored is known by the key when it is sent again. */
export function halt(job, next = {}) {
    job.stop.abort();
    change(job, { busy: false, error: null, ...next });
}

/** Read a file, and go to the next step. */
export async function open(job, file) {
    change(job, { busy: true, error: null });
    try {
        await take(job, file);
        const kept = saved(job.tenant);
        if (kept && kept.hash !== job.hash) {
            throw new Error("This is another file than that of the import that stopped.");
        }
        // Without the right to read it, attributes are found by their names alone.
        job.schema = (await get("/schema").catch((error) => {
            if (error.status !== 403) {
                throw error;
            }
            return { data: {} };
        })).data;
        if (kept) {
            Object.assign(job, { ...kept, step: "run" });
        } else if (job.table) {
            await guess(job, [...job.members.keys()].filter((at) => job.table.columns[at].trim()));
            job.step = "columns";
        } else {
            return run(job, true);
        }
    } catch (error) {
        Object.assign(job, { error: asProblem(error), name: "" });
    }
    change(job, { busy: false });
}

async function take(job, file) {
    const bytes = new Uint8Array(await file.arrayBuffer());
    if (bytes[0] < 0xfe && bytes.subarray(0, 1000).includes(0)) {
        throw new Error("This is no text. Save it as “CSV UTF-8” in a spreadsheet program.");
    }
    let { text, encoding } = decode(bytes);
    const start = text.replace(/^\ufeff?\s*/, "");
    if (start.startsWith("[")) {
        text = parseJson(start).map(toJson).join("\n");
    }
    const table = /^[{[]/.test(start) ? null : readTable(text) ?? { columns: [], rows: [] };
    const rows = table?.rows ?? readLines(text);
    if (!rows.length) {
        throw new Error("There must be a header row, such as username,email, and rows below it.");
    }
    Object.assign(job, { name: file.name, text, encoding, table, rows, hash: digest(text),
        faults: {}, members: (table?.columns ?? []).map(() => null) });
}

/** Ask the service which member each column has. */
async function guess(job, open) {
    const { table: { columns }, members } = job;
    try {
        const answer = jsonLines(await send("POST", "/bulk/users", {
            lines: `${open.map((at) => `"${columns[at].replaceAll('"', '""')}"`)}\n`,
            headers: { "Content-Type": "text/csv" }, query: { dry_run: true, map: "guess" } }));
        (await answer.next()).value.columns.forEach(({ column, member }, at) => {
            // `active` is the status as true or false; the answer is where it ends.
            members[open[at]] = member === "status" && /(^|[:.])active\s*$/i.test(column)
                ? "active" : member;
        });
    } catch (error) {
        if (error.code !== "invalid-columns") {
            throw error;
        }
        // Ask again without the columns that are not known. The service reads their names so too.
        const nameOf = (at) => columns[at].trim().replace(/^'/, "");
        const known = error.errors.reduce((rest, { column }) => {
            const last = rest.findLastIndex((at) => nameOf(at) === column.replace(/^'/, ""));
            return last < 0 ? rest : rest.toSpliced(last, 1);
        }, open);
        if (known.length && known.length < open.length) {
            await guess(job, known);
        }
    }
}

/** Send the rows of a piece that are left, and count the results. */
async function sendPiece(job, signal, dry) {
    const { table, rows, text, members, policy, match, next } = job;
    const size = dry ? rows.length : PIECE;
    const from = next - next % size;
    const to = Math.min(rows.length, from + size);
    const { header, map } = table ? newHeader(table, members) : { header: "", map: "" };
    const shift = rows[from].line - (table ? 2 : 1);
    // The service knows a row that it stored by the key, the number of the line and the text.
    const gap = "\n".repeat(rows[next].line - rows[from].line);
    const response = await send("POST", "/bulk/users", { signal,
        lines: new Blob([header, gap, text.slice(rows[next].start, rows[to]?.start)]),
        headers: { "Content-Type": table ? "text/csv" : "application/x-ndjson",
            ...(dry || policy === "merge" || policy === "replace" ? {}
                : { "Idempotency-Key": `${job.key}-${from}` }) },
        query: { dry_run: dry || "", on_conflict: policy, map,
            match: policy === "fail" ? "" : match } });
    let last;
    for await (last of jsonLines(response)) {
        signal.throwIfAborted();
        if (last.line) {
            count(job, last, last.line + shift);
        }
        if (job.next % 500 === 0) {
            refresh();
        }
    }
    if (!last?.done) {
        throw new Problem(0, { title: "The connection broke" });
    }
    job.next = to;
}

function count(job, { status, skipped, problem }, line) {
    const { tally, table, rows, members } = job;
    if ([401, 429, 503, 507].includes(status)) {
        throw new Problem(status, problem);
    }
    while (rows[job.next]?.line <= line) {
        job.next += 1;
    }
    if (status < 300) {
        tally[status === 201 ? "created" : skipped ? "skipped" : "replaced"] += 1;
        return;
    }
    const faults = problem.errors?.length ? problem.errors : [problem];
    const [{ code, column, pointer = "", detail }] = faults;
    tally.failed += 1;
    tally.refused.push({ line, at: job.next - 1, status, code,
        title: status === 409 ? problem.title : detail,
        column: table?.columns[members.indexOf(column)] ?? column ?? pointer.slice(1),
        detail: faults.map((fault) => fault.detail).join("; ") });
}

/** The dry run of all rows, or the run, or what is left of it. */
export async function run(job, dry = false) {
    job.stop.abort();
    const { signal } = job.stop = new AbortController();
    if (job.step !== "run") {
        Object.assign(job, { next: 0, tally: newTally() });
        // Its column may be left out by now.
        job.match = !job.table || job.members.includes(job.match) ? job.match : "";
    }
    change(job, { step: dry ? "check" : "run", busy: true, error: null,
        began: { at: Date.now(), next: job.next } });
    try {
        while (job.next < job.rows.length) {
            if (!dry) {
                save(job);
            }
            await sendPiece(job, signal, dry);
        }
        if (!dry) {
            forget(job.tenant);
            job.step = "done";
        }
    } catch (caught) {
        if (signal.aborted) {
            return;
        }
        const error = asProblem(caught);
        job.error = error;
        if (error.code === "invalid-columns") {
            Object.assign(job, { step: "columns", faults: Object.fromEntries(error.errors.map(
                (one) => [job.members.indexOf(one.column), one.detail])) });
        }
    }
    change(job, { busy: false });
}

const place = (tenant) => `roster-import:${base}:${getSession()?.tenant ?? tenant}`;

/** Keep what a reload needs to go on; no values of users. */
function save({ tenant, hash, name, next, policy, match, members, key, tally, rows: { length } }) {
    const refused = tally.refused.slice(0, REFUSED_KEPT);
    try {
        sessionStorage.setItem(place(tenant), JSON.stringify({ hash, name, next, policy, match,
            members, key, total: length, tally: { ...tally, refused } }));
    } catch {
        // Without room the import still runs; only a reload cannot go on.
    }
}

export const saved = (tenant) => JSON.parse(sessionStorage.getItem(place(tenant)));

export function forget(tenant) {
    sessionStorage.removeItem(place(tenant));
    refresh();
}

/** A refused row: its text, and its cells or members, if it can be read. */
function rowOf({ rows, text, table }, { at }) {
    const row = text.slice(rows[at].start, rows[at].end);
    try {
        return { row, cells: table ? cellsOf(row, table.delimiter) : parseJson(row) };
    } catch {
        return { row };
    }
}
const textOf = (value) => (typeof value === "string" ? value
    : (value ?? null) === null ? "" : JSON.stringify(value));

/** What a refused row has at the fault. */
export function valueOf(job, one) {
    const { row, cells } = rowOf(job, one);
    return !cells || !one.column ? row : textOf(job.table
        ? cells[job.table.columns.indexOf(one.column)] : valueAt(cells, `/${one.column}`));
}

/** The refused rows as CSV, with the reason at the end. The service ignores these columns, so that
 * a corrected table can be imported as it is. */
export function refusedCsv(job) {
    const { table } = job;
    const refused = job.tally.refused.map((one) => ({ ...one, ...rowOf(job, one) }));
    const names = table?.columns
        ?? [...new Set(refused.flatMap(({ cells }) => Object.keys(cells ?? {})))];
    // A row that cannot be read as it was stays empty: correct it in the file itself.
    return toCsv([[...names, ...REPORT], ...refused.map((one) => [
        ...names.map((name, at) => (!table ? textOf(own(one.cells, name))
            : one.cells?.length === table.width ? one.cells[at] : "")),
        ...REPORT.map((name) => String(one[name]))])], Boolean(table));
}
