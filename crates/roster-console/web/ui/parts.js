// Small parts that every screen uses. Each is a function that returns a template.
import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { asProblem, faultsOf } from "../api.js";
import { openPalette, refresh, say, showNav, toast } from "../page.js";
import { agoTime, fullTime, initials, shortTime } from "../texts.js";
import { icon } from "./icons.js";

export const modifier = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl ";

export function avatar(name, id = name) {
    const hue = [...id].reduce((sum, char) => (sum * 31 + char.charCodeAt(0)) >>> 0, 7) % 6;
    return html`<span class="av h${hue}" aria-hidden="true">${initials(name)}</span>`;
}
/** Draw a part. One that cannot be drawn is replaced, and the others stay. */
export function safely(draw, instead = (_) => badge("bad", "Cannot be shown")) {
    try {
        return draw();
    } catch (error) {
        reportError(error);
        return instead(error);
    }
}
export const mark = (name) => html`<span class="mark">${icon(name)}</span>`;
/** A coloured word; `kind` is ok, warn, bad or plain. */
export const badge = (kind, text) =>
    html`<span class="badge ${kind}"><span class="dot"></span>${text}</span>`;
export const statusBadge = ({ status }) =>
    (status === "suspended" ? badge("warn", "Suspended") : badge("ok", "Active"));
export const readsOnly = () => html`<span class="badge plain">Reads only</span>`;
const timeView = (words) => (time) =>
    (time ? html`<time datetime=${time} title=${fullTime(time)}>${words(time)}</time>` : nothing);
export const ago = timeView((time) => agoTime(time));
export const shortAgo = timeView((time) => shortTime(time));

/** Text of a record: isolated, cut at the end, whole in the title. */
export const cut = (text, type = "") => ((text ?? "") === ""
    ? html`<span class="muted" aria-label="none">–</span>`
    : html`<bdi class="cut ${type}" title=${text}>${text}</bdi>`);

const navButton = () => html`<button class="btn ghost icon m" aria-label="Menu"
    @click=${() => showNav(true)}>${icon("menu")}</button>`;
const findButton = () => html`<button class="btn ghost icon m" aria-label="Find or do"
    @click=${openPalette}>${icon("search")}</button>`;

/** The head of a screen. On a phone, `back` is a link in place of the menu. */
export const pageHead = ({ title, sub = undefined, actions = undefined, back = undefined }) => html`
    <header class="head">${back ? html`<a class="btn ghost icon m" href=${back.href}
        aria-label="Back to ${back.text}">${icon("left")}</a>` : navButton()}
        <div class="ttl"><h1 tabindex="-1">${title}</h1>${sub ? html`<small>${sub}</small>` : ""}
        </div><div class="sp">${findButton()}${actions}</div></header>`;

/** The place of a record: a link back, and its name. */
export const crumb = (back, name, end = undefined) => html`<nav class="crumb" aria-label="Place">
    <a href=${back.href}><span class="m">${icon("left")}</span>${back.text}</a><span class="d">${
    icon("right")}</span><b class="d"><bdi class="cut">${name}</bdi></b>
    <div class="sp">${end}${findButton()}${navButton()}</div></nav>`;

export const tabs = (name, all) => html`<nav class="tabs" aria-label=${name}>${all.map((tab) =>
    html`<a href=${tab.href} aria-current=${tab.current ? "page" : nothing}>${tab.text}${
        tab.count === undefined ? "" : html`<span class="n">${tab.count}</span>`}</a>`)}</nav>`;

export const emptyState = ({ icon: name, title, text = undefined, action = undefined }) => html`
    <div class="empty"><span class="big">${icon(name)}</span><h2>${title}</h2>
        ${text ? html`<p>${text}</p>` : ""}${action}</div>`;
export const noScope = (scope, what) => emptyState({ icon: "lock",
    title: `Your credential may not ${what}`, text: html`It needs the scope
        <span class="mono">${scope}</span>. Sign in with another key, or ask who made this one.` });

export function errorPanel(error, retry) {
    const problem = asProblem(error);
    const { title, detail, retryAfter: wait, requestId: id } = problem;
    return html`<div class="fault" role="alert"><span class="big">${icon("alert")}</span>
        <h2>${title}</h2><p>${detail}${wait ? ` Wait ${wait} s first.` : ""}</p>
        ${Object.entries(faultsOf(problem)).map(([at, text]) => html`<p><bdi class="mono">${at
            }</bdi> ${text}</p>`)}
        ${id ? html`<p>Request id <bdi class="mono">${id}</bdi></p>` : ""}
        <button class="btn" @click=${retry}>${icon("rotate")}Retry</button></div>`;
}

export const skeleton = (lines) => html`
    <div class="skeleton" aria-busy="true"><span class="sr">Loading</span>
        ${Array.from({ length: lines }, () => html`<div><i></i><i></i><i></i></div>`)}</div>`;

/** A note with a colour and an icon; `kind` is info, warn or bad. */
export const note = (kind, body) => html`<div class="box ${kind}" role="note">
    ${icon(kind === "bad" ? "alert" : kind)}<div>${body}</div></div>`;

let ended = { at: null, time: 0 };
/** What a click does, once at a time. Below the second click of a double one may be another row, as
 * in the same button after Enter was pressed twice. */
export const once = (run) => async ({ currentTarget: at, detail }) => {
    const again = !detail && at === ended.at && performance.now() - ended.time < 500;
    if (detail < 2 && !again && !at.ariaBusy) {
        at.ariaBusy = "true";
        try {
            await run();
        } finally {
            at.ariaBusy = null;
            ended = { at, time: performance.now() };
        }
    }
};

let [copied, waiting] = ["", 0];

/** Copy a text; returns whether the browser allows it. */
export async function copy(text) {
    const done = await navigator.clipboard?.writeText(text).then(() => true, () => false);
    if (!done) {
        toast("Not copied: the browser does not allow it. Select the text, and copy it by hand.",
            { kind: "bad" });
    }
    return done;
}

/** A tick replaces the icon for 2 s. */
export function copyButton(text, label, shown = undefined) {
    const done = copied === text;
    const tell = (now) => {
        copied = now;
        refresh();
    };
    const run = async () => {
        if (await copy(text)) {
            say("Copied");
            tell(text);
            clearTimeout(waiting);
            waiting = window.setTimeout(tell, 2000, "");
        }
    };
    return html`<button type="button" class="copy" aria-label=${done ? "Copied" : label}
        title=${label} @click=${run}>${shown}${done ? html`<span class="ok">${icon("check")}
        </span>` : icon("copy")}</button>`;
}
export const copyLine = (text, label) =>
    html`<div class="secret"><code>${text}</code>${copyButton(text, label)}</div>`;

/** The search of a list; / focuses it, the arrow goes `down` to the rows, and Enter calls `enter`.
 * @param {any} one */
export const searchBox = ({ id = "search", label, placeholder, value, input, down, enter }) =>
    html`<div class="search" role="search">${icon("search")}<input id=${id} type="search"
        aria-label=${label} placeholder=${placeholder} autocomplete="off" spellcheck="false"
        .value=${value} @input=${input} @keydown=${(event) => {
            const run = { ArrowDown: down, Enter: enter }[event.key];
            // Enter may also end the input of a character.
            if (run && !event.isComposing) {
                event.preventDefault();
                run(event);
            }
        }}><kbd class="d">/</kbd></div>`;
