// Small parts that every screen uses. Each is a function that returns a template.
import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { asProblem } from "../api.js";
import { refresh, showNav, to } from "../page.js";
import { agoTime, fullTime, initials, number, shortTime, userName } from "../texts.js";
import { icon } from "./icons.js";

/** @typedef {import("./icons.js").IconName} IconName */

/** Ctrl, or the sign of the Mac. */
export const modifier = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl ";

/** A circle with initials; the colour follows from the id.
 * @param {string} name @param {string} id */
export function avatar(name, id = name) {
    const hue = [...id].reduce((sum, char) => (sum * 31 + char.charCodeAt(0)) >>> 0, 7) % 6;
    return html`<span class="av h${hue}" aria-hidden="true">${initials(name)}</span>`;
}

/** A coloured word. @param {"ok" | "warn" | "bad" | "plain"} kind @param {string} text */
export const badge = (kind, text) =>
    html`<span class="badge ${kind}"><span class="dot"></span>${text}</span>`;

/** @param {{status?: string}} user */
export const statusBadge = ({ status }) =>
    status === "suspended" ? badge("warn", "Suspended") : badge("ok", "Active");

/** A relative time with the whole one in its title. @param {string | undefined} iso */
export const ago = (iso) =>
    iso ? html`<time datetime=${iso} title=${fullTime(iso)}>${agoTime(iso)}</time>` : nothing;

/** The same for a narrow column: "2 min". @param {string | undefined} iso */
export const shortAgo = (iso) =>
    iso ? html`<time datetime=${iso} title=${fullTime(iso)}>${shortTime(iso)}</time>` : nothing;

/** Text of a record: isolated, cut at the end, whole in the title.
 * @param {unknown} text @param {string} [type] */
export const cut = (text, type = "") => (text === undefined || text === null || text === ""
    ? html`<span class="muted" aria-label="none">–</span>`
    : html`<bdi class="cut ${type}" title=${String(text)}>${text}</bdi>`);

/**
 * The head of a screen. On a phone it also has the button of the menu, or a link back.
 * @param {{title: unknown, sub?: unknown, actions?: unknown, back?: {href: string, text: string}}}
 * p
 */
export const pageHead = ({ title, sub, actions, back }) => html`
    <header class="head">
        ${back ? html`<a class="btn ghost icon m" href=${back.href}
            aria-label="Back to ${back.text}"
            >${icon("left")}</a>` : navButton()}
        <div class="ttl"><h1 tabindex="-1">${title}</h1>${sub ? html`<small>${sub}</small>` :
            ""}</div>
        <div class="sp">${actions ?? ""}</div>
    </header>`;

/** The button that opens the navigation on a phone. */
export const navButton = () => html`
    <button class="btn ghost icon m" aria-label="Menu" @click=${() => showNav()}>
        ${icon("menu")}</button>`;

/**
 * Where a record is: links, then its name. `end` is at the other side.
 * @param {{links: {href: string, text: string}[], name: unknown, end?: unknown}} place
 */
export const crumb = ({ links, name, end }) => html`
    <nav class="crumb" aria-label="Place">
        ${links.map(({ href, text }) => html`<a href=${href}><span class="m">${icon("left")}</span
            >${text}</a><span class="d">${icon("right")}</span>`)}
        <b class="d"><bdi class="cut">${name}</bdi></b>
        <div class="sp">${end ?? ""}</div>
    </nav>`;

/**
 * Tabs that are links.
 * @param {string} name of the whole
 * @param {{href: string, text: string, count?: unknown, current: boolean}[]} tabs
 */
export const tabs = (name, tabs) => html`
    <nav class="tabs" aria-label=${name}>${tabs.map((tab) => html`
        <a href=${tab.href} aria-current=${tab.current ? "page" : nothing}>${tab.text}${
            tab.count === undefined ? "" : html`<span class="n">${tab.count}</span>`}</a>`)}
    </nav>`;

/**
 * A screen or a part without anything in it.
 * @param {{icon: IconName, title: unknown, text?: unknown, action?: unknown}} parts
 */
export const emptyState = ({ icon: name, title, text, action }) => html`
    <div class="empty">
        <span class="big">${icon(name)}</span>
        <h2>${title}</h2>
        ${text ? html`<p>${text}</p>` : ""}
        ${action ?? ""}
    </div>`;

/** Why something cannot be shown, and a Retry. @param {any} error @param {() => unknown} [retry] */
export function errorPanel(error, retry) {
    const problem = asProblem(error);
    const wait = problem.retryAfter ? ` Wait ${problem.retryAfter} s first.` : "";
    return html`
        <div class="fault" role="alert">
            <span class="big">${icon("alert")}</span>
            <div>
                <h2>${problem.title}</h2>
                ${problem.detail ? html`<p>${problem.detail}${wait}</p>` : ""}
                ${problem.requestId ? html`<p class="muted">Request id
                    <bdi class="mono">${problem.requestId}</bdi></p>` : ""}
                ${retry ? html`<button class="btn" @click=${retry}>${icon("sync")}Retry</button>` :
                    ""}
            </div>
        </div>`;
}

/** Says which scope is missing. @param {string} scope @param {string} what */
export const noScope = (scope, what) => emptyState({
    icon: "lock", title: `Your credential may not ${what}`,
    text: html`It needs the scope <span class="mono">${scope}</span>. Sign in with another key, or
        ask
        the administrator who made this one.`,
});

/** Grey lines while something loads; they appear after 150 ms. @param {number} [lines] */
export const skeleton = (lines = 8) => html`
    <div class="skeleton" aria-busy="true"><span class="sr">Loading</span>
        ${Array.from({ length: lines }, () => html`<div><i></i><i></i><i></i></div>`)}</div>`;

/** @type {Map<string, number>} */
const copied = new Map();

/** Copy a text. The words "Copied" replace the icon for 2 s.
 * @param {string} text @param {string} label as "Copy the id" @param {unknown} [shown] */
export function copyButton(text, label, shown = "") {
    const copy = async () => {
        await navigator.clipboard.writeText(text);
        clearTimeout(copied.get(text));
        copied.set(text, window.setTimeout(() => {
            copied.delete(text);
            refresh();
        }, 2000));
        refresh();
    };
    return html`<button type="button" class="copy" @click=${copy}
        aria-label=${copied.has(text) ? "Copied" : label} title=${label}>${shown}${
        copied.has(text) ? html`<span class="ok">${icon("check")}</span>` : icon("copy")}</button>`;
}

/** A note with a colour and an icon. @param {"info" | "warn" | "bad"} kind @param {unknown} body */
export const note = (kind, body) => html`
    <div class="box ${kind}" role="note">
        ${icon(kind === "info" ? "info" : kind === "bad" ? "alert" : "warn")}<div>${body}</div>
    </div>`;

/** A link to a user. @param {string} id @param {unknown} name */
export const userLink = (id, name) => html`<a class="link" href=${to("users", id)}
    ><bdi>${name}</bdi></a>`;

/**
 * A row of a list of users.
 * @param {Record<string, any> | null} user  null while it is read again @param {number} at
 * @param {{on: boolean, current: boolean, click: (event: MouseEvent) => unknown,
 *   select: (on: boolean) => unknown, menu: (event: Event) => unknown}} does
 */
export function userRow(user, at, { on, current, click, select, menu }) {
    if (!user) {
        return html`<div class="r" role="row" aria-rowindex=${at + 2}><div role="gridcell"></div>
            <div role="gridcell" class="muted">…</div></div>`;
    }
    const name = userName(user);
    return html`
    <div class="r ${on ? "sel" : ""} ${current ? "focus" : ""}" role="row" id="row-${at}"
        aria-rowindex=${at + 2} aria-selected=${on ? "true" : "false"} @click=${click}>
        <div role="gridcell" class="c-chk"><input type="checkbox" class="chk" tabindex="-1"
            aria-label="Select ${name}" .checked=${on} @change=${(/** @type {Event} */ event) =>
                select(/** @type {HTMLInputElement} */ (event.target).checked)}></div>
        <div role="rowheader" class="c-nm"><a href=${to("users", user.id)} class="nm" tabindex="-1">
            ${avatar(name, user.id)}<bdi class="t cut" title=${name}>${name}</bdi></a></div>
        <div role="gridcell" class="c-un muted">${cut(user.username)}</div>
        <div role="gridcell" class="c-em"><span class="em">${cut(user.email)}${
            user.email && user.email_verified === false
                ? html`<span class="unver">not verified</span>` : ""}</span></div>
        <div role="gridcell" class="c-st">${statusBadge(user)}</div>
        <div role="gridcell" class="c-dep muted">${cut(user.department)}</div>
        <div role="gridcell" class="c-up end">${shortAgo(user.updated_at)}</div>
        <div role="gridcell" class="c-more"><button class="btn ghost icon" tabindex="-1"
            aria-haspopup="menu" aria-label="More for ${name}"
                @click=${menu}>${icon("more")}</button>
        </div>
    </div>`;
}

/**
 * The head of a list of users, with an order for each column that has one.
 * @param {{order: string, sort: (order: string) => unknown, some: boolean, whole: boolean,
 *   all: ((on: boolean) => unknown) | null}} does
 */
export function usersHead({ order, sort, some, whole, all }) {
    const column = (/** @type {string} */ name, /** @type {string} */ text, type = "") => {
        const [now, back] = [order === name, order === `-${name}`];
        const next = name === "updated_at" ? (back ? name : `-${name}`) : now ? `-${name}` : name;
        return html`<div role="columnheader" class=${type}
            aria-sort=${now ? "ascending" : back ? "descending" : nothing}>
            <button @click=${() => sort(next)}>${text}${now ? icon("arrowUp")
                : back ? icon("arrowDown") : ""}</button></div>`;
    };
    const box = all ? html`<input type="checkbox" class="chk ${some && !whole ? "mixed" : ""}"
        aria-label="Select the loaded users" .checked=${some && whole}
        .indeterminate=${some && !whole} @change=${(/** @type {Event} */ event) =>
            all(/** @type {HTMLInputElement} */ (event.target).checked)}>`
        : html`<span class="sr">Selection</span>`;
    return html`<div class="r h" role="row" aria-rowindex="1">
        <div role="columnheader" class="c-chk">${box}</div>
        ${column("name", "Name")}${column("username", "Username", "c-un")}
        ${column("email", "E-mail")}
        <div role="columnheader">Status</div>
        <div role="columnheader" class="c-dep">Department</div>
        ${column("updated_at", "Updated", "end")}
        <div role="columnheader"><span class="sr">Actions</span></div>
    </div>`;
}

/** The search of a list; / focuses it, the arrow goes to the rows.
 * @param {{label: string, placeholder: string, value: string, down?: () => unknown,
 *   input: (event: InputEvent) => unknown}} box */
export const searchBox = ({ label, placeholder, value, input, down }) => html`
    <div class="search" role="search">${icon("search")}<input id="search" type="search"
        aria-label=${label} placeholder=${placeholder} autocomplete="off" spellcheck="false"
        .value=${value} @input=${input} @keydown=${(/** @type {KeyboardEvent} */ event) => {
            if (event.key === "ArrowDown" || event.key === "Enter") {
                event.preventDefault();
                down?.();
            }
        }}><kbd class="d">/</kbd></div>`;

/** What is below the rows: Retry, "Search on", or that more is on its way.
 * @param {{error: any, searched: number, loading: boolean, more: () => unknown}} state */
export function listFoot({ error, searched, loading, more }) {
    const line = (/** @type {string} */ text, /** @type {string} */ word) => html`
        <div class="foot">${text}<button class="link" @click=${more}>${word}</button></div>`;
    if (error) {
        return line(asProblem(error).title, "Retry");
    }
    return searched ? line(`${number(searched)} users searched so far.`, "Search on")
        : loading ? html`<div class="foot">Loading…</div>` : "";
}

/** The line below a list. @param {unknown} text */
export const statusBar = (text) => html`
    <div class="status"><span class="live">Live</span><span class="num">${text}</span>
        <span class="keys"><kbd>J</kbd> <kbd>K</kbd> move &nbsp;<kbd>X</kbd> select
        &nbsp;<kbd>↵</kbd> open &nbsp;<kbd>?</kbd> all keys</span></div>`;
