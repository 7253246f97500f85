// The keys of the service or of a tenant.
import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { get, isAbort } from "../api.js";
import { caller, can } from "../caller.js";
import { here, loadStyles, refresh, setQuery, to } from "../page.js";
import { date, number } from "../texts.js";
import { icon } from "../ui/icons.js";
import { ago, badge, cut, emptyState, errorPanel, noScope, pageHead, skeleton, tabs }
    from "../ui/parts.js";
import { setCount } from "../ui/shell.js";
import { daysLeft, endsSoon, findKeys, scopeWords } from "./keys_scopes.js";
import { newKey } from "./keys_new.js";
import { shownTenant } from "./keys_service.js";

/** @typedef {import("./keys_new.js").Key} Key */

loadStyles("screens/keys_access.css");

/** @param {Key} key */
export const isOwn = (key) => caller().actor === `key:${key.id}`;

/** @param {Key} key */
export const keyBadge = (key) => (key.status === "active" ? badge("ok", "Active")
    : key.status === "expired" ? badge("warn", "Expired") : badge("bad", "Revoked"));

/** When a key ends, with a warning in the last days. @param {Key} key */
export function endsText(key) {
    if (!key.expires_at) {
        return html`<span class="muted">Never</span>`;
    }
    const left = daysLeft(key.expires_at);
    return endsSoon(key) ? html`<span class="badge warn"
        title=${date(key.expires_at)}>${icon("clock")}${
        left < 1 ? "Today" : left === 1 ? "In 1 day" : `In ${left} days`}</span>`
        : html`<span title=${key.expires_at}>${date(key.expires_at)}</span>`;
}

/** Marks of a key beside its name. @param {Key} key */
export const marks = (key) => html`${key.tenants === "all"
    ? html`<span class="badge plain">All tenants</span>` : ""}${isOwn(key)
    ? html`<span class="badge plain">You use it now</span>` : ""}`;

/** Make a key. The first one closes an open service, which has a dialog of its own.
 * @param {Parameters<typeof newKey>[0]} [wish] */
export const makeKey = (wish) => (caller().open
    ? import("./first_key.js").then((first) => first.makeFirstKey()) : newKey(wish));

/** @param {import("../route.js").Route} route */
export default function keys(route) {
    if (!can("keys:admin")) {
        return { title: "Keys", view: () => html`${pageHead({ title: "Keys" })}
            ${noScope("keys:admin", "manage keys")}` };
    }
    const state = { items: /** @type {Key[] | null} */ (null), error: /** @type {any} */ (null),
        q: route.query.q ?? "", show: route.query.show ?? "" };
    const stop = new AbortController();

    async function load() {
        state.error = null;
        refresh();
        try {
            state.items = (await get("/keys", { signal: stop.signal })).data.items.reverse();
            if (!here().tenant) {
                setCount("keys", number(active().length));
            }
        } catch (error) {
            if (!isAbort(error)) {
                state.error = error;
            }
        }
        refresh();
    }

    const active = () => state.items?.filter((key) => key.status === "active") ?? [];
    const ended = () => state.items?.filter((key) => key.status !== "active") ?? [];

    async function add() {
        if (await makeKey()) {
            await load();
        }
    }

    /** @param {Key} key */
    async function onRotate(key) {
        const { rotate } = await import("./key_actions.js");
        if (await rotate(key)) {
            await load();
        }
    }

    /** @param {Event} event */
    function search(event) {
        state.q = /** @type {HTMLInputElement} */ (event.target).value;
        setQuery({ q: state.q });
        refresh();
    }

    const row = (/** @type {Key} */ key) => html`
        <tr><td><div class="nm"><a class="link cut" href=${to("keys",
            key.id)}><bdi>${key.name}</bdi></a>
                ${marks(key)}</div></td>
            <td>${cut(scopeWords(key.scopes))}</td>
            <td class=${key.status === "active" ? "d" : ""}>${keyBadge(key)}</td>
            <td><span class="m muted">${key.status === "active" ? "Ends" : "Ended"}&nbsp;</span>${
    key.revoked_at ? date(key.revoked_at) : endsText(key)}</td>
            <td class="end">${key.last_used_at ? html`<span class="m">Used&nbsp;</span>${
    ago(key.last_used_at)}` : "Never used"}</td>
            <td class="end d">${key.status === "active" ? html`<button class="btn ghost"
                @click=${() => onRotate(key)}>Rotate<span class="sr"> ${key.name}</span></button>`
        : ""}</td></tr>`;

    const table = (/** @type {Key[]} */ items) => html`
        <table class="table keytable"><thead><tr><th scope="col">Name</th><th
            scope="col">Scopes</th>
            <th scope="col">State</th><th scope="col">${state.show ? "Ended" : "Ends"}</th>
            <th scope="col" class="end">Last used</th>
            <th scope="col" class="d"><span class="sr">Actions</span></th></tr></thead>
            <tbody>${items.map(row)}</tbody></table>`;

    const soon = () => active().filter((key) => endsSoon(key));

    const noneView = () => (state.q ? emptyState({ icon: "search",
        title: "No key has this name or id",
        text: state.show ? "Look among the active ones too." : "Look among those that ended too." })
        : state.show ? emptyState({ icon: "key", title: "No key has ended",
            text: "Revoked and expired keys are listed here, so that the names in the "
                + "change log stay known." })
            : emptyState({ icon: "key", title: "No active key",
                text: "A program sends a key with each request. The key says what the "
                    + "program may do.",
                action: html`<button class="btn primary"
                    @click=${add}>${icon("plus")}${caller().open
                    ? "Make the first key" : "New key"}</button>` }));

    function listView() {
        const items = findKeys(state.show ? ended() : active(), state.q);
        return html`
            <div class="tools"><div class="search" role="search">${icon("search")}<input id="search"
                type="search" aria-label="Search keys" placeholder="Name or id" autocomplete="off"
                spellcheck="false" .value=${state.q} @input=${search}><kbd
                    class="d">/</kbd></div></div>
            ${tabs("Which keys", [
        { href: to("keys", { q: state.q }), text: "Active", count: number(active().length),
            current: !state.show },
        { href: to("keys", { q: state.q, show: "ended" }), text: "Ended",
            count: number(ended().length), current: state.show === "ended" }])}
            ${items.length ? table(items) : noneView()}`;
    }

    load();
    return {
        title: "Keys",
        view: () => html`${pageHead({ title: "Keys",
            sub: state.items && soon().length ? html`<span class="warnword">${soon().length === 1
                ? "1 key ends" : `${soon().length} keys end`} within 14 days</span>`
                : shownTenant() ? html`Of the tenant <bdi>${shownTenant()}</bdi>` : nothing,
            actions: html`<button class="btn primary" aria-label=${caller().open
                ? "Make the first key"
                : "New key"} @click=${add}>${icon("plus")}<span class="d">${caller().open
                ? "Make the first key" : "New key"}</span></button>` })}
            <div class="page">${state.error ? errorPanel(state.error, load)
                : state.items ? listView() : skeleton(6)}</div>`,
        changed(/** @type {import("../route.js").Route} */ { query }) {
            state.q = query.q ?? "";
            state.show = query.show ?? "";
        },
        close: () => stop.abort(),
        keys: { "/": () => document.getElementById("search")?.focus(), c: add },
    };
}
