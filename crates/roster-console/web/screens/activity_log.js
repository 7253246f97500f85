// The change log in the page: pages of the past, the stream of now, and the values of before.
import { Problem, get, send, textLines } from "../api.js";
import { can } from "../caller.js";
import { refresh } from "../page.js";
import { parseJson } from "../texts.js";
import { each, pages } from "../ui/data.js";
import { fold, frameReader, knownBefore, pause, recordOf } from "./activity_text.js";
import { readNames } from "./group_members.js";

/** `live()`: whether to follow the stream now; `atTop()`: whether new lines appear at once. */
export function activityLog(filter, live, atTop) {
    const list = pages("/events", () => ({ ...filter, sort: "-position" }),
        { size: 200, added: settle });
    const { load, more, close } = list;
    let [stop, position, flushing, heard] = [new AbortController(), "", 0, 0];
    const log = Object.assign(list, { lines: [], pending: [], before: new Map(), on: false,
        ended: null, connect, show,
        async load(size = 0) {
            stop.abort();
            position = "";
            log.pending = [];
            await load(size);
            connect();
            return log.lines.length < 20 && log.more();
        },
        /** Read older events until there are some more lines: a bulk is one line. */
        async more() {
            const enough = log.lines.length + 20;
            let page = 0;
            do {
                await more();
            } while (++page < 6 && !log.moreError && log.lines.length < enough);
        },
        watch: (line) => seen.observe(line),
        close() {
            close();
            disconnect();
            seen.disconnect();
            clearInterval(watchdog);
            document.removeEventListener("visibilitychange", connect);
        } });
    document.addEventListener("visibilitychange", connect);
    // A stream has a frame at least every 15 s.
    const watchdog = setInterval(() => log.on && Date.now() - heard > 40000 && connect(), 5000);

    function settle(events, now = "") {
        position ||= now;
        knownBefore(log.items).forEach((record, id) => log.before.set(id, record));
        can("users:read") && readNames(events);
        log.lines = fold(log.items);
        refresh();
    }
    function show() {
        log.items = [...log.pending, ...log.items];
        // While new ones come, the oldest go, and are read again when asked for.
        if (log.items.length > 5000 && atTop()) {
            log.items.length = 5000;
            log.next = log.items.at(-1).id;
        }
        settle(log.pending.splice(0));
    }
    function disconnect(ended = null) {
        stop.abort();
        Object.assign(log, { on: false, ended });
        refresh();
    }
    function connect() {
        disconnect();
        stop = new AbortController();
        return position && live() && !document.hidden && follow(stop.signal);
    }
    function take({ id, event, data }) {
        const content = data && parseJson(data);
        if (event === "end") {
            throw new Problem(content.status, content);
        }
        position = id || position;
        log.pending = [...(content ? [content] : []), ...log.pending].slice(0, 5000);
        flushing ||= window.setTimeout(() => {
            flushing = 0;
            atTop() ? show() : refresh();
        }, 120);
    }

    async function follow(signal) {
        for (let attempt = 0; !signal.aborted; attempt += 1) {
            try {
                const response = await send("GET", "/events", { signal,
                    query: { ...filter, after: position },
                    headers: { Accept: "text/event-stream" } });
                const reader = frameReader();
                log.on = true;
                heard = Date.now();
                refresh();
                for await (const line of textLines(response)) {
                    signal.throwIfAborted();
                    heard = Date.now();
                    const frame = reader.take(line);
                    if (frame) {
                        attempt = 0;
                        take(frame);
                    }
                }
            } catch (error) {
                // A request that is wrong stays wrong; others are worth another attempt.
                if (error.status >= 400 && error.status < 500 && error.status !== 429) {
                    return disconnect(error);
                }
            }
            if (!signal.aborted) {
                log.on = false;
                refresh();
                await new Promise((done) => setTimeout(done, pause(attempt, 2000)));
            }
        }
    }

    // Lines that come into sight look up the record of before, if their words need it.
    const seen = new IntersectionObserver((entries) => each(entries, 4, async (entry) => {
        const { id, subject, type, data } = entry.target["event"];
        if (entry.isIntersecting && !log.before.has(id) && /^[^s].*updated$/.test(type)
            && !["", "status", undefined].includes(data.changed?.join())) {
            log.before.set(id, null);
            const older = await get("/events", { query: { subject, sort: "-position", cursor: id,
                limit: 1 } });
            log.before.set(id, recordOf(older.data.items[0]));
            refresh();
        }
    }).catch(() => {}));
    return log;
}
