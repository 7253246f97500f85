// The groups of a user: direct ones with Remove, and those that contain these.
import { html } from "../vendor/lit-html/lit-html.js";
import { asProblem, del, get, put } from "../api.js";
import { can } from "../caller.js";
import { refresh, to, toast } from "../page.js";
import { dialog } from "../ui/dialog.js";
import { icon } from "../ui/icons.js";
import { emptyState, errorPanel, skeleton } from "../ui/parts.js";

/** @typedef {{id: string, display_name: string}} Group */

/** @param {string} id of the user */
export function userGroups(id) {
    const state = { direct: /** @type {Group[] | null} */ (null), via: /** @type {Group[]} */ ([]),
        error: /** @type {any} */ (null) };

    async function load() {
        state.error = null;
        try {
            const [direct, nested] = await Promise.all([
                get(`/users/${id}/groups`, { query: { limit: 1000, fields: "display_name" } }),
                get(`/users/${id}/groups`, { query: { limit: 1000, nested: true,
                    fields: "display_name" } })]);
            const own = new Set(direct.data.items.map((/** @type {Group} */ group) => group.id));
            state.direct = direct.data.items;
            state.via = nested.data.items.filter((/** @type {Group} */ group) =>
                !own.has(group.id));
        } catch (error) {
            state.error = error;
        }
        refresh();
    }
    load();

    /** @param {Group} group @param {boolean} undo */
    async function join(group, undo = true) {
        try {
            await put(`/groups/${group.id}/members/${id}`);
            toast(`Added to ${group.display_name}`,
                undo ? { undo: () => leave(group, false) } : {});
        } catch (error) {
            toast(asProblem(error).detail, { kind: "bad" });
        }
        load();
    }

    /** @param {Group} group @param {boolean} undo */
    async function leave(group, undo = true) {
        try {
            await del(`/groups/${group.id}/members/${id}`);
            toast(`Removed from ${group.display_name}`,
                undo ? { undo: () => join(group, false) } : {});
        } catch (error) {
            toast(asProblem(error).detail, { kind: "bad" });
        }
        load();
    }

    async function add() {
        const group = await chooseGroup(new Set(state.direct?.map((one) => one.id)));
        if (group) {
            join(group);
        }
    }

    const pills = () => html`<div class="pills">${state.direct?.map((group) => html`
        <a class="pill" href=${to("groups", group.id)}
            >${icon("groups")}<bdi>${group.display_name}</bdi></a>`)}
        ${state.via.map((group) => html`<a class="pill via" href=${to("groups", group.id)}>
            <bdi>${group.display_name}</bdi>, by another group</a>`)}
        ${state.direct && !state.direct.length ? html`<span class="muted">In no group</span>` :
            ""}</div>`;

    const view = () => (state.error ? errorPanel(state.error, load)
        : !state.direct ? skeleton(4) : html`
        <div class="sections">${state.direct.length ? html`
            <section class="card"><h2>Direct member</h2><ul class="list">${
                state.direct.map((group) => html`
                <li class="row line"><a class="link" href=${to("groups", group.id)}>
                    <bdi>${group.display_name}</bdi></a><span class="sp">${can("users:write") ?
                        html`
                    <button class="btn ghost" @click=${() => leave(group)}>Remove</button>` :
                        ""}</span>
                </li>`)}</ul></section>` : emptyState({ icon: "groups", title: "In no group" })}
            ${state.via.length ? html`<section class="card"><h2>By these groups also in</h2>
                <ul class="list">${state.via.map((group) => html`<li class="row line"><a
                    class="link"
                    href=${to("groups", group.id)}><bdi>${group.display_name}</bdi></a></li>`)}</ul>
                </section>` : ""}
            ${can("users:write") ? html`<div><button class="btn" @click=${add}>${icon("plus")}Add to
                a
                group</button></div>` : ""}</div>`);

    return { view, pills, add, load, count: () => state.direct?.length };
}

/** Choose a group by the beginning of a word. @param {Set<string>} except
 * @returns {Promise<Group | undefined>} */
export async function chooseGroup(except) {
    const state = { q: "", found: /** @type {Group[]} */ ([]), stop: new AbortController() };
    async function search() {
        state.stop.abort();
        state.stop = new AbortController();
        try {
            const { data } = await get("/groups", { signal: state.stop.signal,
                query: { q: state.q, limit: 20, fields: "display_name", sort: "display_name" } });
            state.found = data.items;
            refresh();
        } catch {
            // The next letter searches again.
        }
    }
    search();
    return dialog({
        title: "Add to a group",
        body: (close) => html`<input class="in" aria-label="Search groups"
            placeholder="Name of the group"
            autofocus @input=${(/** @type {InputEvent} */ event) => {
                state.q = /** @type {HTMLInputElement} */ (event.target).value;
                search();
            }}>
            <ul class="list">${state.found.map((group) => html`<li class="row line"><bdi>${
                group.display_name}</bdi><span class="sp">${except.has(group.id)
                ? html`<span class="muted">is a member</span>`
                : html`<button type="button" class="btn" @click=${() => close(group)}>Add<span
                    class="sr"> to ${group.display_name}</span></button>`}</span></li>`)}</ul>`,
        actions: (close) => html`<div class="sp"><button type="button" class="btn"
            @click=${() => close()}>Cancel</button></div>`,
    });
}
