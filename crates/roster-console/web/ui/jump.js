// Ctrl-K: jump to a screen, to an id, or to a user whose name begins with the words. And all keys.
import { html } from "../vendor/lit-html/lit-html.js";
import { get } from "../api.js";
import { can } from "../caller.js";
import { go, refresh } from "../page.js";
import { isId } from "../route.js";
import { userName } from "../texts.js";
import { pages } from "./data.js";
import { dialog } from "./dialog.js";
import { icon } from "./icons.js";
import { avatar, modifier } from "./parts.js";
import { places } from "./shell.js";

async function goToId(id) {
    const [group, deleted] = await Promise.all(["groups", "deleted-users"].map((path) =>
        get(`/${path}/${id}`).catch(() => null)));
    go(group ? "groups" : deleted ? "deleted" : "users", id);
}

export async function openJump() {
    let [words, at, waiting] = ["", 0, 0];
    const found = pages("/users", () => ({ q: words }), { size: 8 });

    function goals() {
        const all = [...places(), ...can("users:write") ? [["users/new", "New user", "plus"]] : []];
        const users = words && found.items || [];
        return isId(words)
            ? [{ text: "Open this id", more: words, sign: "search", run: () => goToId(words) }]
            : [...users.map((user) => ({ text: userName(user), more: user.email ?? user.username,
                id: user.id, run: () => go("users", user.id) })), ...all.filter(([, text]) =>
                text.toLowerCase().includes(words.toLowerCase())).map(([place, text, sign]) =>
                ({ text, sign, run: () => go(...place.split("/")) }))];
    }
    function typed(event) {
        [words, at] = [event.target.value.trim(), 0];
        clearTimeout(waiting);
        waiting = words && can("users:read") && window.setTimeout(found.load, 120);
        refresh();
    }
    function step(event) {
        const [{ length }, by] = [goals(), { ArrowDown: 1, ArrowUp: -1 }[event.key]];
        if (by) {
            event.preventDefault();
            at = (at + by + length) % length || 0;
            refresh();
        }
    }
    const goalView = (goal, i, close) => html`<div role="option" id="jump-${i}"
        aria-selected=${i === at ? "true" : "false"} @click=${() => close(goal.run)}>${goal.sign
        ? icon(goal.sign) : avatar(goal.text, goal.id)}<bdi>${goal.text}</bdi><bdi
        class="muted cut">${goal.more}</bdi></div>`;
    const run = await dialog({ title: "Jump to",
        body: (close) => html`<div class="jumpbox"><input class="in" role="combobox" autofocus
            aria-expanded="true" aria-controls="jump-list"
            aria-activedescendant=${goals()[at] ? `jump-${at}` : ""}
            aria-label="A screen, a user or an id" placeholder="A screen, a user or an id"
            autocomplete="off" spellcheck="false" @input=${typed} @keydown=${step}>
            <div role="listbox" id="jump-list" aria-label="Goals">${
                goals().map((goal, i) => goalView(goal, i, close))}</div>
            ${goals()[0] ? "" : html`<p class="muted">Nothing begins with these words.</p>`}</div>`,
        submit: (close) => goals()[at] && close(goals()[at].run) });
    found.close();
    run?.();
}
const KEYS = [
    [`${modifier}K`, "jump to a screen, a user or an id"], ["/", "search the list"],
    ["J  K", "next or previous row"], ["X", "select the row"], ["Enter", "open the row"],
    ["F", "filter the list"], ["C", "new user"], ["S", "suspend or activate the selected users"],
    ["#", "delete the selected users"], ["Z", "undo, while the message is shown"],
    ["G then U G D A", "go to users, groups, deleted users, activity"],
    ["G then K W I S", "go to keys, webhooks, import, SCIM"],
    [`${modifier}Enter`, "save"], ["Esc", "close"], ["?", "this list"],
];

export const showKeys = () => dialog({ title: "Keys",
    body: () => html`<dl class="keylist">${KEYS.map(([key, text]) => html`<dt>${
        key.split(/ +/).map((part) => (part === "then" ? "then " : html`<kbd>${part}</kbd> `))}</dt>
        <dd>${text}</dd>`)}</dl>`,
    actions: (close) => html`<div class="sp"><button type="button" class="btn" autofocus
        @click=${() => close()}>Close</button></div>` });
