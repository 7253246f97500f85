// The list of groups: search, order, number of members, and a new group.
import { html } from "../vendor/lit-html/lit-html.js";
import { asProblem, get, newKey, post } from "../api.js";
import { can } from "../caller.js";
import { go, here, loadStyles, refresh, to, toast } from "../page.js";
import { number, total } from "../texts.js";
import { dialog } from "../ui/dialog.js";
import { faultsOf, field, focusField } from "../ui/fields.js";
import { icon } from "../ui/icons.js";
import { openMenu } from "../ui/menu.js";
import { cut, emptyState, errorPanel, noScope, pageHead, shortAgo, skeleton } from "../ui/parts.js";
import { setCount } from "../ui/shell.js";
import { each, finding, foot, pagesOf } from "./groups_pages.js";

await loadStyles("screens/groups.css");

const SORTS = /** @type {[string, string][]} */ ([["display_name", "Name, A to Z"],
    ["-display_name", "Name, Z to A"], ["-id", "Newest"], ["id", "Oldest"]]);

/** The number of members of a group at a version: "ID:VERSION". @type {Map<string, number>} */
const members = new Map();
const keyOf = (/** @type {any} */ group) => `${group.id}:${group.version}`;

/** What the list showed before a group was opened, for Back. */
const kept = { tenant: "", q: "", sort: "", size: 0, scroll: 0 };

/** @param {import("../route.js").Route} route */
export default function groups(route) {
    if (!can("users:read")) {
        return { title: "Groups", view: () => html`${pageHead({ title: "Groups" })}
            ${noScope("users:read", "read groups")}` };
    }
    const writes = can("users:write");
    const state = { q: route.query.q ?? "", sort: route.query.sort ?? "" };
    const stop = new AbortController();
    let scroll = kept.tenant === route.tenant && kept.q === state.q && kept.sort === state.sort
        ? kept.scroll : 0;
    const list = pagesOf("/groups", () => ({ q: state.q, sort: state.sort || "display_name",
        count: "true" }), { added: countMembers });
    list.load(scroll ? kept.size : 0);

    /** The list has no numbers of members; each is a request. @param {any[]} some */
    async function countMembers(some) {
        await each(some.filter((group) => !members.has(keyOf(group))), 4, async (group) => {
            if (stop.signal.aborted) {
                return;
            }
            try {
                const { data } = await get(`/groups/${group.id}/members`,
                    { query: { limit: 1, count: true }, signal: stop.signal });
                members.set(keyOf(group), data.total);
                refresh();
            } catch {
                // The column stays empty.
            }
        });
    }

    const { apply, search, close } = finding(state, () => list);

    const sortMenu = (/** @type {Event} */ event) => openMenu(event, "Order",
        SORTS.map(([sort, text]) => ({ text, checked: (state.sort || "display_name") === sort,
            run: () => apply({ sort: sort === "display_name" ? "" : sort }) })));

    const add = async () => {
        const group = await newGroup();
        if (group) {
            toast(`Group ${group.display_name} created`);
            go("groups", group.id);
        }
    };

    const row = (/** @type {any} */ group) => {
        const size = members.get(keyOf(group));
        return html`<tr><td><a class="gname" href=${to("groups", group.id)}><span class="gicon">${
            icon("groups")}</span>${cut(group.display_name)}</a></td>
            <td class="muted mono ${group.external_id ? "" : "d"}">${cut(group.external_id)}</td>
            <td class="end">${size === undefined ? html`<span class="d">…</span>` :
                html`${number(size)}<span
                class="m1"> ${size === 1 ? "member" : "members"}</span>`}</td>
            <td class="end">${shortAgo(group.updated_at)}</td></tr>`;
    };

    function listView() {
        if (list.error) {
            return errorPanel(list.error, () => list.load());
        }
        if (!list.items) {
            return skeleton(10);
        }
        if (!list.items.length && !list.next) {
            return state.q ? emptyState({ icon: "search", title: "No group matches",
                text: "Search finds the beginnings of words in the names of groups.",
                action: html`<button class="btn" @click=${() => apply({ q: "" })}>Show all
                    groups</button>` })
                : emptyState({ icon: "groups", title: "There are no groups yet",
                    text: "A group has users and other groups as members. What it means is up "
                        + "to your applications.",
                    action: writes ? html`<button class="btn primary"
                        @click=${add}>${icon("plus")}New
                        group</button>` : "" });
        }
        return html`<div class="page" id="groups-page" @scroll=${(/** @type {Event} */ event) => {
            Object.assign(kept, { tenant: here().tenant, q: state.q, sort: state.sort,
                size: list.items?.length ?? 0,
                scroll: /** @type {HTMLElement} */ (event.currentTarget).scrollTop });
        }}><table class="table gtable"><thead><tr><th scope="col">Name</th><th scope="col">External
            id</th>
            <th scope="col" class="end">Members</th><th scope="col"
                class="end">Updated</th></tr></thead>
            <tbody>${list.items.map(row)}</tbody></table>${foot(list, "groups")}</div>`;
    }

    return {
        title: "Groups",
        view: () => html`${pageHead({ title: "Groups",
            sub: list.items ? html`${total(list.total)}${state.q ? " match" : ""}` : "",
            actions: writes ? html`<button class="btn primary" aria-label="New group"
                @click=${add}>${
                icon("plus")}<span class="d">New group</span></button>`
                : html`<span class="badge plain">Reads only</span>` })}
            <div class="tools"><div class="search" role="search">${icon("search")}<input id="search"
                type="search" aria-label="Search groups" placeholder="Name of the group"
                    autocomplete="off"
                spellcheck="false" .value=${state.q} @input=${search}><kbd class="d">/</kbd></div>
                <div class="end"><button class="btn ghost" aria-haspopup="menu" @click=${sortMenu}>
                ${icon("sort")}${SORTS.find(([sort]) => sort === (state.sort ||
                    "display_name"))?.[1]
                ?? "Order"}</button></div></div>
            <div class="topline"></div>${listView()}`,
        changed(/** @type {import("../route.js").Route} */ { query }) {
            const { q = "", sort = "" } = query;
            if (q !== state.q || sort !== state.sort) {
                return apply({ q, sort });
            }
        },
        close() {
            stop.abort();
            list.close();
            close();
        },
        drawn() {
            const box = document.getElementById("groups-page");
            if (box && scroll) {
                box.scrollTop = scroll;
                scroll = 0;
            }
            if (!state.q && list.total.total !== undefined) {
                setCount("groups", number(list.total.total));
            }
        },
        keys: { "/": () => document.getElementById("search")?.focus(),
            c: () => (writes ? add() : toast("Your credential only reads.")) },
    };
}

/** Ask for a name and make the group. @returns {Promise<any>} */
function newGroup() {
    const state = { name: "", external: "", busy: false, key: newKey(), error:
        /** @type {any} */ (null) };
    const faults = () => (state.error ? faultsOf(state.error) : {});
    /** @param {(group: any) => void} close */
    async function make(close) {
        if (state.busy) {
            return;
        }
        state.busy = true;
        refresh();
        try {
            close((await post("/groups", { display_name: state.name.trim(),
                ...(state.external.trim() ? { external_id: state.external.trim() } : {}) },
            { headers: { "Idempotency-Key": state.key } })).data);
        } catch (error) {
            state.error = asProblem(error);
            state.key = newKey();
            state.busy = false;
            refresh();
            focusField(faults()["/external_id"] ? "group-external" : "group-name");
        }
    }
    const change = (/** @type {object} */ next) => {
        Object.assign(state, next, { error: null });
        refresh();
    };
    return dialog({
        title: "New group",
        lead: () => "You add the members after this.",
        body: () => html`${field({ id: "group-name", label: "Name", value: state.name, required:
            true,
            autofocus: true, error: faults()["/display_name"] ?? (state.error
                && !faults()["/external_id"] ? state.error.detail || state.error.title : ""),
            onInput: (name) => change({ name }) })}
            ${field({ id: "group-external", label: "External id", mark: "optional", value:
                state.external,
            error: faults()["/external_id"], mono: true,
            hint: "The id that another system gives this group.",
            onInput: (external) => change({ external }) })}`,
        submit: make,
        actions: (close) => html`<div class="sp"><button type="button" class="btn"
            @click=${() => close()}>Cancel</button><button type="submit" class="btn primary"
            ?disabled=${state.busy || !state.name.trim()}>Create group</button></div>`,
    });
}
