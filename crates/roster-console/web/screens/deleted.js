// Deleted users: who was deleted, how long the record is kept, restore.
import { html } from "../vendor/lit-html/lit-html.js";
import { can } from "../caller.js";
import { loadStyles, refresh, to } from "../page.js";
import { number, total, userName } from "../texts.js";
import { icon } from "../ui/icons.js";
import { openMenu } from "../ui/menu.js";
import { ago, avatar, cut, emptyState, errorPanel, noScope, pageHead,
    skeleton } from "../ui/parts.js";
import { setCount } from "../ui/shell.js";
import { daysLeft, purge, restore } from "./deleted_actions.js";
import { finding, foot, pagesOf } from "./groups_pages.js";

await loadStyles("screens/groups.css");

const SORTS = /** @type {[string, string][]} */ ([["", "Deleted last"], ["deleted_at",
    "Erased first"]]);
const FIELDS =
    "username,name,display_name,given_name,family_name,email,external_id,deleted_at,purge_at";

/** @param {import("../route.js").Route} route */
export default function deleted(route) {
    if (!can("users:read", "users:write")) {
        return { title: "Deleted users", view: () => html`${pageHead({ title: "Deleted users" })}
            ${noScope(can("users:read") ? "users:write" : "users:read", "read deleted users")}` };
    }
    const state = { q: route.query.q ?? "", sort: route.query.sort ?? "", busy: new Set() };
    const list = pagesOf("/deleted-users", () => ({ q: state.q, sort: state.sort, fields: FIELDS,
        count: state.q.trim() ? "" : "true" }));
    list.load();

    const { apply, search, close } = finding(state, () => list);

    const sortMenu = (/** @type {Event} */ event) => openMenu(event, "Order", SORTS.map(([sort,
        text]) =>
        ({ text, checked: state.sort === sort, run: () => apply({ sort }) })));

    /** @param {any} user @param {(user: any) => Promise<boolean>} action */
    async function act(user, action) {
        state.busy.add(user.id);
        refresh();
        const gone = await action(user);
        state.busy.delete(user.id);
        if (gone) {
            await list.load(list.items?.length ?? 0);
            /** @type {any} */ (document.querySelector("main h1"))?.focus();
        }
        refresh();
    }

    const menu = (/** @type {Event} */ event, /** @type {any} */ user) =>
        openMenu(event, `More for ${userName(user)}`, [
            { text: "Open", icon: "user", href: to("deleted", user.id) },
            { text: "Copy the id", icon: "copy", run:
                () => navigator.clipboard.writeText(user.id) },
            ...(can("users:purge") ? [null, { text: "Erase for good",
                icon: /** @type {"trash"} */ ("trash"), danger: true, run: () => act(user, purge) }]
                    : [])]);

    const row = (/** @type {any} */ user) => {
        const name = userName(user);
        const left = daysLeft(user.purge_at);
        return html`<tr><td><a class="gname" href=${to("deleted", user.id)}>${avatar(name, user.id)}
            <bdi class="cut" title=${name}>${name}</bdi></a></td>
            <td class="muted d">${cut(user.username)}</td><td class="muted">${cut(user.email)}</td>
            <td class="muted d">${ago(user.deleted_at)}</td>
            <td class="ddays"><span class=${left.soon ? "badge warn" : "muted"}><span
                class="m1">Erased in </span>${left.text}</span></td>
            <td class="end act"><span class="dact"><button class="btn"
                ?disabled=${state.busy.has(user.id)}
                @click=${() => act(user, restore)}>${icon("undo")}Restore<span class="sr">
                    ${name}</span>
                </button><button class="btn ghost icon d" aria-haspopup="menu"
                    aria-label="More for ${name}"
                @click=${(/** @type {Event} */ event) => menu(event,
                    user)}>${icon("more")}</button></span>
                </td></tr>`;
    };

    function listView() {
        if (list.error) {
            return errorPanel(list.error, () => list.load());
        }
        if (!list.items) {
            return skeleton(10);
        }
        if (!list.items.length && !list.next) {
            return state.q ? emptyState({ icon: "search", title: "No deleted user matches",
                text: "Search finds the beginnings of words in names, usernames and addresses. "
                    + "Users that were erased cannot be found.",
                action: html`<button class="btn" @click=${() => apply({ q: "" })}>Show all deleted
                    users
                    </button>` })
                : emptyState({ icon: "trash", title: "No deleted users",
                    text: "Roster keeps deleted users for some time. Until then they are here and "
                        + "can be restored." });
        }
        return html`<div class="page"><table class="table gtable gfix dtable"><thead><tr>
            <th scope="col">Name</th><th scope="col">Username</th><th scope="col">E-mail</th>
            <th scope="col" class="dwhen">Deleted</th><th scope="col" class="dleft">Erased in</th>
            <th scope="col" class="dgo"><span class="sr">Actions</span></th></tr></thead>
            <tbody>${list.items.map(row)}</tbody></table>${foot(list, "deleted users")}</div>`;
    }

    return {
        title: "Deleted users",
        view: () => html`${pageHead({ title: "Deleted users",
            sub: state.q || !list.items ? "" : total(list.total) })}
            <div class="tools"><div class="search" role="search">${icon("search")}<input id="search"
                type="search" aria-label="Search deleted users"
                    placeholder="Name, username or e-mail"
                autocomplete="off" spellcheck="false" .value=${state.q} @input=${search}><kbd
                    class="d">/</kbd>
                </div><div class="end"><button class="btn ghost" aria-haspopup="menu"
                    @click=${sortMenu}>
                ${icon("sort")}${SORTS.find(([sort]) => sort === state.sort)?.[1] ??
                    "Order"}</button></div>
            </div><div class="topline"></div>${listView()}`,
        changed(/** @type {import("../route.js").Route} */ { query }) {
            const { q = "", sort = "" } = query;
            if (q !== state.q || sort !== state.sort) {
                return apply({ q, sort });
            }
        },
        close() {
            list.close();
            close();
        },
        drawn() {
            if (!state.q && list.total.total !== undefined) {
                setCount("deleted", number(list.total.total));
            }
        },
        keys: { "/": () => document.getElementById("search")?.focus() },
    };
}
