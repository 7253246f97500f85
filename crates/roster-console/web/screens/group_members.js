// The members of a group: users and groups, by name.
import { html } from "../vendor/lit-html/lit-html.js";
import { del, get, put } from "../api.js";
import { can } from "../caller.js";
import { refresh, to, toast } from "../page.js";
import { count, shortId, userName } from "../texts.js";
import { attempt, pages } from "../ui/data.js";
import { icon } from "../ui/icons.js";
import { listView, table } from "../ui/list.js";
import { avatar, cut, mark, once, searchBox, statusBadge } from "../ui/parts.js";

const fields = "username,name,display_name,given_name,family_name,email,status";
const SHOWN = 5;
const names = new Map();

export const read = async (path, query, signal) =>
    (await get(path, { signal, query })).data.items;

export async function usersOf(ids, query) {
    const all = [];
    for (let at = 0; at < ids.length; at += 100) {
        all.push(...await read("/users", { ...query, id: ids.slice(at, at + 100), limit: 100 }));
    }
    return all;
}

export function groupMembers(id, group, changed) {
    const path = `/groups/${id}/members`;
    const writes = can("users:write");
    let [q, waiting] = ["", 0];
    // The service reads at most 100 members with their names at a time.
    const list = pages(path, () => ({ fields }), { size: 100 });
    // Users of the group that match; groups are found among those that are loaded.
    const found = pages("/users", () => ({ q, filter: `groups.value eq "${id}"`, fields }));
    list.load();

    function reload() {
        list.load();
        changed();
        return q.trim() && found.load();
    }
    const nameOf = (one) => userName(one.user ?? one.group ?? one);

    async function remove(one) {
        const name = nameOf(one);
        if (await attempt(() => del(`${path}/${one.id}`), `${name} was not removed`)) {
            toast(`${name} removed from ${group().display_name}`, { async undo() {
                await attempt(() => put(`${path}/${one.id}`), `${name} was not added again`);
                reload();
            } });
            [list, found].forEach((some) => {
                some.items = some.items?.filter((other) => other.id !== one.id);
            });
            changed();
        }
    }
    async function add() {
        const { addMembers } = await import("./group_add.js");
        return await addMembers(id, group().display_name) && reload();
    }

    const columns = [
        { head: "Name", cell: (one) => html`<a class="nm" href=${to(`${one.type}s`, one.id)}>${
            one.user ? avatar(nameOf(one), one.id) : mark("groups")}${cut(nameOf(one))}</a>` },
        { head: "E-mail or username", type: "muted", cell: ({ user }) =>
            (user ? cut(user.email ?? user.username) : "Group") },
        { head: "Status", type: "d", cell: ({ user }) => (user ? statusBadge(user) : "") },
        { head: html`<span class="sr">Actions</span>`, type: "act", cell: (one) =>
            (writes ? html`<button class="btn ghost" @click=${once(() => remove(one))}>Remove
                <span class="sr">${nameOf(one)}</span></button>` : "") }];

    function view() {
        const words = q.trim().toLowerCase();
        const source = words ? found : list;
        const items = words ? found.items && [...list.items.filter((one) => one.group
            && ` ${nameOf(one).toLowerCase()}`.includes(` ${words}`)),
        ...found.items.map((user) => ({ id: user.id, type: "user", user }))] : list.items;
        return html`${list.items?.length ? html`<div class="tools">${searchBox({
            id: "member-search", label: "Search members", placeholder: "Search members", value: q,
            input(event) {
                q = event.target.value;
                clearTimeout(waiting);
                waiting = window.setTimeout(() => (q.trim() ? found.load() : refresh()), 120);
            } })}</div>` : ""}${listView(source, items, () => (words
            ? { icon: "search", title: "No member matches", text: list.next
                && "Groups are searched among the members that are loaded. Clear the search and "
                + "load more of them." }
            : { icon: "users", title: "The group has no members", action: writes ? html`<button
                class="btn primary" @click=${add}>${icon("plus")}Add members</button>` : "" }),
        (all) => table(columns, all))}`;
    }
    return { view, add, close() {
        list.close();
        found.close();
        clearTimeout(waiting);
    } };
}

/** Events have ids of members; the first of each are read for their names. */
export async function readNames(events) {
    const ids = [...new Set(events.flatMap(({ data: { added = [], removed = [] } }) =>
        [...added.slice(0, SHOWN), ...removed.slice(0, SHOWN)]))].filter((id) => !names.has(id));
    const rest = () => ids.filter((id) => !names.has(id)).slice(0, 40)
        .map((id) => `id eq "${id}"`).join(" or ");
    const keep = (screen) => (items) => items.forEach((one) =>
        names.set(one.id, { name: userName(one), screen }));
    try {
        await usersOf(ids, { fields }).then(keep("users"));
        rest() && await read("/groups", { filter: rest() }).then(keep("groups"));
        rest() && can("users:write")
            && await read("/deleted-users", { filter: rest() }).then(keep("deleted"));
    } catch {
        // Ids are shown in place of names.
    }
    refresh();
}

export const people = (word, ids = []) => (ids.length ? html`${word} ${ids.slice(0, SHOWN).map(
    (id, at) => html`${at ? ", " : ""}${names.has(id) ? html`<a class="link"
        href=${to(names.get(id).screen, id)}><bdi>${names.get(id).name}</bdi></a>`
        : html`<span class="mono">${shortId(id)}</span>`}`)}${ids.length > SHOWN
    ? ` and ${count(ids.length - SHOWN, "other")}` : ""}` : "");
