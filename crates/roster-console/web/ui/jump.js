// Ctrl-K: jump to a screen, to an id, or to a user whose name begins with the words.
import { html } from "../vendor/lit-html/lit-html.js";
import { get, isAbort } from "../api.js";
import { can } from "../caller.js";
import { go, refresh } from "../page.js";
import { isId } from "../route.js";
import { userName } from "../texts.js";
import { dialog } from "./dialog.js";
import { icon } from "./icons.js";
import { avatar } from "./parts.js";

/** @typedef {{text: string, more?: string, icon?: import("./icons.js").IconName, id?: string,
 *   run: () => unknown}} Goal */

/** @type {[string, string, import("./icons.js").IconName, string][]} */
const SCREENS = [["users", "Users", "users", "users:read"], ["groups", "Groups", "groups",
    "users:read"],
    ["deleted", "Deleted users", "trash", "users:read"], ["activity", "Activity", "activity",
        "events:read"], ["import", "Import", "upload", "users:write"], ["keys", "Keys", "key",
        "keys:admin"], ["scim", "SCIM", "sync", "users:read"], ["webhooks", "Webhooks", "webhook",
        "webhooks:admin"], ["tenants", "Tenants", "building", "tenants:admin"]];

let open = false;

export async function openJump() {
    if (open) {
        return;
    }
    open = true;
    const state = { text: "", users: /** @type {any[]} */ ([]), at: 0, waiting: 0,
        stop: new AbortController() };

    /** What an id is: a user, a group, or a deleted user. @param {string} id */
    async function goToId(id) {
        const places = /** @type {[string, string][]} */ ([["users", `/users/${id}`],
            ["groups", `/groups/${id}`], ["deleted", `/deleted-users/${id}`]]);
        for (const [screen, path] of places) {
            if (await get(path, { query: { fields: "id" } }).then(() => true, () => false)) {
                go(screen, id);
                return;
            }
        }
        go("users", id);
    }

    /** @returns {Goal[]} */
    function goals() {
        const text = state.text.trim();
        if (isId(text)) {
            return [{ text: "Open this id", more: text, icon: "search", run: () => goToId(text) }];
        }
        const words = text.toLowerCase();
        const screens = SCREENS.filter(([, name, , scope]) => can(scope)
            && name.toLowerCase().includes(words)).map(([screen, name, sign]) =>
            ({ text: name, icon: sign, run: () => go(screen) }));
        const users = state.users.map((user) => ({ text: userName(user), more: user.email
            ?? user.username, id: user.id, run: () => go("users", user.id) }));
        const fresh = can("users:write") && "new user".includes(words)
            ? [{ text: "New user", icon: /** @type {"plus"} */ ("plus"), run: () => go("users",
                "new") }]
            : [];
        return text ? [...users, ...screens, ...fresh] : [...screens, ...fresh];
    }

    async function search() {
        state.stop.abort();
        state.stop = new AbortController();
        const q = state.text.trim();
        if (!q || isId(q) || !can("users:read")) {
            state.users = [];
            return;
        }
        try {
            const { data } = await get("/users", { signal: state.stop.signal, query: { q, limit: 8,
                fields: "username,name,given_name,family_name,display_name,email" } });
            Object.assign(state, { users: data.items, at: 0 });
        } catch (error) {
            state.users = isAbort(error) ? state.users : [];
        }
        refresh();
    }

    const row = (/** @type {Goal} */ goal, /** @type {number} */ at,
        /** @type {(run?: () => unknown) => void} */ close) => html`
        <div role="option" id="jump-${at}" aria-selected=${at === state.at ? "true" : "false"}
            @click=${() => close(goal.run)}>${goal.icon ? icon(goal.icon) : avatar(goal.text,
                goal.id)}
            <bdi>${goal.text}</bdi><bdi class="muted cut">${goal.more ?? ""}</bdi></div>`;

    const run = await dialog({
        title: "Jump to",
        body: (close) => {
            const list = goals();
            const pick = /** @type {(run?: any) => void} */ (close);
            return html`<div class="jumpbox"><input class="in" role="combobox" aria-expanded="true"
                aria-controls="jump-list" aria-activedescendant="jump-${state.at}" autofocus
                aria-label="A screen, a user or an id" placeholder="A screen, a user or an id"
                autocomplete="off" spellcheck="false"
                @input=${(/** @type {InputEvent} */ event) => {
                    state.text = /** @type {HTMLInputElement} */ (event.target).value;
                    state.at = 0;
                    clearTimeout(state.waiting);
                    state.waiting = window.setTimeout(search, 120);
                    refresh();
                }}
                @keydown=${(/** @type {KeyboardEvent} */ event) => {
                    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
                    if (step) {
                        event.preventDefault();
                        state.at = (state.at + step + list.length) % Math.max(1, list.length);
                        refresh();
                    }
                }}>
                <div role="listbox" id="jump-list" aria-label="Goals">${list.map((goal, at) =>
                    row(goal, at, pick))}</div>
                ${list.length ? "" : html`<p class="muted">Nothing begins with these
                    words.</p>`}</div>`;
        },
        submit: (close) => {
            const goal = goals()[state.at];
            if (goal) {
                /** @type {(run?: any) => void} */ (close)(goal.run);
            }
        },
    });
    open = false;
    /** @type {any} */ (run)?.();
}
