// The change log as the page holds it: pages of the past, the stream of what happens now, and the
// values of before.
import { asProblem, get, isAbort, send, textLines } from "../api.js";
import { can } from "../caller.js";
import { refresh } from "../page.js";
import { userName } from "../texts.js";
import { frameReader, pause } from "./activity_stream.js";
import { fold, knownBefore, recordOf } from "./activity_text.js";

/** @typedef {import("./activity_text.js").Event} Event */
/** @typedef {{type: string, actor: string, subject: string}} Filter */
/** @typedef {"off" | "on" | "waits" | "ended"} Live */

const PAGE = 200;
/** More are not kept: the oldest go, and are read again when asked for. */
const MOST = 5000;
/** A stream has a frame at least every 15 s. */
const SILENCE = 40000;

/** @param {Filter} filter */
export function openLog(filter) {
    return {
        filter, events: /** @type {Event[]} */ ([]), pending: /** @type {Event[]} */ ([]),
        next: /** @type {string | null} */ (""), position: "", loading: false,
        error: /** @type {any} */ (null), ended: /** @type {any} */ (null),
        live: /** @type {Live} */ ("off"), lines: /** @type {import("./activity_text.js").Line[]}
         * */ ([]),
        before: /** @type {Map<string, Record<string, any> | null>} */ (new Map()),
        names: /** @type {Map<string, {screen: string, name: string}>} */ (new Map()),
            asked: new Set(),
        queue: /** @type {(() => Promise<void>)[]} */ ([]), running: 0,
        stop: new AbortController(), turn: 0, gap: false,
    };
}

/** @typedef {ReturnType<typeof openLog>} Log */

/** @param {Filter} filter */
const query = ({ type, actor, subject }) => ({ type, actor, subject });

/** After each change of the events. @param {Log} log */
function settle(log) {
    if (log.events.length > MOST) {
        log.events.length = MOST;
        log.next = log.events[MOST - 1].id;
    }
    log.lines = fold(log.events);
    knownBefore(log.events).forEach((record, id) => log.before.set(id, record));
    refresh();
}

/** Read the next older events, until there are some lines. @param {Log} log */
export async function more(log) {
    if (log.loading || log.next === null) {
        return;
    }
    log.loading = true;
    log.error = null;
    refresh();
    const enough = log.lines.length + 20;
    try {
        for (let page = 0; page < 6 && log.next !== null && log.lines.length < enough; page += 1) {
            const answer = await get("/events", { signal: log.stop.signal, query: {
                ...query(log.filter), sort: "-position", limit: PAGE, cursor: log.next } });
            log.position ||= answer.position;
            log.next = answer.data.next_cursor;
            log.events.push(...answer.data.items);
            settle(log);
        }
    } catch (error) {
        log.error = isAbort(error) ? null : error;
    }
    log.loading = false;
    refresh();
}

/** Show what the stream has brought. @param {Log} log */
export function showPending(log) {
    if (log.gap) {
        log.events = [];
        log.next = log.pending.at(-1)?.id ?? "";
        log.gap = false;
    }
    log.events = [...log.pending, ...log.events];
    log.pending = [];
    settle(log);
}

/**
 * Follow the stream until `stop`, over disconnections.
 * @param {Log} log @param {() => boolean} atTop whether new lines may appear at once
 * @returns {() => void} stop
 */
export function follow(log, atTop) {
    const end = new AbortController();
    const turn = ++log.turn;
    /** @type {Event[]} */
    let inbox = [];
    let flushing = 0;
    const flush = () => {
        flushing = 0;
        log.pending.unshift(...inbox.reverse());
        inbox = [];
        // Too many to keep: only the newest, and what is older is read as pages.
        if (log.pending.length > MOST) {
            log.pending.length = MOST;
            log.gap = true;
        }
        atTop() ? showPending(log) : refresh();
    };

    /** @param {import("./activity_stream.js").Frame} frame */
    function take(frame) {
        if (frame.event === "end") {
            log.ended = JSON.parse(frame.data);
            end.abort();
            return;
        }
        if (frame.id) {
            log.position = frame.id;
        }
        if (frame.data) {
            inbox.push(JSON.parse(frame.data));
            flushing ||= window.setTimeout(flush, 120);
        }
    }

    async function run() {
        let wait = 2000;
        for (let attempt = 0; !end.signal.aborted; attempt += 1) {
            const once = new AbortController();
            end.signal.addEventListener("abort", () => once.abort(), { once: true });
            let silent = window.setTimeout(() => once.abort(), SILENCE);
            try {
                const response = await send("GET", "/events", { signal: once.signal,
                    query: { ...query(log.filter), after: log.position || "latest" },
                    headers: { Accept: "text/event-stream",
                        ...(log.position ? { "Last-Event-ID": log.position } : {}) } });
                log.live = "on";
                refresh();
                const reader = frameReader();
                for await (const line of textLines(response)) {
                    clearTimeout(silent);
                    silent = window.setTimeout(() => once.abort(), SILENCE);
                    const frame = reader.take(line);
                    if (frame) {
                        attempt = 0;
                        wait = frame.retry ?? wait;
                        take(frame);
                    }
                }
            } catch (error) {
                const problem = asProblem(error);
                // A request that is wrong stays wrong; others are worth another attempt.
                if (problem.status >= 400 && problem.status < 500 && problem.status !== 429) {
                    log.ended = problem;
                    end.abort();
                } else if (problem.retryAfter) {
                    wait = Math.max(wait, problem.retryAfter * 1000);
                }
            }
            clearTimeout(silent);
            once.abort();
            if (!end.signal.aborted) {
                log.live = "waits";
                refresh();
                await sleep(pause(attempt, wait), end.signal);
            }
        }
        if (log.turn === turn) {
            log.live = log.ended ? "ended" : "off";
            refresh();
        }
    }
    log.ended = null;
    log.live = "waits";
    run();
    return () => end.abort();
}

/** @param {number} ms @param {AbortSignal} signal */
const sleep = (ms, signal) => new Promise((done) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", () => {
        clearTimeout(timer);
        done(undefined);
    }, { once: true });
});

/** Run at most four look-ups at a time. @param {Log} log @param {() => Promise<void>} job */
function later(log, job) {
    log.queue.push(job);
    const next = async () => {
        log.running += 1;
        for (let one = log.queue.shift(); one
            && !log.stop.signal.aborted; one = log.queue.shift()) {
            await one().catch(() => {});
            refresh();
        }
        log.running -= 1;
    };
    if (log.running < 4) {
        next();
    }
}

/** Whether the words of an event need the record before it. @param {Event} event */
const needsBefore = ({ type, data }) => type.endsWith(".updated") && type !== "schema.updated"
    && (data.changed === undefined
        || (data.changed.length > 0 && data.changed.join() !== "status"));

/** Look up what the words of an event need: the values of before, names of members.
 * @param {Log} log @param {Event} event */
export function need(log, event) {
    if (needsBefore(event) && recordOf(event) && !log.before.has(event.id)
        && !log.asked.has(event.id)) {
        log.asked.add(event.id);
        later(log, async () => {
            const { data } = await get("/events", { signal: log.stop.signal, query: {
                subject: event.subject, sort: "-position", cursor: event.id, limit: 1 } });
            log.before.set(event.id, recordOf(data.items[0]) ?? null);
        });
    }
    const members = [...(event.data.added ?? []), ...(event.data.removed ?? [])];
    if (members.length <= 3 && can("users:read")) {
        members.filter((id) => !log.asked.has(id) && !log.names.has(id)).forEach((id) => {
            log.asked.add(id);
            later(log, () => findName(log, id));
        });
    }
}

/** Lists answer for an id that they do not have, too. @type {[string, string][]} */
const PLACES = [["users", "name,display_name,given_name,family_name,username,email"],
    ["groups", "display_name"], ["deleted-users", ""]];

/** @param {Log} log @param {string} id */
async function findName(log, id) {
    for (const [place, fields] of PLACES) {
        const { data } = await get(`/${place}`, { signal: log.stop.signal,
            query: { filter: `id eq "${id}"`, limit: 1, fields } });
        const [found] = data.items;
        if (found) {
            log.names.set(id, { screen: place === "groups" ? "groups" : "users",
                name: place === "groups" ? found.display_name : userName(found) });
            return;
        }
    }
}
