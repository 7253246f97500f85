// The lines of the change log, and what is below an open one.
import { html } from "../vendor/lit-html/lit-html.js";
import { repeat } from "../vendor/lit-html/directives/repeat.js";
import { actorName, isMine } from "../actors.js";
import { caller, can } from "../caller.js";
import { refresh, to } from "../page.js";
import { count, date, fullTime, number, shortId } from "../texts.js";
import { icon } from "../ui/icons.js";
import { copyButton } from "../ui/parts.js";
import { changesOf, foldText, membersText, sentenceOf, subjectOf } from "./activity_text.js";

/** @typedef {import("./activity_text.js").Event} Event */
/** @typedef {import("./activity_text.js").Line} Line */
/** @typedef {import("./activity_text.js").Change} Change */
/** @typedef {import("./activity_log.js").Log} Log */
/** @typedef {{log: Log, open: Map<string, number>, filter: (next: Record<string, string>) =>
 * void}} Desk */

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });

/** On an open service everybody has the same name. @param {string} actor */
export const who = (actor) => (isMine(actor) && !caller().open ? "You" : actorName(actor));

const NEEDS = /** @type {Record<string, string>} */ ({ users: "users:read", groups: "users:read",
    keys: "keys:admin", webhooks: "webhooks:admin", tenants: "tenants:admin" });

/** @param {import("./activity_text.js").Subject} subject */
const subjectView = ({ screen, id, name, gone }) => {
    const kind = { groups: "Group ", keys: "Key ", webhooks: "Webhook ",
        tenants: "Tenant " }[screen] ?? "";
    return html`${kind}${gone || !can(NEEDS[screen]) ? html`<b><bdi>${name}</bdi></b>`
        : html`<a href=${to(screen, id)}><bdi>${name}</bdi></a>`}`;
};

/** @param {string} value */
const short = (value) => (value.length > 60 ? `${value.slice(0, 59)}…` : value);

/** "department Research → Sales". @param {Change} change @param {boolean} known */
const changeView = ({ label, from, to: next }, known) => {
    const name = html`<span class="muted">${label.charAt(0).toLowerCase()}${label.slice(1)}</span>`;
    if (!next) {
        return html`${name} ${from ? html`<del><bdi>${short(from)}</bdi></del> ` : ""}removed`;
    }
    return html`${name} ${from ? html`<del><bdi>${short(from)}</bdi></del><span aria-label="to"> →
        </span>` : known ? "set to " : "is now "}<ins><bdi>${short(next)}</bdi></ins>`;
};

/** @param {{screen: string, name: string} | undefined} found @param {string} id */
const nameView = (found, id) =>
    (found ? html`<a href=${to(found.screen, id)}><bdi>${found.name}</bdi></a>`
    : html`<span class="mono">${shortId(id)}</span>`);

/** Who joined and left, by name if they are few. @param {Log} log @param {Event} event */
function membersView(log, event) {
    const { added = [], removed = [] } = event.data;
    if (!added.length && !removed.length) {
        return "";
    }
    if (added.length + removed.length > 3) {
        return membersText(event);
    }
    const names = (/** @type {string[]} */ ids) => ids.map((id, at) => html`${at ? ", " : ""}${
        nameView(log.names.get(id), id)}`);
    return html`${added.length ? html`${names(added)} joined` : ""}${
        added.length && removed.length ? ", " : ""}${removed.length ? html`${names(removed)} left`
            : ""}`;
}

/** @param {Log} log @param {Event} event */
function sentenceView(log, event) {
    const before = log.before.get(event.id);
    const { subject, verb, changes, more } = sentenceOf(event, before);
    const members = membersView(log, event);
    const list = changes.map((change, at) =>
        html`${at ? ", " : ""}${changeView(change, Boolean(before))}`);
    return html`${subject ? html`${subjectView(subject)}${changes.length || members ? ": " : " "}`
        : ""}${
        members || verb}${members && changes.length ? ", " : ""}${list}${more
        ? html`<span class="muted"> and ${number(more)} more</span>` : ""}`;
}

/** @param {Desk} desk @param {string} id */
function toggle({ open }, id) {
    open.has(id) ? open.delete(id) : open.set(id, 50);
    refresh();
}

/** Clicks beside links open the line. @param {Desk} desk @param {string} id */
const onClick = (desk, id) => (/** @type {MouseEvent} */ event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (!target.closest("a, button") && !getSelection()?.toString()) {
        toggle(desk, id);
    }
};

/** @param {Desk} desk @param {Event} event @param {string} id @param {unknown} text
 * @param {() => unknown} body @param {string} [kind] */
function lineView(desk, event, id, text, body, kind = "") {
    const on = desk.open.has(id);
    return html`<li class="ev ${kind} ${on ? "on" : ""}" data-event=${event.id}>
        <div class="ev-line" @click=${onClick(desk, id)}>
            <time datetime=${event.time} title=${fullTime(event.time)}>${
                clock.format(new Date(event.time))}</time>
            <span class="ev-by"><bdi class="cut"
                title=${event.actor}>${who(event.actor)}</bdi></span>
            <span class="ev-what">${text}</span>
            <button class="btn ghost icon" aria-expanded=${on ? "true" : "false"}
                aria-label=${on ? "Close the details" : "Show the details"}
                @click=${() => toggle(desk, id)}>${icon(on ? "up" : "down")}</button>
        </div>${on ? body() : ""}</li>`;
}

/** @param {Desk} desk @param {Event} event */
const eventView = (desk, event, kind = "") => lineView(desk, event, event.id,
    sentenceView(desk.log, event), () => detailView(desk, event), kind);

/** The whole event. @param {Desk} desk @param {Event} event */
function detailView({ log, filter }, event) {
    const json = JSON.stringify(event, null, 2);
    const before = log.before.get(event.id);
    const changes = before ? changesOf(event, before) : [];
    return html`<div class="ev-detail">
        ${changes.length > 1
            ? html`<dl class="diff">${changes.map(({ label, from, to: next }) => html`
            <div><dt>${label}</dt><dd>${from ? html`<del><bdi>${from}</bdi></del>` : ""}${from
                && next
                ? html` <span aria-label="to">→</span> ` : ""}${next
                    ? html`<ins><bdi>${next}</bdi></ins>`
                : html` <span class="muted">removed</span>`}</dd></div>`)}</dl>` : ""}
        <div class="ev-acts">
            <button class="link" @click=${() => filter({ subject: event.subject })}>Only this ${
                event.type.split(".")[0]}</button>
            <button class="link" @click=${() => filter({ actor: event.actor })}>Only by ${
                who(event.actor)}</button>
            <span>Position ${copyButton(event.id, "Copy the position",
                html`<span class="mono">${event.id}</span>`)}</span>
            <span>Request ${event.requestid
                ? copyButton(event.requestid, "Copy the id of the request",
                html`<span class="mono">${event.requestid}</span>`) : "–"}${
                event.requestid?.startsWith("console-") ? " in a console" : ""}</span>
        </div>
        <div class="ev-json"><div class="ev-copy">${copyButton(json, "Copy the event as JSON",
            "Copy")}</div>
            <pre tabindex="0" aria-label="The event as JSON">${json}</pre></div></div>`;
}

/** Events of one kind. @param {Desk} desk @param {Line} line @param {boolean} open */
function foldView(desk, { events, ...line }, open) {
    const [first] = events;
    const id = `fold-${events.at(-1)?.id}`;
    const shown = desk.open.get(id) ?? 0;
    const some = new Set(events.map((event) => event.subject)).size;
    const subject = some === 1 ? subjectOf(first) : null;
    const text = foldText({ events, ...line }, open);
    return lineView(desk, first, id, html`${subject ? html`${subjectView(subject)}${
        text.replace(/^(At least )?1 \w+/, "")}` : html`<b>${text}</b>`}${some < events.length
        ? html`<span class="muted">, ${count(events.length, "event")}</span>` : ""}`, () =>
            html`<ol class="ev-some">${repeat(events.slice(0, shown), (event) => event.id,
        (event) => eventView(desk, event, "sub"))}</ol>
        ${events.length > shown ? html`<div class="foot"><button class="link" @click=${() => {
            desk.open.set(id, shown + 200);
            refresh();
        }}>Show ${number(Math.min(200, events.length - shown))} more</button></div>` : ""}`,
            "fold");
}

/** @param {string} time */
const dayOf = (time) => new Date(time).toDateString();

/** @param {string} day */
function dayText(day) {
    const now = new Date();
    const yesterday = new Date(now);
    yesterday.setDate(now.getDate() - 1);
    return day === now.toDateString() ? "Today" : day === yesterday.toDateString() ? "Yesterday"
        : date(new Date(day).toISOString());
}

/** All lines, by day. @param {Desk} desk */
export function linesView(desk) {
    const { lines, next } = desk.log;
    /** @type {{day: string, lines: Line[]}[]} */
    const days = [];
    for (const line of lines) {
        const day = dayOf(line.time);
        days.at(-1)?.day === day ? days.at(-1)?.lines.push(line)
            : days.push({ day, lines: [line] });
    }
    const last = lines.at(-1);
    return repeat(days, ({ day }) => day, ({ day, lines: some }) => html`
        <h2 class="ev-day">${dayText(day)}</h2>
        <ol class="evs" aria-label=${dayText(day)}>${repeat(some, (line) => line.events.at(-1)?.id,
            (line) => (line.events.length > 1 ? foldView(desk, line, line === last && next !== null)
                : eventView(desk, line.events[0])))}</ol>`);
}
