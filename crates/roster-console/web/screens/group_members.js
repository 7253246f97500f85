// The members of a group: users and groups. The service lists their ids; names are read by page.
import { html } from "../vendor/lit-html/lit-html.js";
import { asProblem, del, get, isAbort, put } from "../api.js";
import { can } from "../caller.js";
import { refresh, to, toast } from "../page.js";
import { shortId, userName } from "../texts.js";
import { icon } from "../ui/icons.js";
import { avatar, badge, cut, emptyState, errorPanel, skeleton, statusBadge } from "../ui/parts.js";
import { each, foot, pagesOf } from "./groups_pages.js";

/** @typedef {{id: string, type: "user" | "group", record?: any}} Member */

export const FIELDS = "username,name,display_name,given_name,family_name,email,status";

/** @param {string} id @param {() => any} group @param {() => unknown} changed */
export function groupMembers(id, group, changed) {
    const writes = can("users:write");
    const records = /** @type {Map<string, any>} */ (new Map());
    const state = { q: "", found: /** @type {any[] | null} */ (null), searchError:
        /** @type {any} */ (null),
        waiting: 0, busy: new Set() };
    let stop = new AbortController();
    const list = pagesOf(`/groups/${id}/members`, () => ({ count: "true" }),
        { size: 100, added: readNames });
    list.load();

    /** @param {Member[]} members */
    async function readNames(members) {
        const ids = members.filter((one) => one.type === "user").map((one) => one.id);
        const parts = Array.from({ length: Math.ceil(ids.length / 100) },
            (_, i) => ids.slice(i * 100, i * 100 + 100));
        const keep = (/** @type {any} */ record) => records.set(record.id, record);
        try {
            await each(parts, 2, async (part) => (await get("/users", { query: { id: part,
                limit: 100, fields: FIELDS } })).data.items.forEach(keep));
            await each(members.filter((one) => one.type === "group" && !records.has(one.id)), 4,
                async (one) => keep((await get(`/groups/${one.id}`,
                    { query: { fields: "display_name" } })).data));
        } catch {
            // Ids are shown in place of names.
        }
        refresh();
    }

    function search(/** @type {InputEvent} */ event) {
        state.q = /** @type {HTMLInputElement} */ (event.target).value;
        clearTimeout(state.waiting);
        state.waiting = window.setTimeout(find, 120);
    }

    async function find() {
        stop.abort();
        stop = new AbortController();
        if (!state.q.trim()) {
            state.found = null;
            refresh();
            return;
        }
        try {
            const { data } = await get("/users", { signal: stop.signal, query: { q: state.q, limit:
                100,
                filter: `groups.value eq "${id}"`, fields: FIELDS } });
            state.found = data.items;
            state.searchError = null;
        } catch (error) {
            if (isAbort(error)) {
                return;
            }
            state.searchError = error;
        }
        refresh();
    }

    const reload = () => {
        list.load(list.items?.length ?? 0);
        if (state.q) {
            find();
        }
    };

    const nameOf = (/** @type {Member} */ member) => {
        const record = records.get(member.id);
        return member.type === "group" ? record?.display_name ?? shortId(member.id)
            : record ? userName(record) : shortId(member.id);
    };

    /** @param {Member} member */
    async function remove(member) {
        const name = nameOf(member);
        state.busy.add(member.id);
        refresh();
        try {
            await del(`/groups/${id}/members/${member.id}`);
            toast(`${name} removed from ${group()?.display_name ?? "the group"}`,
                { undo: () => back(member, name) });
        } catch (error) {
            const problem = asProblem(error);
            toast(problem.status === 404 ? `${name} was not in the group any more.`
                : `${name} was not removed: ${problem.detail || problem.title}`, { kind: "bad" });
        }
        state.busy.delete(member.id);
        reload();
        changed();
    }

    /** @param {Member} member @param {string} name */
    async function back(member, name) {
        try {
            await put(`/groups/${id}/members/${member.id}`);
            toast(`${name} is in the group again`);
        } catch (error) {
            toast(`${name} was not added again: ${asProblem(error).detail}`, { kind: "bad" });
        }
        reload();
        changed();
    }

    async function add() {
        const { addMembers } = await import("./group_add.js");
        const size = list.total.total;
        const added = await addMembers(id, group().display_name);
        if (added || size !== list.total.total) {
            reload();
            changed();
        }
    }

    const row = (/** @type {Member} */ member) => {
        const record = records.get(member.id);
        const name = nameOf(member);
        const isGroup = member.type === "group";
        return html`<tr><td><a class="gname" href=${to(isGroup ? "groups" : "users",
            member.id)}>${isGroup
            ? html`<span class="gicon">${icon("groups")}</span>` : avatar(name, member.id)}<bdi
                class="cut"
            title=${name}>${name}</bdi></a></td>
            <td class="muted">${isGroup ? "Group" : cut(record?.email ?? record?.username)}</td>
            <td class=${record?.status === "suspended" ? "" : "d"}>${isGroup ? ""
                : !record && list.loading ? "" : record ? statusBadge(record) : badge("plain",
                    "…")}</td>
            <td class="end act">${writes ? html`<button class="btn ghost" ?disabled=${
                state.busy.has(member.id)} @click=${() => remove(member)}>Remove<span class="sr">
                    ${name}
                </span></button>` : ""}</td></tr>`;
    };

    const table = (/** @type {Member[]} */ members) => html`<table
        class="table gtable gfix"><thead><tr>
        <th scope="col">Name</th><th scope="col">E-mail or username</th>
        <th scope="col" class="gstate">Status</th><th scope="col" class="gact"><span
            class="sr">Actions</span></th></tr></thead>
        <tbody>${members.map(row)}</tbody></table>`;

    function found() {
        if (state.searchError) {
            return errorPanel(state.searchError, find);
        }
        const words = state.q.trim().toLowerCase();
        const groups = (list.items ?? []).filter((one) => one.type === "group"
            && nameOf(one).toLowerCase().split(/\s+/).some((word) => word.startsWith(words)));
        for (const user of state.found ?? []) {
            records.set(user.id, user);
        }
        const all = [...groups, ...(state.found ?? []).map((user) => ({ id: user.id, type:
            "user" }))];
        return all.length ? html`${table(/** @type {Member[]} */ (all))}${
            state.found && state.found.length === 100 ? html`<div class="foot">The first 100. Write
                more of
            the name.</div>` : ""}` : emptyState({ icon: "search", title: "No member matches",
            text: "Search finds the beginnings of words in names, usernames and addresses." });
    }

    function view() {
        if (list.error) {
            return errorPanel(list.error, reload);
        }
        if (!list.items) {
            return skeleton(8);
        }
        if (!list.items.length) {
            return emptyState({ icon: "users", title: "The group has no members",
                text: "Members are users and other groups.",
                action: writes ? html`<button class="btn primary" @click=${add}>${icon("plus")}Add
                    members</button>` : "" });
        }
        return html`<div class="tools"><div class="search" role="search">${icon("search")}<input
            id="member-search" type="search" aria-label="Search members" autocomplete="off"
            placeholder="Search members" spellcheck="false" .value=${state.q} @input=${search}><kbd
            class="d">/</kbd></div></div>
            ${state.q.trim() && (state.found || state.searchError) ? found()
                : html`${table(list.items)}${foot(list, "members")}`}`;
    }

    return { view, add, reload, total: () => list.total.total, close() {
        list.close();
        stop.abort();
        clearTimeout(state.waiting);
    } };
}
