// Activity, and the history of a group: who changed what, newest first.
import { html } from "../vendor/lit-html/lit-html.js";
import { repeat } from "../vendor/lit-html/directives/repeat.js";
import { actorName, actors, isMine } from "../actors.js";
import { caller, can } from "../caller.js";
import { go, here, refresh, setQuery, to } from "../page.js";
import { count, date, dateTime, fullTime } from "../texts.js";
import { icon } from "../ui/icons.js";
import { listScreen, listView } from "../ui/list.js";
import { copyButton, cut, noScope, safely } from "../ui/parts.js";
import { activityLog } from "./activity_log.js";
import { TYPES, foldText, sentenceOf, subjectOf } from "./activity_text.js";
import { people } from "./group_members.js";

const open = new Set();
let log;

const filter = (next) => go("activity", { ...here().query, ...next });
const isLive = () => here().query.live !== "off";
/** On an open service everybody has the same name. */
const who = (actor) => (isMine(actor) && !caller().open ? "You" : actorName(actor));

export default function activity(route) {
    const { type = "", actor = "", subject = "" } = route.query;
    const box = () => document.getElementById("list-page");
    // Ask for the names of all keys.
    actorName("key:");

    function setLive() {
        setQuery({ live: isLive() ? "off" : "" });
        log.connect();
    }
    async function pick() {
        const { pickSubject } = await import("./group_add.js");
        const picked = await pickSubject();
        return picked && filter({ subject: picked });
    }
    const choice = (name, text, value, all) => html`<select class="in" id="act-${name}"
        aria-label=${text} @change=${(event) => filter({ [name]: event.target.value })}>
        ${all.map(([one, words]) => html`<option value=${one} .selected=${one === value}>${words}
            </option>`)}</select>`;

    function tools() {
        const some = new Set([caller().actor, ...Object.keys(actors()), actor,
            ...(log.items ?? []).map((event) => event.actor)].filter(Boolean));
        const event = log.items?.find((one) => one.subject === subject);
        const name = subjectOf(event ?? { subject, type: "", data: {} })?.name ?? subject;
        return html`<div class="tools">
            ${choice("type", "What happened", type, TYPES.filter(([, , scope = "events:read"]) =>
                can(scope)))}
            ${choice("actor", "Who did it", actor, [["", "Everybody"],
                ...[...some].map((one) => [one, who(one)])])}
            ${subject ? html`<div class="chip"><span class="op">Only</span><span class="v"><bdi
                class="cut">${name}</bdi></span><button aria-label="Show all records"
                @click=${() => filter({ subject: "" })}>${icon("x")}</button></div>`
                : can("users:read") ? html`<button class="btn" @click=${pick}>${icon("search")}User
                or group</button>` : ""}
            <div class="end"><button class="btn" role="switch" aria-checked=${String(isLive())}
                aria-label="Live" title="Key L" @click=${setLive}>${!isLive()
                ? html`${icon("pause")}Paused` : log.on ? html`<span class="live">Live</span>`
                    : log.ended ? "Ended" : log.error ? "Not live" : "Connecting…"}</button></div>
            </div>
            ${isLive() && log.ended ? html`<div class="openbar" role="alert">${icon("warn")}<span>
                The live view ended: ${log.ended.message}</span><button class="btn"
                @click=${() => log.load()}>Read again</button></div>` : ""}
            <div role="status">${log.pending.length ? html`<button class="newbar" @click=${() => {
                log.show();
                box().scrollTo({ top: 0 });
            }}>${icon("up")}${count(log.pending.length, "new event")}: show</button>` : ""}
            </div><div class="topline"></div>`;
    }

    const screen = listScreen({ route, title: "Activity", scope: "events:read",
        may: "read the change log", tabs: tools, rows: linesView,
        list: () => (log = activityLog({ type, actor, subject }, isLive, () =>
            box()?.scrollTop < 8 && !box().querySelector(":focus, [aria-expanded=true]"))),
        none: () => ({ icon: "activity", title: "No events", action: (type || actor || subject)
            && html`<button class="btn" @click=${() => filter({ type: "", actor: "",
                subject: "" })}>Show everything</button>` }),
        keys: { l: setLive, "/": () => can("users:read") && pick() } });
    // Other filters are another screen.
    return { ...screen, changed: undefined };
}

export function groupHistory(id) {
    let own;
    return { close: () => own?.close(), view() {
        if (!can("events:read")) {
            return noScope("events:read", "read the history");
        }
        if (!own) {
            log = own = activityLog({ subject: `groups/${id}` }, () => true, () => true);
            own.load();
        }
        return listView(own, own.items, () => ({ icon: "clock", title: "No events are kept" }),
            linesView);
    } };
}

const KINDS = { users: ["", "users:read"], groups: ["Group ", "users:read"],
    keys: ["Key ", "keys:admin"], webhooks: ["Webhook ", "webhooks:admin"],
    tenants: ["Tenant ", "tenants:admin"] };

const subjectView = ({ screen, id, name, gone }) => html`${KINDS[screen][0]}${
    gone || !can(KINDS[screen][1]) ? html`<b><bdi>${name}</bdi></b>`
        : html`<a href=${to(screen, id)}><bdi>${name}</bdi></a>`}`;

function sentenceView(event) {
    const on = open.has(event.id);
    const { subject, verb, changes } = sentenceOf(event, log.before.get(event.id));
    const shown = changes.slice(0, on ? 99 : 3);
    const text = (value) => html`<bdi>${value.length > 60 && !on ? `${value.slice(0, 59)}…`
        : value}</bdi>`;
    const parts = [people("added", event.data.added), people("removed", event.data.removed),
        ...shown.map(({ label, from, to: next }) => html`<span class="muted">${
            label.toLowerCase()}</span> ${from ? html`<del>${text(from)}</del>` : ""}${
            !next ? " removed" : html`${from ? html`<span aria-label="to"> → </span>` : "set to "
            }<ins>${text(next)}</ins>`}`)].filter(Boolean);
    return html`${subject ? subjectView(subject) : ""}${subject && parts.length ? ": " : " "}${
        parts.length ? parts.map((part, at) => html`${at ? ", " : ""}${part}`) : verb}${
        changes.length > shown.length ? ` and ${changes.length - shown.length} more` : ""}`;
}

function lineView(event, id, text, body) {
    const on = open.has(id);
    const toggle = () => {
        on ? open.delete(id) : open.add(id);
        refresh();
    };
    return html`<li class=${on ? "on" : ""} .event=${event}><div
        class="ev-line" @click=${({ target }) => target.closest("a, button")
            || String(getSelection()) || toggle()}><time class="muted" datetime=${event.time}
        title=${fullTime(event.time)}>${dateTime(event.time).slice(-5)}</time><span class="muted"
        title=${event.actor}>${cut(who(event.actor))}</span><span class="ev-what">${text}</span>
        <button class="btn ghost icon" aria-expanded=${String(on)} aria-label=${on
            ? "Close the details" : "Show the details"} @click=${toggle}>${
            icon(on ? "up" : "down")}</button></div>${on ? body() : ""}</li>`;
}

const eventView = (event) => lineView(event, event.id, safely(() => sentenceView(event)), () => {
    const { actor, subject, type } = event;
    const json = JSON.stringify(event, null, 2);
    return html`<div class="ev-more"><div class="pills muted">
        <button class="link" @click=${() => filter({ subject })}>Only this ${
            type.split(".")[0]}</button>
        <button class="link" @click=${() => filter({ actor })}>Only by ${who(actor)}</button>
        ${copyButton(json, "Copy the event as JSON", "Copy as JSON")}</div><div class="card"><pre
        class="json" tabindex="0" aria-label="The event as JSON">${json}</pre></div></div>`;
});

function foldView(events, more) {
    const one = events.every(({ subject }) => subject === events[0].subject)
        && subjectOf(events[0]);
    const text = foldText({ events }, more);
    return lineView(events[0], `fold-${events.at(-1).id}`, one ? html`${subjectView(one)}${
        text.replace(/^(At least )?1 \w+/, "")}, ${count(events.length, "event")}`
        : html`<b>${text}</b>`, () => html`<ol class="list ev-fold">${
        repeat(events, (event) => event.id, eventView)}</ol>`);
}

function linesView() {
    const days = new Map();
    for (const line of log.lines) {
        const day = date(line.events[0].time);
        days.get(day)?.push(line) ?? days.set(day, [line]);
    }
    // Once the lines are drawn. Those that are watched already stay so.
    queueMicrotask(() => document.querySelectorAll("li:has(> .ev-line)").forEach(log.watch));
    return repeat(days, ([day]) => day, ([day, lines]) => html`<h2 class="ev-day">${day}</h2>
        <ol class="list" aria-label=${day}>${repeat(lines, ({ events }) => events.at(-1).id,
            ({ events }) => (events.length === 1 ? eventView(events[0])
                : foldView(events, log.next && events === log.lines.at(-1).events)))}</ol>`);
}
