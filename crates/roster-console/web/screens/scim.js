// A guide for connecting an identity provider by SCIM: values to copy, a key, and whether it works.
import { html } from "../vendor/lit-html/lit-html.js";
import { asProblem, get, isAbort } from "../api.js";
import { caller, can } from "../caller.js";
import { loadStyles, refresh, to } from "../page.js";
import { icon } from "../ui/icons.js";
import { ago, badge, copyButton, errorPanel, note, pageHead, skeleton, tabs } from "../ui/parts.js";
import { endsText, makeKey } from "./keys.js";
import { service, shownTenant } from "./keys_service.js";
import { FAULTS, guides, reachFault, wordsOf } from "./scim_guides.js";

/** @typedef {import("./keys_new.js").Key} Key */
/** @typedef {import("./scim_guides.js").Guide} Guide */

loadStyles("screens/keys_access.css");
const WAIT_MS = 5000;

/** @param {string} text */
const say = (text) => wordsOf(text).map((part) => (part.strong ? html`<em>${part.text}</em>`
    : part.text));

/** @param {import("./scim_guides.js").Value} value */
const valueRow = ({ field, copy, text }) => html`<div><dt>${field}</dt><dd class="val">${copy
    ? html`<code>${copy}</code>${copyButton(copy, `Copy ${field}`)}` : text}</dd></div>`;

/** @param {import("./scim_guides.js").Step} step */
const stepView = ({ text, values, code, then = [] }) => html`<li><p>${say(text)}</p>
    ${values ? html`<dl class="vals">${values.map(valueRow)}</dl>` : ""}
    ${then.map((more) => html`<p class="muted">${say(more)}</p>`)}
    ${code ? html`<pre class="codebox" tabindex="0">${code}</pre>
        <p>${copyButton(code, "Copy the template", html`<span>Copy the template</span>`)}</p>`
            : ""}</li>`;

/** @param {import("../route.js").Route} route */
export default function scim(route) {
    const state = { facts: /** @type {import("./keys_service.js").Service | null} */ (null),
        keys: /** @type {Key[] | null} */ (null), error: /** @type {any} */ (null), keyFault: "",
        provider: route.query.p ?? "okta", key: route.query.key ?? "", checked: "" };
    const stop = new AbortController();
    let shownTab = "";

    async function load() {
        state.error = null;
        try {
            state.facts = await service();
            await loadKeys();
        } catch (error) {
            if (!isAbort(error)) {
                state.error = error;
            }
        }
        refresh();
    }

    async function loadKeys() {
        if (!can("keys:admin") || caller().open) {
            return;
        }
        try {
            const { items } = (await get("/keys", { signal: stop.signal })).data;
            state.keys = items.filter((/** @type {Key} */ one) => one.status === "active"
                && one.scopes.includes("scim") && one.tenants !== "all").reverse();
            state.keyFault = "";
        } catch (error) {
            state.keyFault = isAbort(error) ? "" : asProblem(error).detail
                || asProblem(error).title;
        }
    }

    async function check() {
        await loadKeys();
        state.checked = new Date().toISOString();
        refresh();
    }

    const guide = () => {
        const all = guides(state.facts?.scim ?? "");
        return all.find(({ name }) => name === state.provider) ?? all[0];
    };

    async function add() {
        const root = state.facts?.scim ?? "";
        const address = guide().steps.flatMap(({ values = [] }) => values)
            .find(({ copy }) => copy?.startsWith(root))?.copy ?? root;
        const values = html`<div class="try"><b>URL for ${guide().title}</b>
            <div class="secret"><code>${address}</code>${copyButton(address,
                "Copy the URL")}</div></div>`;
        const made = await makeKey({ name: guide().keyName, preset: "scim", only: true, end: "365",
            more: values });
        if (made) {
            await check();
        }
    }

    function before(/** @type {import("./keys_service.js").Service} */ facts) {
        const fault = reachFault(facts.base);
        return html`<section class="card"><h2>Before you start</h2><div class="pad">
            <dl class="vals">${valueRow({ field: "Base URL of SCIM", copy: facts.scim })}</dl>
            ${fault ? note("warn", fault) : ""}
            ${facts.guarded ? note("warn", "A precondition is required for writes here "
                + "(put_guard or delete_guard). Providers do not send one: remove these settings.")
                    : ""}
            ${facts.uniqueEmail ? html`<p>Two users cannot have the same primary address here. If
                two accounts of your provider share one (administrators, shared mailboxes), run this
                    on the server before the first cycle:</p>
                <div class="secret"><code>${POLICY}</code>${copyButton(POLICY,
                    "Copy the command")}</div>`
        : ""}
            <p class="muted">If users are here already, make a backup first, and compare the
                attribute by which the provider matches, usually userName.</p></div></section>`;
    }

    const keyLink = (/** @type {Key} */ key) => html`<a class="link" href=${to("keys", key.id)}
        ><bdi>${key.name}</bdi></a>`;

    const keyRow = (/** @type {Key} */ key) => html`<div class="state">${keyLink(key)}
        <span class="muted">${key.expires_at ? html`Ends ${endsText(key)}`
            : "Never ends"}</span></div>`;

    /** Whether the provider has used its key. @param {Key} key */
    const useRow = (key) => html`<div class="state">${keyLink(key)}
        ${key.last_used_at ? html`${badge("ok", "Connected")}<span class="muted">last request ${
    ago(key.last_used_at)}</span>` : badge("warn", "No request yet")}
        ${can("events:read") ? html`<div class="sp"><a class="link" href=${
    to("activity", { actor: `key:${key.id}` })}>What it changed</a></div>` : ""}</div>`;

    function keysCard() {
        if (!can("keys:admin")) {
            return html`<section class="card"><h2>1. A key for the provider</h2><div class="pad">${
                note("info", html`Your credential may not make keys: it lacks the scope
                <span class="mono">keys:admin</span>. Ask an administrator for a key with the scope
                <span class="mono">scim</span>.`)}</div></section>`;
        }
        const open = caller().open;
        return html`<section class="card"><header class="cardhead">
            <h2>1. A key for the provider</h2><div class="sp">
            ${open ? "" : html`<a class="btn ghost" href=${to("keys")}>All keys</a>`}
            <button class="btn primary" @click=${add}>${icon("plus")}${open ? "Make the first key"
    : "Make a key"}</button></div></header><div class="pad">
            ${open ? note("warn", "Make a key for yourself first: the first key closes the "
                + "service, and a key for SCIM alone would lock you out of this page.") : ""}
            ${state.keyFault ? note("bad", state.keyFault) : ""}
            ${state.keys?.length ? state.keys.map(keyRow) : open ? "" : html`<p class="muted">No key
                for SCIM yet. One key for each provider: the change log then says which one changed
                    what.</p>`}
            </div></section>`;
    }

    function checkCard() {
        const used = state.keys?.some((key) => key.last_used_at);
        return html`<section class="card"><header class="cardhead"><h2>3. Has it connected?</h2>
            <div class="sp">
            ${state.keys ? html`<button class="btn" @click=${check}>${icon("sync")}Check
                now</button>` : ""}
            </div></header><div class="pad" aria-live="polite">
            ${state.keys?.length ? state.keys.map(useRow) : html`<p class="muted">The last use of
                the key shows it, once there is a key.</p>`}
            ${state.keys?.length && !used ? html`<p>${guide().test
        ? html`Press <em>${guide().test}</em> at ${guide().title}.` : "Provision one person."} The
            first request shows here within about a minute. This page looks by itself.</p>` : ""}
            ${used ? html`<p class="muted">Any request with the key counts, also one of your own.
                The time is up to a minute behind.</p>` : ""}
            ${state.checked ? html`<p class="muted">Checked ${ago(state.checked)}.</p>` : ""}
            </div></section>`;
    }

    const steps = (/** @type {Guide} */ one) => html`<section class="card">
        <h2>2. Steps at ${one.name === "other" ? "the provider" : one.title}</h2><div class="pad">
        <p class="muted">${one.tested}</p>
        <ol class="steps">${one.steps.map(stepView)}</ol></div></section>`;

    const good = (/** @type {Guide} */ one) => html`<section class="card"><h2>Good to know</h2>
        <ul class="pad dots">${one.after.map((text) => html`<li>${say(text)}</li>`)}
            <li>A key that ends stops provisioning. Rotating does not put the end off: before that
                day make another key, enter it, and revoke the old one.</li></ul></section>`;

    const faults = () => html`<section class="card"><h2>If it fails</h2><div class="pad">
        <p>The provider's log shows a status and a detail, which says what to do.</p>
        <dl class="defs">${FAULTS.map(([status,
            text]) => html`<dt>${status}</dt><dd>${text}</dd>`)}</dl>
        </div></section>`;

    function view() {
        const one = guide();
        return html`
            ${tabs("Identity provider", guides("").map(({ name, title }) => ({ text: title,
        href: to("scim", { p: name }), current: name === one.name })))}
            <div class="sections">${before(/** @type {any} */ (state.facts))}${keysCard()}
                ${steps(one)}${checkCard()}${good(one)}${faults()}</div>`;
    }

    // As long as no key was used, look again; a page in the background waits.
    const timer = setInterval(async () => {
        if (!document.hidden && state.keys?.length && state.keys.some((key) => !key.last_used_at)
            && !document.querySelector("dialog[open]")) {
            await loadKeys();
            refresh();
        }
    }, WAIT_MS);
    load();
    return {
        title: () => `SCIM for ${guide().title}`,
        view: () => html`${pageHead({ title: "SCIM", sub: shownTenant()
            ? html`For the tenant <bdi>${shownTenant()}</bdi>` : "Let an identity "
                + "provider manage users" })}
            <div class="page">${state.error ? errorPanel(state.error, load)
                : state.facts ? view() : skeleton(8)}</div>`,
        changed(/** @type {import("../route.js").Route} */ { query }) {
            state.provider = query.p ?? "okta";
        },
        drawn() {
            const name = state.facts ? guide().name : "";
            if (name !== shownTab) {
                shownTab = name;
                document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest",
                    inline: "center" });
            }
        },
        close() {
            clearInterval(timer);
            stop.abort();
        },
    };
}

const POLICY = "roster policy set email-uniqueness none";
