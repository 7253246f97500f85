// Add members to a group, by search or from a pasted list. The dialog stays open for more.
import { html } from "../vendor/lit-html/lit-html.js";
import { asProblem, del, get, isAbort, put } from "../api.js";
import { refresh, say } from "../page.js";
import { count, userName } from "../texts.js";
import { dialog } from "../ui/dialog.js";
import { icon } from "../ui/icons.js";
import { avatar } from "../ui/parts.js";
import { FIELDS } from "./group_members.js";
import { pasteList } from "./group_paste.js";

/** @typedef {{id: string, type: "user" | "group", name: string, more: string}} Found */

/** Which of these users are direct members. @param {string} group @param {string[]} ids
 * @returns {Promise<Set<string>>} */
export async function membersAmong(group, ids) {
    const all = /** @type {Set<string>} */ (new Set());
    for (let at = 0; at < ids.length; at += 100) {
        const { data } = await get("/users", { query: { id: ids.slice(at, at + 100), limit: 100,
            filter: `groups.value eq "${group}"`, fields: "username" } });
        data.items.forEach((/** @type {any} */ user) => all.add(user.id));
    }
    return all;
}

/** @param {string} id @param {string} name @returns {Promise<boolean>} whether members changed */
export async function addMembers(id, name) {
    const state = { tab: "search", q: "", found: /** @type {Found[]} */ ([]), error: "", searched:
        false,
        members: /** @type {Set<string>} */ (new Set()), added:
            /** @type {Set<string>} */ (new Set()),
        busy: /** @type {Set<string>} */ (new Set()), faults:
            /** @type {Map<string, string>} */ (new Map()),
        waiting: 0, changed: false };
    let stop = new AbortController();
    const paste = pasteList(id, () => {
        state.changed = true;
    });

    function type(/** @type {InputEvent} */ event) {
        state.q = /** @type {HTMLInputElement} */ (event.target).value;
        clearTimeout(state.waiting);
        state.waiting = window.setTimeout(search, 120);
    }

    async function search() {
        stop.abort();
        stop = new AbortController();
        const { signal } = stop;
        try {
            const [users, groups] = await Promise.all([
                get("/users", { signal, query: { q: state.q, limit: 20, fields: FIELDS } }),
                state.q.trim() ? get("/groups", { signal, query: { q: state.q, limit: 5,
                    fields: "display_name" } }) : { data: { items: [] } }]);
            const found = [...groups.data.items.filter((/** @type {any} */ one) => one.id !== id)
                .map((/** @type {any} */ one) => ({ id: one.id, type: "group", name:
                    one.display_name,
                    more: "Group" })),
            ...users.data.items.map((/** @type {any} */ one) => ({ id: one.id, type: "user",
                name: userName(one), more: [one.username,
                    one.email].filter(Boolean).join(" · ") }))];
            const [members, parents] = await Promise.all([
                membersAmong(id, users.data.items.map((/** @type {any} */ one) => one.id)),
                Promise.all(groups.data.items.map((/** @type {any} */ one) => get("/groups", {
                    signal,
                    query: { member_id: one.id, limit: 1000, fields: "display_name" } })))]);
            groups.data.items.forEach((/** @type {any} */ one, /** @type {number} */ at) => {
                if (parents[at].data.items.some((/** @type {any} */ parent) => parent.id === id)) {
                    members.add(one.id);
                }
            });
            if (signal.aborted) {
                return;
            }
            Object.assign(state, { found, error: "", searched: true });
            members.forEach((one) => state.members.add(one));
            say(`${count(found.length, "result")}`);
        } catch (error) {
            if (isAbort(error)) {
                return;
            }
            state.error = asProblem(error).detail || asProblem(error).title;
        }
        refresh();
    }

    /** Add, or take back what was added here. @param {Found} one @param {boolean} on */
    async function change(one, on) {
        state.busy.add(one.id);
        state.faults.delete(one.id);
        refresh();
        try {
            await (on ? put : del)(`/groups/${id}/members/${one.id}`);
            state.changed = true;
            on ? state.added.add(one.id) : state.added.delete(one.id);
            say(on ? `${one.name} added` : `${one.name} taken back`);
        } catch (error) {
            const problem = asProblem(error);
            state.faults.set(one.id, problem.code === "group-cycle"
                ? "This group contains the one that you add to. A group cannot contain itself."
                : problem.detail || problem.title);
        }
        state.busy.delete(one.id);
        refresh();
    }

    /** Enter adds the first one that is no member yet, for adding several without the mouse. */
    function addFirst() {
        const one = state.found.find((some) => !state.members.has(some.id) &&
            !state.added.has(some.id)
            && !state.faults.has(some.id));
        if (one && state.q.trim() && !state.busy.size) {
            change(one, true);
            const input =
                /** @type {HTMLInputElement | null} */ (document.getElementById("add-search"));
            input?.select();
        }
    }

    const row = (/** @type {Found} */ one) => html`<li>${one.type === "group"
        ? html`<span class="gicon">${icon("groups")}</span>` : avatar(one.name, one.id)}
        <div class="t"><bdi class="cut" title=${one.name}>${one.name}</bdi><small><bdi
            class="cut">${one.more}
        </bdi></small></div>
        ${state.added.has(one.id) ? html`<span class="badge ok">${icon("check")}Added</span>
            <button type="button" class="link" ?disabled=${state.busy.has(one.id)}
            @click=${() => change(one, false)}>Undo<span class="sr"> ${one.name}</span></button>`
            : state.members.has(one.id) ? html`<span class="muted">Is a member</span>`
                : html`<button type="button" class="btn" ?disabled=${state.busy.has(one.id)}
                @click=${() => change(one, true)}>Add<span class="sr"> ${one.name}</span></button>`}
        ${state.faults.has(one.id) ? html`<div class="note bad gsaid" role="alert">${icon("alert")}
            <span>${state.faults.get(one.id)}</span></div>` : ""}</li>`;

    const searchView = () => html`
        <input class="in" id="add-search" type="search" aria-label="Search users and groups"
            autofocus
            placeholder="Name, username or e-mail" autocomplete="off" spellcheck="false"
            .value=${state.q} @input=${type}>
        ${state.error ? html`<div class="note bad"
            role="alert">${icon("alert")}<span>${state.error}</span>
            </div>` : ""}
        ${state.found.length ? html`<ul class="gfound">${state.found.map(row)}</ul>`
            : state.searched ? html`<p class="muted">Nobody matches. Search finds the beginnings of
                words.</p>` : ""}`;

    const tab = (/** @type {string} */ key, /** @type {string} */ text) => html`<button
        type="button"
        aria-pressed=${state.tab === key ? "true" : "false"} @click=${() => {
            state.tab = key;
            refresh();
        }}>${text}</button>`;

    search();
    await dialog({
        title: "Add members",
        lead: () => html`To <bdi class="strong">${name}</bdi>. Each one is added at once.`,
        body: () => html`<div class="gtabs" role="group" aria-label="How to add">${tab("search",
            "Search")}${
            tab("paste", "Paste a list")}</div><div class="gadd">${state.tab === "search" ?
                searchView()
            : paste.view()}</div>`,
        submit: () => (state.tab === "search" ? addFirst() : paste.go()),
        actions: (close) => html`<span class="muted" role="status">${state.added.size
            ? `${state.added.size} added` : state.tab === "search" ? html`<span class="d">Enter adds
                the
            first one</span>` : ""}</span>
            <div class="sp">${state.tab === "paste" ? paste.buttons() : ""}<button type="button"
            class="btn ${state.tab === "paste" ? "" : "primary"}"
                @click=${() => close()}>Done</button></div>`,
    });
    stop.abort();
    clearTimeout(state.waiting);
    return state.changed;
}
