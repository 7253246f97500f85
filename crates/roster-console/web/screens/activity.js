// Activity: who changed what, newest first, and live.
import { html } from "../vendor/lit-html/lit-html.js";
import { actorName } from "../actors.js";
import { get } from "../api.js";
import { caller, can } from "../caller.js";
import { go, here, loadStyles, refresh, setQuery } from "../page.js";
import { count, shortId } from "../texts.js";
import { icon } from "../ui/icons.js";
import { emptyState, errorPanel, noScope, pageHead, skeleton } from "../ui/parts.js";
import { follow, more, need, openLog, showPending } from "./activity_log.js";
import { AUDIT_TYPES, TYPES, subjectOf } from "./activity_text.js";
import { linesView, who } from "./activity_view.js";

await loadStyles("screens/activity.css");

/** @typedef {import("./activity_log.js").Log} Log */

/** What Back shows again: the log, and how far it was scrolled.
 * @type {{key: string, log: Log, open: Map<string, number>, top: number, at: number} | null} */
let kept = null;

const sentence = (/** @type {string} */ text) => text.charAt(0).toUpperCase() + text.slice(1);

/** Names of the records by which somebody filters. @type {Map<string, string>} */
const names = new Map();

/** @param {import("../route.js").Route} route */
export default function activity(route) {
    if (!can("events:read")) {
        return { title: "Activity", view: () => html`${pageHead({ title: "Activity" })}
            ${noScope("events:read", "read the change log")}` };
    }
    const filterOf = (/** @type {Record<string, string>} */ query) => ({ type: query.type ?? "",
        actor: query.actor ?? "", subject: query.subject ?? "" });
    const keyOf = () => JSON.stringify([here().tenant, caller().actor, filterOf(here().query)]);
    const fresh = kept && kept.key === keyOf() && Date.now() - kept.at < 600000 ? kept : null;
    const state = { log: fresh?.log ?? openLog(filterOf(route.query)),
        live: route.query.live !== "off",
        open: fresh?.open ?? /** @type {Map<string, number>} */ (new Map()), top: fresh?.top ?? 0,
        keys: /** @type {[string, string][]} */ ([]) };
    let unfollow = () => {};
    let seen = new WeakSet();

    const box = () => document.getElementById("activity");
    const atTop = () => {
        const list = box();
        return !state.open.size && (list?.scrollTop ?? 0) < 8
            && !list?.querySelector(".evs :focus");
    };

    function connect() {
        unfollow();
        unfollow = state.live && document.visibilityState === "visible" && state.log.position
            ? follow(state.log, atTop) : () => {};
    }

    /** @param {Log} log */
    async function start(log) {
        log.stop = new AbortController();
        log.asked.clear();
        if (!log.events.length) {
            await more(log);
        }
        if (log === state.log) {
            connect();
        }
    }

    /** Read the log again, from its end. */
    function again() {
        unfollow();
        state.log.stop.abort();
        state.log = openLog(filterOf(here().query));
        state.open = new Map();
        seen = new WeakSet();
        start(state.log);
        refresh();
    }
    start(state.log);
    const shownAgain = () => connect();
    document.addEventListener("visibilitychange", shownAgain);
    if (can("keys:admin")) {
        get("/keys", { query: { limit: 1000 } }).then(({ data }) => {
            state.keys = data.items.map((/** @type {any} */ key) => [`key:${key.id}`, key.name]);
            refresh();
        }, () => {});
    }

    /** A step for Back. @param {Record<string, string>} next */
    const filter = (next) => go("activity", { ...here().query, ...next });

    function setLive(on = !state.live) {
        state.live = on;
        setQuery({ live: on ? "" : "off" });
        connect();
        refresh();
    }

    // Lines that come into sight look up the values of before.
    const watch = new IntersectionObserver((entries) => {
        const ids = new Set(entries.filter((entry) => entry.isIntersecting)
            .map((entry) => /** @type {HTMLElement} */ (entry.target).dataset.event));
        if (ids.size) {
            state.log.events.filter((event) => ids.has(event.id)).forEach((event) =>
                need(state.log, event));
        }
    });

    const actors = () => {
        const { events } = state.log;
        const own = caller().open ? []
            : [/** @type {[string, string]} */ ([caller().actor, "You"])];
        const all = new Map([...own, ...state.keys, ...events.map((event) =>
            /** @type {[string, string]} */ ([event.actor, who(event.actor)])), ...own]);
        const now = state.log.filter.actor;
        if (now && !all.has(now)) {
            all.set(now, actorName(now));
        }
        return /** @type {[string, string][]} */ ([["", "Everybody"], ...all]);
    };

    /** @param {string} name @param {string} text @param {string} value @param {[string,
     * string][]} all */
    const choice = (name, text, value, all) =>
        html`<label class="act-f"><span class="sr">${text}</span>
        <select id="act-${name}" @change=${(/** @type {Event} */ event) =>
            filter({ [name]: /** @type {HTMLSelectElement} */ (event.target).value })}>
            ${all.map(([one, words]) =>
                html`<option value=${one} .selected=${one === value}>${words}
            </option>`)}</select></label>`;

    const types = () => {
        const all = [...TYPES, ...(can("audit:read") ? AUDIT_TYPES : [])];
        const now = state.log.filter.type;
        return all.some(([type]) => type === now) ? all
            : [...all, /** @type {[string, string]} */ ([now, now])];
    };

    async function pick() {
        const { pickSubject } = await import("./activity_pick.js");
        const one = await pickSubject();
        if (one) {
            names.set(one.subject, one.name);
            filter({ subject: one.subject });
        }
    }

    function subjectChip() {
        const { subject } = state.log.filter;
        if (!subject) {
            return can("users:read")
                ? html`<button class="btn" @click=${pick}>${icon("search")}User or
                group</button>` : "";
        }
        const event = state.log.events.find((one) => one.subject === subject);
        const [kind, id = ""] = subject.split("/");
        const name = (event && subjectOf(event)?.name) || names.get(subject) || shortId(id || kind);
        return html`<div class="chip"><span class="op">Only</span><bdi class="v cut">${name}</bdi>
            <button aria-label="Show all records"
                @click=${() => filter({ subject: "" })}>${icon("x")}
            </button></div>`;
    }

    const LIVE = { on: "Live", waits: "Connecting…", off: "Connecting…", ended: "Ended" };

    const tools = () => html`<div class="tools">
        ${choice("type", "What happened", state.log.filter.type, types())}
        ${choice("actor", "Who did it", state.log.filter.actor, actors())}
        ${subjectChip()}
        <div class="end"><button class="btn act-live ${state.log.live}" role="switch"
            aria-checked=${state.live ? "true" : "false"} aria-label="Live"
                @click=${() => setLive()}
            title=${state.live ? "New events appear by themselves. L pauses them."
                : "New events do not appear. L shows them live."}>
            <span class="pt"></span>${state.live ? LIVE[state.log.live]
                : "Paused"}</button></div></div>`;

    function endView() {
        const { ended } = state.log;
        if (!ended || !state.live) {
            return "";
        }
        const lost = ended.status === 410;
        return html`<div class="act-end" role="alert">${icon("warn")}<span><b>The live view
            ended.</b> ${
            lost ? "The change log does not reach back to where it was."
                : sentence(ended.detail || ended.title)}
            </span><button class="btn" @click=${lost || ended.status === 400 ? again
                : connect}>${lost
            ? "Read again" : "Connect again"}</button></div>`;
    }

    function listView() {
        const { log } = state;
        if (log.error && !log.events.length) {
            return errorPanel(log.error, () => start(log));
        }
        if (!log.events.length) {
            const some = log.filter.type || log.filter.actor || log.filter.subject;
            if (log.loading || log.next) {
                return log.loading ? skeleton(12)
                    : html`<div class="foot">Nothing in the newest events.
                    <button class="link" @click=${() => more(log)}>Look further
                        back</button></div>`;
            }
            return emptyState({ icon: "activity", title: some ? "Nothing matches"
                : "Nothing happened yet",
                text: some ? "The change log has no such event."
                    : "Each change of a user, a group or a "
                    + "setting appears here, with who made it.",
                action: some ? html`<button class="btn" @click=${() => filter({ type: "", actor: "",
                    subject: "" })}>Show everything</button>` : "" });
        }
        return html`${linesView({ log, open: state.open, filter })}
            <div class="foot">${log.error
                ? html`${log.error.title ?? "The older events did not load."}
                <button class="link" @click=${() => more(log)}>Retry</button>`
                : log.next === null ? "This is the oldest event of the log that matches."
                    : html`<button class="btn" ?disabled=${log.loading} @click=${() => more(log)}>${
                        log.loading ? "Loading…" : "Load older events"}</button>`}</div>`;
    }

    function show() {
        showPending(state.log);
        box()?.scrollTo({ top: 0 });
    }

    return {
        title: "Activity",
        view: () => html`${pageHead({ title: "Activity",
            actions: html`<button class="btn icon" aria-label="Read again" title="Read again"
                @click=${again}>${icon("sync")}</button>` })}
            ${tools()}${endView()}
            <div class="act-wrap"><div class="page act" id="activity" @scroll=${(
                /** @type {Event} */ event) => {
                state.top = /** @type {HTMLElement} */ (event.currentTarget).scrollTop;
            }}>${listView()}</div>
            <div role="status">${state.log.pending.length ? html`<button class="btn primary act-new"
                @click=${show}>${icon("arrowUp")}${count(state.log.pending.length, "new event")}:
                    show
                </button>` : ""}</div></div>`,
        changed(/** @type {import("../route.js").Route} */ next) {
            state.live = next.query.live !== "off";
            again();
        },
        keys: { l: () => setLive(), "/": pick },
        drawn() {
            document.querySelectorAll("#activity [data-event]").forEach((element) => {
                if (!seen.has(element)) {
                    seen.add(element);
                    watch.observe(element);
                }
            });
            const list = box();
            if (list && fresh && state.top && !list.dataset.placed) {
                list.dataset.placed = "yes";
                list.scrollTop = state.top;
            }
        },
        close() {
            kept = { key: keyOfLog(), log: state.log, open: state.open, top: state.top,
                at: Date.now() };
            unfollow();
            state.log.stop.abort();
            watch.disconnect();
            document.removeEventListener("visibilitychange", shownAgain);
        },
    };

    /** The fragment is another one already when the screen closes. */
    function keyOfLog() {
        return JSON.stringify([route.tenant, caller().actor, state.log.filter]);
    }
}
