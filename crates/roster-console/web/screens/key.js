// One key: what it may do, when it ends, rotate and revoke.
import { html } from "../vendor/lit-html/lit-html.js";
import { asProblem, get, isAbort } from "../api.js";
import { can } from "../caller.js";
import { go, loadStyles, refresh, to } from "../page.js";
import { dateTime } from "../texts.js";
import { icon } from "../ui/icons.js";
import { ago, avatar, copyButton, crumb, emptyState, errorPanel, note, noScope, pageHead, skeleton }
    from "../ui/parts.js";
import { isOwn, keyBadge, makeKey, marks } from "./keys.js";
import { service, shownTenant } from "./keys_service.js";
import { daysLeft, endsSoon, scopeWords, SCOPES, tryLine } from "./keys_scopes.js";
import { revoke, rotate } from "./key_actions.js";

/** @typedef {import("./keys_new.js").Key} Key */

loadStyles("screens/keys_access.css");

/** @param {import("../route.js").Route} route */
export default function key(route) {
    const back = { href: to("keys"), text: "Keys" };
    if (!can("keys:admin")) {
        return { title: "Key", view: () => html`${pageHead({ title: "Key", back })}
            ${noScope("keys:admin", "manage keys")}` };
    }
    const id = route.parts[0];
    const state = { key: /** @type {Key | null} */ (null), error: /** @type {any} */ (null),
        base: "" };
    const stop = new AbortController();

    async function load() {
        state.error = null;
        refresh();
        try {
            state.key = (await get(`/keys/${encodeURIComponent(id)}`,
                { signal: stop.signal })).data;
            state.base = (await service()).base;
        } catch (error) {
            if (!isAbort(error)) {
                state.error = error;
            }
        }
        refresh();
    }

    async function onRotate() {
        if (await rotate(/** @type {Key} */ (state.key))) {
            await load();
        }
    }

    async function onRevoke() {
        if (await revoke(/** @type {Key} */ (state.key))) {
            await load();
        }
    }

    /** Another key like this one, since a rotation does not put the end off. @param {Key} one */
    async function renew(one) {
        const made = await makeKey({ name: one.name, scopes: one.scopes,
            all: one.tenants === "all" });
        if (made) {
            go("keys", made.id);
        }
    }

    const again = (/** @type {Key} */ one) => html`<button class="btn" @click=${() => renew(one)}>
        ${icon("plus")}Make one like it</button>`;

    function stateNote(/** @type {Key} */ one) {
        if (one.status === "revoked") {
            return note("bad", html`<p>Revoked on ${dateTime(one.revoked_at)}. Requests with it get
                401. It cannot be brought back.</p>${again(one)}`);
        }
        if (one.status === "expired") {
            return note("bad", html`<p>Ended on ${dateTime(one.expires_at)}. Requests with it get
                401.</p>${again(one)}`);
        }
        const days = daysLeft(one.expires_at);
        const when = days < 1 ? "within a day" : days === 1 ? "in 1 day" : `in ${days} days`;
        return endsSoon(one) ? note("warn", html`<p>Ends ${when}, on ${dateTime(one.expires_at)}.
            Rotating does not put that off. Make another key, give it to the program, then revoke
            this one.</p>${again(one)}`) : "";
    }

    const maker = (/** @type {string} */ by) => (by.startsWith("key:")
        ? html`<a class="link" href=${to("keys", by.slice(4))}><bdi>${by}</bdi></a>`
            : html`<bdi>${by}</bdi>`);

    const facts = (/** @type {Key} */ one) => html`
        <section class="card"><h2>Facts</h2><dl class="facts pad">
            <dt>Works in</dt><dd>${one.tenants === "all" ? "All tenants" : shownTenant()
    ? html`The tenant <bdi>${shownTenant()}</bdi>` : "The default tenant"}</dd>
            <dt>Last used</dt><dd>${one.last_used_at ? ago(one.last_used_at) : "Never"}
                <span class="muted">(up to a minute behind)</span></dd>
            <dt>Ends</dt><dd>${one.expires_at ? html`${dateTime(one.expires_at)}` : "Never"}</dd>
            <dt>Created</dt><dd>${dateTime(one.created_at)}, by ${maker(one.created_by)}</dd>
            ${one.rotated_at ? html`<dt>Rotated</dt><dd>${dateTime(one.rotated_at)}</dd>` : ""}
            ${one.former_secret_until ? html`<dt>Old secret</dt><dd>Works until
                ${dateTime(one.former_secret_until)}</dd>` : ""}
            ${one.revoked_at ? html`<dt>Revoked</dt><dd>${dateTime(one.revoked_at)}</dd>` : ""}
        </dl></section>`;

    const scopes = (/** @type {Key} */ one) => html`
        <section class="card"><h2>What it may do</h2><dl
            class="defs pad">${one.scopes.map((name) => html`
            <dt class="mono">${name}</dt>
            <dd>${SCOPES.find((scope) => scope.name === name)?.text ?? ""}</dd>`)}</dl></section>`;

    function tryView(/** @type {Key} */ one) {
        const line = tryLine(state.base, one.scopes);
        return html`<section class="card"><h2>Try it</h2><div class="pad">
            <p>Paste this into a shell, then the key, and press Enter. A key that works gets a
                200.</p>
            <div class="secret"><code>${line}</code>${copyButton(line, "Copy the command")}</div>
            <p class="muted">The secret is not stored here. If nobody has it any more, rotate the
                key.</p>
            </div></section>`;
    }

    const buttons = (/** @type {Key} */ one) => (one.status === "active" ? html`
        <button class="btn" @click=${onRotate}>${icon("rotate")}Rotate</button>
        <button class="btn danger" @click=${onRevoke}>${icon("lock")}Revoke</button>` : "");

    const view = (/** @type {Key} */ one) => html`
        ${crumb({ links: [back], name: one.name })}
        <div class="page">
            <div class="who2">${avatar(one.name, one.id)}<div>
                <h1 tabindex="-1"><bdi>${one.name}</bdi> ${keyBadge(one)} ${marks(one)}</h1>
                <div class="sub"><span>${scopeWords(one.scopes)}</span>${copyButton(one.id,
                    "Copy the id",
    html`<span class="mono">${one.id}</span>`)}${can("events:read") ? html`<a class="link"
                    href=${to("activity", { actor: `key:${one.id}` })}>What it changed</a>`
                        : ""}</div></div>
                <div class="sp">${buttons(one)}</div></div>
            <div class="sections">${stateNote(one)}${facts(one)}${scopes(one)}${
    one.status === "active" && state.base ? tryView(one) : ""}</div>
        </div>`;

    const faultView = () => html`${pageHead({ title: "Key", back })}
        ${asProblem(state.error).status === 404 ? emptyState({ icon: "key",
            title: "No key has this id",
        text: "It may be a key of another tenant. Keys that ended make room for new "
            + "ones once there are 1,000.", action: html`<a class="btn" href=${to("keys")}>All
                keys</a>` })
        : errorPanel(state.error, load)}`;

    load();
    return {
        title: () => state.key?.name ?? "Key",
        view: () => (state.error ? faultView() : state.key ? view(state.key)
            : html`${crumb({ links: [back], name: "" })}${skeleton(6)}`),
        close: () => stop.abort(),
    };
}
