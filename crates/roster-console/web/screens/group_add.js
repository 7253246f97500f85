// Dialogs that find users and groups: to add them to a group, and to show what happened to one.
import { html } from "../vendor/lit-html/lit-html.js";
import { del, put } from "../api.js";
import { refresh, say } from "../page.js";
import { isId } from "../route.js";
import { count, number, userName } from "../texts.js";
import { each, reading, reason } from "../ui/data.js";
import { dialog } from "../ui/dialog.js";
import { textarea } from "../ui/fields.js";
import { avatar, badge, cut, mark } from "../ui/parts.js";
import { read, usersOf } from "./group_members.js";

const rowOf = (type) => (one) => ({ id: one.id, type, name: userName(one),
    more: [one.username, one.email].filter(Boolean).join(" · ") || "Group" });

const rowsView = (rows, end) => html`<ul class="list gfound" aria-label="Found">${rows.map((one) =>
    html`<li class="row line">${one.type === "group" ? mark("groups") : avatar(one.name, one.id)}
        <div class="part">${cut(one.name)}<small class="muted">${cut(one.more)}</small>${one.fault
        ? html`<div class="note bad" role="alert">${one.fault}</div>` : ""}</div><div class="sp">${
        end(one)}</div></li>`)}</ul>`;

/** Search while typing; `look` says what to show of what is found. */
function finder(label, look) {
    let [q, waiting] = ["", 0];
    const found = reading(async (signal) => {
        const words = q.trim();
        const search = async (type, limit) =>
            (await read(`/${type}s`, { q: words, limit }, signal)).map(rowOf(type));
        return Promise.all([words ? search("group", 5) : [], search("user", 20)])
            .then((all) => look(all.flat(), words)).then((rows) => {
                say(count(rows.length, "result"));
                return { words, rows };
            }, (error) => ({ words, rows: [], error: reason(error) }));
    });
    return { close: found.close,
        // Of the words that are in the field now.
        rows: () => (found.value?.words === q.trim() ? found.value.rows : []),
        view: (end) => html`<input class="in" id="add-search" type="search" aria-label=${label}
            autofocus placeholder="Name, username or e-mail" autocomplete="off" spellcheck="false"
            @input=${(event) => {
                q = event.target.value;
                clearTimeout(waiting);
                waiting = window.setTimeout(found.load, 120);
            }} .value=${q}>${rowsView(found.value?.rows ?? [], end)}<p
            role="status">${found.value?.error ?? (found.value?.rows.length === 0
                ? "Nobody matches." : "")}</p>` };
}

export function pickSubject() {
    const find = finder("Name, username, e-mail or id", (rows, words) => (!isId(words) ? rows
        : ["user", "group"].map((type) => ({ id: words.toLowerCase(), type,
            name: `The ${type} with this id`, more: words }))));
    const subject = ({ type, id }) => `${type}s/${id}`;
    return dialog({ title: "Changes of one user or group", action: "Show the first",
        lead: () => "Deleted ones are found by their id.",
        ready: () => find.rows().length > 0,
        body: (close) => find.view((one) => html`<button type="button" class="btn" @click=${() =>
            close(subject(one))}>Show<span class="sr"> ${one.name}</span></button>`),
        submit: (close) => close(subject(find.rows()[0])) });
}

const entriesOf = (text) => [...new Set(text.split(/[\n\r,;\t]+/)
    .map((one) => one.trim().replace(/^.*<([^<>]+@[^<>]+)>$/, "$1").replace(/^["']|["']$/g, ""))
    .filter(Boolean))];

async function lookUp(entry) {
    const users = await read("/users", { filter: ["emails", "username", "id"].map((name) =>
        `${name} eq ${JSON.stringify(entry)}`).join(" or ") });
    // Others may have it as a further address. Null if it means several users.
    const own = users.filter((one) => ["email", "username", "id"].some((name) =>
        one[name]?.toLowerCase() === entry.toLowerCase()));
    const [one, other] = own.length ? own : users;
    return other ? null : one;
}

export async function addMembers(id, name) {
    // By their ids: members of "before", and those "added" here.
    const members = new Map();
    let [searches, changed] = [true, false];
    const list = { text: "", error: "", looking: false, missing: [], rows: [] };
    const set = (next) => {
        Object.assign(list, next);
        refresh();
    };

    async function look(rows) {
        const of = (type) => rows.filter((one) => one.type === type).map((one) => one.id);
        const there = await usersOf(of("user"), { filter: `groups.value eq "${id}"` });
        await each(of("group"), 5, async (one) => there.push(...(await read("/groups",
            { member_id: one, filter: `id eq "${id}"` })).map(() => ({ id: one }))));
        there.forEach((one) => members.set(one.id, members.get(one.id) ?? "before"));
        return rows.filter((one) => one.id !== id);
    }
    const find = finder("Search users and groups", look);

    async function change(one, on) {
        one.busy = true;
        refresh();
        one.fault = await (on ? put : del)(`/groups/${id}/members/${one.id}`).then(() => {
            members.set(one.id, on && "added");
            changed = true;
        }, reason);
        one.busy = false;
        refresh();
    }
    const button = (one, word, type) => html`<button type="button" class=${type}
        ?disabled=${one.busy} @click=${() => change(one, word === "Add")}>${word}<span
        class="sr"> ${one.name}</span></button>`;
    const end = (one) => ({ before: html`<span class="muted">Is a member</span>`,
        added: html`${badge("ok", "Added")}${button(one, "Undo", "link")}`,
    }[members.get(one.id)] ?? button(one, "Add", "btn"));

    function addFirst() {
        const one = find.rows().find((some) => !members.get(some.id) && !some.fault);
        return one && !one.busy && change(one, true);
    }
    async function findAll() {
        const [entries, users] = [entriesOf(list.text), []];
        if (entries.length > 1000) {
            return set({ error: "At most 1,000 at a time" });
        }
        set({ looking: true });
        await each([...entries.keys()], 4, async (at) => {
            users[at] = await lookUp(entries[at]);
        }).then(async () => set({ missing: entries.flatMap((one, at) => (users[at] ? []
            : [html`<bdi>${one}</bdi>${users[at] === null ? ": several users have it" : ""}`])),
            rows: await look([...new Map(users.filter(Boolean).map((user) =>
                [user.id, rowOf("user")(user)])).values()]) }))
            .catch((error) => set({ error: reason(error) }));
        set({ looking: false });
    }
    const those = (state) => list.rows.filter((one) => (members.get(one.id) || "new") === state);
    const changeAll = (state, on) => each(those(state), 2, (one) => change(one, on));
    const pasteView = () => html`${textarea({ id: "paste-list", value: list.text, rows: 6,
        label: "Usernames, e-mail addresses or ids", error: list.error, disabled: list.looking,
        hint: "One a line, or with commas.",
        onInput: (text) => set({ text, error: "", missing: [], rows: [] }) })}<div role="status">${
        list.looking ? "Looking…" : those("added").length ? html`${
            count(those("added").length, "user")} added. <button type="button" class="link"
            @click=${() => changeAll("added", false)}>Undo</button>` : ""}</div>${
        list.missing.length ? html`<div><p class="strong">${count(list.missing.length, "entry",
            "entries")} not found</p><ul class="list">${list.missing.map((one) => html`<li>${one}
            </li>`)}</ul></div>` : ""}${rowsView(list.rows, end)}`;

    const way = (words, on) => html`<button type="button" class="btn ${on === searches ? ""
        : "ghost"}" aria-pressed=${String(on === searches)} @click=${async () => {
        searches = on;
        refresh();
        await Promise.resolve();
        document.getElementById(on ? "add-search" : "paste-list").focus();
    }}>${words}</button>`;
    await dialog({ title: "Add members",
        lead: () => html`To <bdi class="strong">${name}</bdi>. Each one is added at once.`,
        body: () => html`<div class="row" role="group" aria-label="How to add">${
            way("Search", true)}${way("Paste a list", false)}</div>${searches ? find.view(end)
            : pasteView()}`,
        submit: () => (searches ? addFirst() : those("new").length ? changeAll("new", true)
            : findAll()),
        actions: (close) => html`${searches ? html`<span class="d">Enter adds the first one</span>`
            : ""}<div class="sp">${searches ? "" : html`<button type="submit"
            @click=${(event) => event.detail > 1 && event.preventDefault()}
            class="btn primary" ?disabled=${list.looking || !list.text.trim()
                || list.rows.some((one) => one.busy)}>${those("new").length
                ? `Add ${number(those("new").length)}` : "Find"}</button>`}<button type="button"
            class="btn ${searches ? "primary" : ""}" @click=${() => close()}>Done</button>
            </div>` });
    find.close();
    return changed;
}
