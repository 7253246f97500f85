// The tenants of the service, and the deleted ones. Needs a key for all tenants.
import { html } from "../vendor/lit-html/lit-html.js";
import { get, isAbort } from "../api.js";
import { caller, can } from "../caller.js";
import { go, loadStyles, refresh, setQuery, to } from "../page.js";
import { count, date, number } from "../texts.js";
import { icon } from "../ui/icons.js";
import { copyButton, cut, emptyState, errorPanel, noScope, pageHead, skeleton, statusBadge, tabs }
    from "../ui/parts.js";
import { setCount } from "../ui/shell.js";
import { daysLeft } from "./keys_scopes.js";
import { inTenant, newTenant, purge, restore, tenantPath } from "./tenants_actions.js";
import { findTenants, isName } from "./tenants_rules.js";

/** @typedef {import("./tenants_rules.js").Tenant} Tenant */

loadStyles("screens/keys_access.css");
const COMMAND = "roster keys create operator --scope all --all-tenants";
const PAGE = 200;
const WAIT_MS = 250;

/** Why the caller may not see tenants, or null. */
export function refusal() {
    if (caller().open) {
        return emptyState({ icon: "building", title: "Tenants need a key for all tenants",
            text: "A tenant is a directory of its own for one customer. An open service refuses "
                + "tenants. Make the first key one for all tenants: stop the service, run this on "
                + "the server, start it again and sign in.",
            action: html`<div class="secret"><code>${COMMAND}</code>${copyButton(COMMAND,
                "Copy the command")}</div>` });
    }
    if (!can("tenants:admin")) {
        return noScope("tenants:admin", "manage tenants");
    }
    return caller().tenants === "all" ? null : emptyState({ icon: "lock",
        title: "Your credential is of one tenant",
        text: "Managing tenants needs a key for all tenants: sign in with one. On the "
            + "server, roster keys create NAME --scope all --all-tenants makes one." });
}

/** When a deleted tenant is erased. @param {Tenant} tenant */
export const purgeText = ({ purge_at: at }) => {
    const left = daysLeft(at);
    return !at ? "Kept until you purge it" : left < 1 ? "Erased today"
        : html`<span title=${at}>Erased in ${count(left, "day")}, on ${date(at)}</span>`;
};

/** @param {import("../route.js").Route} route */
export default function tenants(route) {
    const refused = refusal();
    if (refused) {
        return { title: "Tenants", view: () => html`${pageHead({ title: "Tenants" })}
            <div class="page">${refused}</div>` };
    }
    const state = { items: /** @type {Tenant[] | null} */ (null),
        next: /** @type {string | null} */ (null),
        found: /** @type {Tenant[]} */ ([]), error: /** @type {any} */ (null), loading: false,
        q: route.query.q ?? "", show: route.query.show ?? "" };
    const stop = new AbortController();
    let waiting = 0;
    let asked = 0;

    /** Read the list from the start, or its next page. @param {string | null} [cursor] */
    async function load(cursor = null) {
        const mine = ++asked;
        Object.assign(state, { error: null, loading: true, items: cursor ? state.items : null });
        refresh();
        try {
            const path = state.show ? "/deleted-tenants" : "/tenants";
            const { data } = await get(path, { service: true, signal: stop.signal,
                query: { limit: PAGE, cursor } });
            if (mine !== asked) {
                return;
            }
            state.items = [...(cursor && state.items || []), ...data.items];
            state.next = data.next_cursor;
            if (!state.show) {
                setCount("tenants", number(state.items.length) + (state.next ? "+" : ""));
            }
            await lookUp();
        } catch (error) {
            state.error = isAbort(error) ? null : error;
        }
        state.loading = false;
        refresh();
    }

    /** The API finds a whole name or external id only. What is not loaded yet is looked up so. */
    async function lookUp() {
        const text = state.q.trim();
        state.found = [];
        if (!text || !state.next || state.show) {
            return;
        }
        const options = { service: true, signal: stop.signal };
        const [byName, byId] = await Promise.all([
            isName(text) ? get(tenantPath(text), options).then(({ data }) => [data], none) : [],
            get("/tenants", { ...options, query: { external_id: text, limit: PAGE } })
                .then(({ data }) => data.items, none)]);
        if (text === state.q.trim()) {
            const known = new Set(state.items?.map(({ name }) => name));
            state.found = [...byName, ...byId.filter((/** @type {Tenant} */ one) =>
                one.name !== byName[0]?.name)].filter(({ name }) => !known.has(name));
        }
    }

    /** No such tenant is no fault here. @param {any} error @returns {Tenant[]} */
    function none(error) {
        if (error?.status === 404 || isAbort(error)) {
            return [];
        }
        throw error;
    }

    /** @param {Event} event */
    function search(event) {
        state.q = /** @type {HTMLInputElement} */ (event.target).value;
        setQuery({ q: state.q });
        clearTimeout(waiting);
        waiting = window.setTimeout(() => lookUp().catch((error) => {
            state.error = error;
        }).then(refresh), WAIT_MS);
        refresh();
    }

    async function add() {
        const made = await newTenant();
        if (made) {
            go("tenants", made.name);
        }
    }

    /** @param {Tenant} one */
    async function onPurge(one) {
        if (await purge(one)) {
            await load();
        }
    }

    /** @param {Tenant} one */
    const nameCell = (one) => html`<td><div class="nm"><a class="link cut" href=${to("tenants",
        one.name)}
        ><bdi>${one.display_name || one.name}</bdi></a>${one.display_name
    ? html`<span class="mono muted">${one.name}</span>` : ""}</div></td>`;

    const row = (/** @type {Tenant} */ one) => html`<tr>${nameCell(one)}
        <td>${statusBadge(one)}</td>
        <td class="d">${cut(one.external_id, "mono")}</td>
        <td class="end">${number(one.users ?? 0)}${one.users_max === undefined ? ""
    : ` of ${number(one.users_max)}`}<span class="m">&nbsp;users</span></td>
        <td class="end">${number(one.groups ?? 0)}<span class="m">&nbsp;groups</span></td>
        <td class="end d"><a class="link" href=${inTenant(one.name)}
            aria-label="Open the users of ${one.name}">Open</a></td></tr>`;

    const table = (/** @type {Tenant[]} */ items) => html`<table class="table"><thead><tr>
        <th scope="col">Tenant</th><th scope="col">State</th><th scope="col">External id</th>
        <th scope="col" class="end">Users</th><th scope="col" class="end">Groups</th>
        <th><span class="sr">Open</span></th></tr></thead><tbody>${items.map(row)}</tbody></table>`;

    const deletedTable = (/** @type {Tenant[]} */ items) => html`<table class="table"><thead><tr>
        <th scope="col">Tenant</th><th scope="col">Erased</th><th scope="col" class="end">Users</th>
        <th><span class="sr">Actions</span></th></tr></thead><tbody>${items.map((one) => html`<tr>
            ${nameCell(one)}<td>${purgeText(one)}</td>
            <td class="end">${number(one.users ?? 0)}<span class="m">&nbsp;users</span></td>
            <td class="end"><div class="rowbtns"><button class="btn"
                aria-label="Restore ${one.name}"
                @click=${() => restore(one.name, () => go("tenants",
                    one.name))}>${icon("undo")}Restore
                </button><button class="btn danger" aria-label="Purge ${one.name}"
                @click=${() => onPurge(one)}>Purge</button></div></td></tr>`)}</tbody></table>`;

    const noneView = () => (state.q ? emptyState({ icon: "search", title: "No tenant matches",
        text: state.next ? "Not all tenants are loaded. Among the others only a whole name "
            + "or external id is found." : "Search looks at names and external ids." })
        : state.show ? emptyState({ icon: "trash", title: "No deleted tenants",
            text: "A deleted tenant is kept here for some time, and can be restored whole." })
            : emptyState({ icon: "building", title: "No tenants yet",
                text: "A tenant is a directory of its own for one customer: users, groups, "
                    + "keys and a SCIM endpoint. The users that you see without one are "
                        + "those of the default tenant.",
                action: html`<button class="btn primary" @click=${add}>${icon("plus")}New tenant
                    </button>` }));

    function listView() {
        const items = [...state.found, ...findTenants(state.items ?? [], state.q)];
        return html`
            ${items.length ? (state.show ? deletedTable : table)(items) : noneView()}
            ${state.next ? html`<div class="more-row"><button class="btn" ?disabled=${state.loading}
                @click=${() => load(state.next)}>Show more</button></div>` : ""}`;
    }

    const tools = () => html`
        <div class="tools"><div class="search" role="search">${icon("search")}<input id="search"
            type="search" aria-label="Search tenants" placeholder="Name or external id"
            autocomplete="off" spellcheck="false" .value=${state.q} @input=${search}><kbd
                class="d">/</kbd>
            </div></div>
        ${tabs("Which tenants", [{ href: to("tenants"), text: "Tenants", current: !state.show },
        { href: to("tenants", { show: "deleted" }), text: "Deleted",
            current: state.show === "deleted" }])}`;

    load();
    return {
        title: "Tenants",
        view: () => html`${pageHead({ title: "Tenants", sub: "One for each customer",
            actions: html`<button class="btn primary" aria-label="New tenant" @click=${add}>
                ${icon("plus")}<span class="d">New tenant</span></button>` })}
            <div class="page">${tools()}${state.error ? errorPanel(state.error, () => load())
                : state.items ? listView() : skeleton(6)}</div>`,
        changed(/** @type {import("../route.js").Route} */ { query }) {
            const { q = "", show = "" } = query;
            const other = show !== state.show;
            Object.assign(state, { q, show });
            return other ? load() : lookUp();
        },
        close() {
            clearTimeout(waiting);
            stop.abort();
        },
        keys: { "/": () => document.getElementById("search")?.focus(), c: add },
    };
}
