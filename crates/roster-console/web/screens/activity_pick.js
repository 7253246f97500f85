// Choose the user or the group whose changes are shown: by name, username, address or id.
import { html } from "../vendor/lit-html/lit-html.js";
import { asProblem, get } from "../api.js";
import { refresh } from "../page.js";
import { isId } from "../route.js";
import { userName } from "../texts.js";
import { dialog } from "../ui/dialog.js";
import { field } from "../ui/fields.js";
import { icon } from "../ui/icons.js";
import { avatar } from "../ui/parts.js";

/** @typedef {{subject: string, name: string, more: string}} Found */

/** @returns {Promise<{subject: string, name: string} | undefined>} */
export function pickSubject() {
    const state = { q: "", found: /** @type {Found[] | null} */ (null), error: "" };
    let waiting = 0;
    let latest = 0;

    async function search() {
        const mine = ++latest;
        const q = state.q.trim();
        if (!q) {
            state.found = null;
            refresh();
            return;
        }
        try {
            const found = isId(q) ? byId(q) : await byName(q);
            if (mine === latest) {
                Object.assign(state, { found, error: "" });
            }
        } catch (error) {
            if (mine === latest) {
                state.error = asProblem(error).detail || asProblem(error).title;
            }
        }
        refresh();
    }

    /** The log knows also users that are erased. @param {string} id @returns {Found[]} */
    const byId = (id) => [
        { subject: `users/${id.toLowerCase()}`, name: "User with this id", more: id },
        { subject: `groups/${id.toLowerCase()}`, name: "Group with this id", more: id }];

    /** @param {string} q @returns {Promise<Found[]>} */
    async function byName(q) {
        const [users, groups] = await Promise.all([
            get("/users", { query: { q, limit: 8 } }), get("/groups", { query: { q, limit: 5 } })]);
        return [...users.data.items.map((/** @type {any} */ user) => ({ subject: `users/${user.id}`,
            name: userName(user), more: user.email ?? user.username })),
        ...groups.data.items.map((/** @type {any} */ group) => ({ subject: `groups/${group.id}`,
            name: group.display_name, more: "Group" }))];
    }

    return dialog({
        title: "Changes of one user or group",
        body: (close) => html`
            ${field({ id: "pick", label: "Name, username, e-mail or id", value: state.q,
                autofocus: true,
                error: state.error, onInput: (value) => {
                    state.q = value;
                    clearTimeout(waiting);
                    waiting = window.setTimeout(search, 150);
                } })}
            <ul class="pick" aria-label="Found">${state.found?.map((one) => html`<li>
                <button type="button"
                    @click=${() => close({ subject: one.subject, name: one.name })}>
                    ${one.subject.startsWith("groups/") ? icon("groups")
                        : avatar(one.name, one.subject)}
                    <bdi class="cut">${one.name}</bdi><bdi class="cut
                        muted">${one.more}</bdi></button>
                </li>`) ?? ""}</ul>
            <div role="status" class="muted">${state.found?.length === 0
                ? "Nobody matches. Deleted ones are found by their id." : ""}</div>`,
        submit: (close) => (state.found?.length === 1 ? close(state.found[0]) : undefined),
        actions: (close) => html`<div class="sp"><button type="button" class="btn"
            @click=${() => close()}>Cancel</button></div>`,
    });
}
