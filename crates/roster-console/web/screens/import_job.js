// An import: its file, what the service says of it in a dry run, and the run in pieces.
import { Problem, asProblem, get, isAbort, jsonLines, newKey, send } from "../api.js";
import { digest, firstLine, newHeader, readLines, readTable } from "../csv_columns.js";
import { refresh } from "../page.js";
import { addResult, emptyTally } from "./import_faults.js";
import { forget, save } from "./import_saved.js";

/** @typedef {"fail" | "skip" | "merge" | "replace"} Policy */
/** @typedef {import("./import_faults.js").Tally} Tally */
/** @typedef {ReturnType<typeof newJob>} Job */

const PIECE_ROWS = 1000;
const PIECE_CHARS = 4_000_000;

/** @param {string} tenant */
export const newJob = (tenant) => ({
    tenant, step: /** @type {"file" | "columns" | "check" | "run" | "done"} */ ("file"),
    name: "", text: "", kind: /** @type {"csv" | "ndjson"} */ ("csv"), encoding: "", hash: "",
    table: /** @type {import("../csv_columns.js").Table | null} */ (null),
    rows: /** @type {import("../csv_columns.js").Row[]} */ ([]),
    members: /** @type {(string | null)[]} */ ([]), unknown: /** @type {Set<number>} */ (new Set()),
    attributes: /** @type {any[]} */ ([]), schema: /** @type {any[]} */ ([]),
    faults: /** @type {Record<number, string>} */ ({}),
    policy: /** @type {Policy} */ ("fail"), match: "", key: newKey(),
    tally: /** @type {Tally} */ (emptyTally()), error: /** @type {any} */ (null),
    state: /** @type {"" | "checking" | "checked" | "running" | "paused" | "stopped"} */ (""),
    next: 0, part: 0, begun: 0, doneBefore: 0, waiting: 0, looping: false,
    stop: new AbortController(),
});

/** Take a text; returns what is wrong with it, or "". @param {Job} job @param {string} name
 * @param {string} text @param {string} encoding */
export function takeText(job, name, text, encoding) {
    const start = text.replace(/^\ufeff?\s*/, "");
    if (start.startsWith("[")) {
        try {
            text = JSON.parse(start).map((/** @type {any} */ one) => JSON.stringify(one))
                .join("\n");
        } catch {
            return "The text begins like a JSON array but is none. Roster reads CSV and NDJSON: "
                + "one JSON object a line.";
        }
    }
    const kind = /^[{[]/.test(start) ? "ndjson" : "csv";
    const table = kind === "csv" ? readTable(text) : null;
    const rows = table?.rows ?? (kind === "ndjson" ? readLines(text) : []);
    if (kind === "csv" && (!table || !rows.length)) {
        return table ? "There is a header row, but no row below it."
            : "There is no header row. The first row names the columns, such as: username,email.";
    }
    Object.assign(job, { name, text, kind, encoding, table, rows, hash: digest(text), members: [],
        unknown: new Set(), faults: {}, tally: emptyTally(), error: null, state: "", next: 0, part:
            0 });
    return "";
}

/** Ask the service which member each column has. @param {Job} job */
export async function guess(job) {
    const columns = job.table?.columns ?? [];
    const schema = (await get("/schema").catch(() => ({ data: {} }))).data;
    job.schema = schema.members ?? [];
    job.attributes = schema.attributes ?? [];
    let open = columns.map((_, i) => i).filter((i) => columns[i].trim());
    job.members = columns.map(() => null);
    for (let attempt = 0; open.length && attempt < 20; attempt += 1) {
        const header = `${open.map((i) => `"${columns[i].replaceAll('"', '""')}"`).join(",")}\n`;
        try {
            const response = await send("POST", "/bulk/users", { lines: header,
                query: { dry_run: true, map: "guess" }, headers: { "Content-Type": "text/csv" } });
            for await (const one of jsonLines(response)) {
                one.columns?.forEach((/** @type {any} */ { member }, /** @type {number} */ at) => {
                    job.members[open[at]] = memberOf(columns[open[at]], member);
                });
            }
            break;
        } catch (error) {
            const problem = asProblem(error);
            const names = problem.errors.map(({ column }) => column);
            if (problem.code !== "invalid-columns" || !names.some(Boolean)) {
                throw error;
            }
            for (const name of names) {
                const at = open.findLastIndex((i) => columns[i] === name);
                open = open.filter((_, i) => i !== at);
            }
        }
    }
    job.unknown = new Set(columns.map((_, i) => i).filter((i) => job.members[i] === null));
}

/** `active` is the status as true or false; the service shows the member in which it ends.
 * @param {string} column @param {string} member */
const memberOf = (column, member) =>
    (member === "status" && /(^|[:.])active$/i.test(column.trim()) ? "active" : member);

/** The rows from one to another as a body. @param {Job} job @param {number} from @param {number} to
 * */
function request(job, from, to) {
    const { table, rows, text } = job;
    const head = table ? newHeader(table, job.members) : { header: "", map: [] };
    const end = to < rows.length ? rows[to].start : text.length;
    return { body: new Blob([head.header, text.slice(rows[from].start, end)]), map: head.map,
        shift: rows[from].line - (table ? firstLine(table) : 1) };
}

/**
 * Send rows and count the results.
 * @param {Job} job @param {number} from @param {number} to @param {{dry: boolean, key?: string}}
 * options
 * @param {(processed: number) => void} progress @returns {Promise<Tally>}
 */
async function sendRows(job, from, to, { dry, key }, progress) {
    const { body, map, shift } = request(job, from, to);
    const tally = emptyTally();
    const response = await send("POST", "/bulk/users", { lines: /** @type {any} */ (body),
        signal: job.stop.signal, headers: { Accept: "application/x-ndjson",
            "Content-Type": job.kind === "csv" ? "text/csv" : "application/x-ndjson",
            ...(key ? { "Idempotency-Key": key } : {}) },
        query: { dry_run: dry || "", on_conflict: job.policy === "fail" ? "" : job.policy,
            match: job.match, map } });
    let last;
    for await (const one of jsonLines(response)) {
        last = one;
        if (one.line) {
            if ([401, 429, 503, 507].includes(one.status)) {
                throw new Problem(one.status, one.problem);
            }
            addResult(tally, job, one, one.line + shift);
            progress(one.processed);
        }
    }
    if (!last?.done) {
        throw new Problem(0, { title: "The connection broke", code: "no-connection",
            detail: "The answer of the service ended too early." });
    }
    return tally;
}

let drawnAt = 0;
/** Draw, but not for each of a million results. */
function refreshSometimes() {
    if (Date.now() - drawnAt > 80) {
        drawnAt = Date.now();
        refresh();
    }
}

/** The dry run of all rows. @param {Job} job */
export async function check(job) {
    job.stop.abort();
    job.stop = new AbortController();
    const mine = job.stop;
    Object.assign(job, { step: "check", state: "checking", part: 0, error: null, tally:
        emptyTally() });
    refresh();
    try {
        const tally = await sendRows(job, 0, job.rows.length, { dry: true }, (processed) => {
            job.part = processed;
            refreshSometimes();
        });
        Object.assign(job, { tally, state: "checked" });
    } catch (error) {
        if (isAbort(error) || mine.signal.aborted) {
            return;
        }
        const problem = asProblem(error);
        job.state = "";
        if (problem.code === "invalid-columns") {
            Object.assign(job, { step: "columns", faults:
                Object.fromEntries(problem.errors.map((one) =>
                [job.members.findIndex((member) => member === one.column), one.detail])) });
        } else {
            job.error = problem;
        }
    }
    refresh();
}

/** Where the piece that begins at a row ends. @param {Job} job @param {number} from */
function pieceEnd({ rows }, from) {
    let to = Math.min(rows.length, from + PIECE_ROWS);
    while (to > from + 1 && rows[to - 1].end - rows[from].start > PIECE_CHARS) {
        to -= 1;
    }
    return to;
}

/** Run, or go on. Each piece has its own key, so that one that was sent before does no harm.
 * @param {Job} job */
export async function run(job) {
    if (job.looping) {
        job.state = "running"; // the piece on its way is the last one no more
        refresh();
        return;
    }
    if (job.next === 0) {
        job.tally = emptyTally();
    }
    job.stop = new AbortController();
    Object.assign(job, { step: "run", state: "running", looping: true, error: null,
        begun: Date.now(),
        doneBefore: job.next });
    save(job);
    refresh();
    const keyed = job.policy === "fail" || job.policy === "skip";
    for (let tries = 0; job.state === "running" && job.next < job.rows.length;) {
        const to = pieceEnd(job, job.next);
        job.part = 0;
        try {
            const tally = await sendRows(job, job.next, to,
                { dry: false, key: keyed ? `${job.key}-${job.next}` : undefined }, (processed) => {
                    job.part = processed;
                    refreshSometimes();
                });
            merge(job.tally, tally);
            Object.assign(job, { next: to, part: 0 });
            tries = 0;
            save(job);
        } catch (error) {
            const problem = asProblem(error);
            const again = [429, 503].includes(problem.status) && tries < 3;
            tries += 1;
            job.part = 0;
            if (again && job.state === "running") {
                await wait(job, problem.retryAfter || 2 ** tries);
            } else {
                Object.assign(job, isAbort(error) ? { state: "paused" }
                    : { state: "stopped", error: problem });
            }
        }
        refresh();
    }
    job.looping = false;
    if (job.next >= job.rows.length) {
        Object.assign(job, { state: "", step: "done" });
        forget(job.tenant);
    }
    refresh();
}

/** @param {Job} job @param {number} seconds */
async function wait(job, seconds) {
    for (job.waiting = Math.ceil(seconds); job.waiting > 0 && job.state === "running";
        job.waiting -= 1) {
        refresh();
        await new Promise((done) => setTimeout(done, 1000));
    }
    job.waiting = 0;
}

/** Stop after the piece that is on its way. @param {Job} job */
export function pause(job) {
    if (job.state === "running") {
        job.state = "paused";
        refresh();
    }
}

/** @param {Tally} all @param {Tally} more */
function merge(all, more) {
    for (const name of /** @type {const} */ (["created", "replaced", "skipped", "failed",
        "taken"])) {
        all[name] += more[name];
    }
    all.refused.push(...more.refused);
    for (const [key, group] of more.groups) {
        const old = all.groups.get(key);
        if (old) {
            old.count += group.count;
            old.items.push(...group.items.slice(0, Math.max(0, 50 - old.items.length)));
        } else {
            all.groups.set(key, group);
        }
    }
}
