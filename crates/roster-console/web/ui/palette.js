// The command palette, Ctrl-K: go to a screen, a user, a group or an id, press what the page shows,
// and restore, erase or rotate what is found by a name. And all keys.
import { html } from "../vendor/lit-html/lit-html.js";
import { get } from "../api.js";
import { caller, can } from "../caller.js";
import { go, refresh, reopen, toast, topDialog } from "../page.js";
import { isId } from "../route.js";
import { userName } from "../texts.js";
import { reading } from "./data.js";
import { dialog } from "./dialog.js";
import { icon } from "./icons.js";
import { avatar, modifier } from "./parts.js";
import { places } from "./shell.js";

const WAIT_MS = 120;
const SHOWN_MAX = 40;

const deletedUsers = async (q, signal) => (await get("/deleted-users", { signal, query: { q,
    limit: 8, fields: "username,name,display_name,given_name,family_name,email" } })).data.items;
const keys = async (q, signal) => {
    const { findKeys } = await import("../screens/keys_scopes.js");
    const { items } = (await get("/keys", { signal, query: { limit: 1000 } })).data;
    return findKeys(items.filter(({ status }) => status === "active"), q).slice(0, 8);
};
/** What is done to a record that is found by the words behind a verb. */
const VERBS = [
    { verb: "Restore", what: "a deleted user", sign: "undo", scopes: ["users:read", "users:write"],
        find: deletedUsers, run: async (user) => await (await import("../screens/deleted.js"))
            .restore(user) && go("users", user.id) },
    { verb: "Erase", what: "a deleted user for good", sign: "trash",
        scopes: ["users:read", "users:write", "users:purge"], find: deletedUsers,
        run: async (user) => await (await import("../screens/deleted.js")).purge(user)
            && reopen("deleted") },
    { verb: "Rotate", what: "a key", sign: "rotate", scopes: ["keys:admin"], find: keys,
        run: async (key) => await (await import("../screens/keys_new.js")).rotate(key)
            && reopen("keys") }];
const verbs = () => VERBS.filter(({ scopes }) => can(...scopes));

/** What is made from anywhere: words, icon, and what it does. */
const makes = () => [
    ...can("users:write") ? [["New user", "plus", () => go("users", "new")]] : [],
    ...can("keys:admin") ? [[caller().open ? "Make the first key" : "New key", "plus", async () =>
        await (await import("../screens/keys_new.js")).newKey() && reopen("keys")]] : [],
    // The first key of an open service may do everything.
    ...can("keys:admin") && !caller().open ? [["New key for SCIM: Okta, Entra", "plus", async () =>
        await (await import("../screens/keys_new.js")).newScimKey() && reopen("scim")]] : []];

async function goToId(id) {
    const [group, deleted] = await Promise.all(["groups", "deleted-users"].map((path) =>
        get(`/${path}/${id}`).catch(() => null)));
    go(group ? "groups" : deleted ? "deleted" : "users", id);
}

/** The words of a button, a link or a field, without its key. */
function nameOf(element) {
    const kbd = element.querySelector("kbd")?.textContent ?? "";
    const text = element.ariaLabel || element.labels?.[0]?.textContent || element.textContent;
    const words = text.replace(/\s+/g, " ").trim();
    return words.endsWith(kbd) ? words.slice(0, words.length - kbd.length).trim() : words;
}

/** Give a field the focus; press all else. */
function use(element) {
    element.focus();
    if (element.matches("textarea, select, input:not([type=checkbox], [type=radio])")) {
        element.select?.();
    } else {
        element.click();
    }
}

/** The buttons, links and fields that can be used now: of the dialog on top, or of the screen. */
function controls() {
    const top = topDialog() ?? document.getElementById("main");
    return [...top.querySelectorAll("button, a[href], input, select, textarea")]
        .filter((/** @type {any} */ one) => !one.disabled && one.checkVisibility()
            && one.tabIndex >= 0)
        .map((one) => ({ one, text: nameOf(one), sign: "right" }))
        // The screen may be drawn anew meanwhile, with something else in this place.
        .map(({ one, ...act }) => ({ ...act, run: () => (nameOf(one) === act.text
            ? use(one) : toast("The page has changed meanwhile. Choose again.")) }))
        .filter(({ text }) => text);
}

/** What the service finds for these words. */
async function look(words, signal) {
    const lower = words.toLowerCase();
    const verb = verbs().find((one) => `${lower} `.startsWith(`${one.verb.toLowerCase()} `));
    if (verb) {
        const found = await verb.find(words.slice(verb.verb.length).trim(), signal);
        return found.map((one) => ({ text: `${verb.verb} ${userName(one)}`, sign: verb.sign,
            more: one.email ?? one.username ?? one.id, run: () => verb.run(one) }));
    }
    if (!words || isId(words) || !can("users:read")) {
        return [];
    }
    const [users, groups] = await Promise.all(["/users", "/groups"].map(async (path) =>
        (await get(path, { signal, query: { q: words, limit: 8 } })).data.items));
    return [...users.map((user) => ({ text: userName(user), more: user.email ?? user.username,
        id: user.id, run: () => go("users", user.id) })),
    ...groups.map((group) => ({ text: group.display_name, more: "Group", sign: "groups",
        run: () => go("groups", group.id) }))];
}

/** Show the list over a screen, and do what is chosen. */
export async function openPalette(screen) {
    const acts = [...await screen?.acts?.() ?? [], ...makes()].map(([text, sign, run]) =>
        ({ text, sign, run }));
    const here = controls().filter(({ text }) => !acts.some((act) => act.text === text));
    let [words, at, waiting] = ["", 0, 0];
    const found = reading(async (signal) => {
        const of = words;
        return { of, goals: await look(of.trim(), signal) };
    });
    // What was found for other words must not be chosen: an answer may come late.
    const records = () => (words && found.value?.of === words ? found.value.goals : []);

    function goals() {
        const lower = words.trim().toLowerCase();
        if (isId(lower)) {
            return [{ text: "Open this id", more: lower, sign: "search",
                run: () => goToId(lower) }];
        }
        const has = ({ text }) => text.toLowerCase().includes(lower);
        const to = places().map(([place, text, sign]) => ({ text, sign, run: () => go(place) }));
        const ask = verbs().map(({ verb, what, sign }) => ({ text: `${verb} ${what}…`, sign,
            fill: `${verb} ` }));
        // The screens first: their names are known by heart.
        return [...to.filter(has), ...records(), ...[...acts, ...ask, ...here].filter(has)]
            .slice(0, SHOWN_MAX);
    }
    function type(text, wait) {
        [words, at] = [text.trimStart(), 0];
        clearTimeout(waiting);
        waiting = window.setTimeout(found.load, wait);
        refresh();
    }
    function step(event) {
        const [{ length }, by] = [goals(), { ArrowDown: 1, ArrowUp: -1 }[event.key]];
        if (by) {
            event.preventDefault();
            at = (at + by + length) % length || 0;
            refresh();
            document.getElementById(`palette-${at}`)?.scrollIntoView({ block: "nearest" });
        }
    }
    function choose(goal, close) {
        if (goal?.fill) {
            type(goal.fill, 0);
        } else if (goal) {
            close(goal.run);
        }
    }
    const goalView = (goal, i, close) => html`<div role="option" id="palette-${i}"
        aria-selected=${i === at ? "true" : "false"} @click=${() => choose(goal, close)}>${goal.sign
        ? icon(goal.sign) : avatar(goal.text, goal.id)}<bdi>${goal.text}</bdi><bdi
        class="muted cut">${goal.more}</bdi></div>`;
    const run = await dialog({ title: "Find or do",
        body: (close) => html`<div class="palette"><input class="in" role="combobox" autofocus
            aria-expanded="true" aria-controls="palette-list"
            aria-activedescendant=${goals()[at] ? `palette-${at}` : ""} .value=${words}
            aria-label="A name, an id, or what to do" placeholder="A name, an id, or what to do"
            autocomplete="off" spellcheck="false" @keydown=${step}
            @input=${(event) => type(event.target.value, WAIT_MS)}>
            <div role="listbox" id="palette-list" aria-label="Found">${
                goals().map((goal, i) => goalView(goal, i, close))}</div>
            ${goals()[0] || found.value?.of !== words ? "" : html`<p class="muted">Nothing has these
                words.</p>`}
            </div>`,
        submit: (close) => choose(goals()[at], close) });
    clearTimeout(waiting);
    found.close();
    run?.();
}
const KEYS = [
    [`${modifier}K`, "find a screen, a user, a group or an id; do what the page shows, restore, "
        + "erase or rotate"],
    ["/", "search the list; Enter opens the only one"],
    ["J  K", "next or previous row"], ["X", "select the row"], ["Enter", "open the row"],
    ["F", "filter the list"], ["C", "a new one"], ["S", "suspend or activate the selected users"],
    ["#", "delete the selected users"], ["Z", "undo, while the message is shown"],
    ["G then U G D A", "go to users, groups, deleted users, activity"],
    ["G then K W I S", "go to keys, webhooks, import, SCIM"],
    ["E", "go to the e-mail address of the user"], ["H", "show the history of the user"],
    [`${modifier}Enter`, "save, or press the main button"], ["Esc", "close"], ["?", "this list"],
];

export const showKeys = () => dialog({ title: "Keys",
    body: () => html`<dl class="keylist">${KEYS.map(([key, text]) => html`<dt>${
        key.split(/ +/).map((part) => (part === "then" ? "then " : html`<kbd>${part}</kbd> `))}</dt>
        <dd>${text}</dd>`)}</dl>`,
    actions: (close) => html`<div class="sp"><button type="button" class="btn" autofocus
        @click=${() => close()}>Close</button></div>` });
