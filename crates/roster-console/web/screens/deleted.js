// Deleted users, and one of them: how long the record is kept, restore and erase. And the history.
import { html } from "../vendor/lit-html/lit-html.js";
import { actorName, isMine } from "../actors.js";
import { asProblem, del, get, newKey, post } from "../api.js";
import { can } from "../caller.js";
import { changedPointers, valueAt } from "../merge.js";
import { go, here, refresh, setQuery, to, toast } from "../page.js";
import { agoTime, dateTime, fullTime, label, pointerLabel, textsOf, total, userName, valueText }
    from "../texts.js";
import { confirm } from "../ui/confirm.js";
import { attempt, pages } from "../ui/data.js";
import { select } from "../ui/fields.js";
import { icon } from "../ui/icons.js";
import { listScreen, listView } from "../ui/list.js";
import { openMenu } from "../ui/menu.js";
import { ago, avatar, badge, copyButton, cut, emptyState, noScope, note, once, safely }
    from "../ui/parts.js";
import { facts, recordScreen } from "../ui/record.js";

export const erased = (time) => (!time ? html`<span class="muted">Kept</span>` : html`<span
    title=${fullTime(time)} class=${Date.parse(time) - Date.now() < 3 * 86400000 ? "badge warn"
    : "muted"}><span class="m">Erased&nbsp;</span>${agoTime(time)}</span>`);

/** Say who has the username or the address now: the fault names only the member. */
async function tellHolder(user, member) {
    const { data } = await get("/users", { query: { [member]: user[member], limit: 1,
        fields: "name,username,email" } });
    const [holder] = data.items;
    const value = `the ${label(member).toLowerCase()} ${user[member]}`;
    toast(`${userName(user)} was not restored: ${holder ? userName(holder) : "another user"} has ${
        value} now. Change or delete that user first.`,
    { kind: "bad", undo: holder && (() => go("users", holder.id)), label: "Open" });
}

/** Returns whether it was done; the page has said so. */
export const restore = (user) => attempt(async () => {
    try {
        await post(`/deleted-users/${user.id}/restore`, undefined, { query: { groups: true },
            headers: { "Idempotency-Key": newKey() } });
    } catch (error) {
        const taken = asProblem(error).errors.map(({ pointer = "" }) => pointer.slice(1))
            .filter((member) => user[member]);
        if (!taken.length) {
            throw error;
        }
        await Promise.all(taken.map((member) => tellHolder(user, member)));
        return false;
    }
    toast(`${userName(user)} restored, with the groups that still exist`,
        { label: "Open", undo: () => go("users", user.id) });
}, `${userName(user)} was not restored`);

/** Asks first. Returns whether it was done. */
export const purge = async (user) => await confirm({ title: `Erase ${userName(user)} for good?`,
    danger: true, action: "Erase", type: user.username || user.id,
    text: html`<p>The record, and the values of this user in the change log, are erased at once.
        <strong>This cannot be undone.</strong></p><p>The log keeps when, by whom and which members
        were changed. Backups made before still have the person.</p>` }) && attempt(async () => {
    await del(`/deleted-users/${user.id}`, { version: user.version });
    toast(`${userName(user)} was erased`);
}, `${userName(user)} was not erased`);

const eraseItem = (run) => ({ text: "Erase for good", icon: "trash", danger: true, run });

export default function deleted(route) {
    const needed = { route, scope: can("users:read") ? "users:write" : "users:read",
        may: "read deleted users" };
    return route.parts.length ? one(needed) : list(needed);
}

function list(needed) {
    async function act(done) {
        await done;
        await screen.reload();
        document.querySelector("h1")?.focus();
    }
    const columns = () => [
        { head: "Name", cell: (user) => html`<a class="nm" href=${to("deleted", user.id)}>${
            avatar(userName(user), user.id)}${cut(userName(user))}</a>` },
        { head: "Username", type: "muted d", cell: (user) => cut(user.username) },
        { head: "E-mail", type: "muted", cell: (user) => cut(user.email) },
        { head: "Deleted", type: "muted d", cell: (user) => ago(user.deleted_at) },
        { head: "Will be erased", cell: (user) => erased(user.purge_at) },
        { head: html`<span class="sr">Actions</span>`, type: "act", cell: (user) => html`<button
            class="btn" @click=${once(() => act(restore(user)))}>${icon("undo")}Restore<span
                class="sr"> ${userName(user)}</span></button>${can("users:purge") ? html`<button
            class="btn ghost icon d" aria-haspopup="menu" aria-label="More for ${userName(user)}"
            @click=${(event) => openMenu(event, `More for ${userName(user)}`,
                [eraseItem(() => act(purge(user)))])}>${icon("more")}</button>` : ""}` }];

    const screen = listScreen({ ...needed, title: "Deleted users", columns,
        search: { label: "Search deleted users", placeholder: "Name, username or e-mail" },
        sorts: [["", "Deleted last"], ["deleted_at", "Erased first"]],
        list: (search) => pages("/deleted-users", () => ({ q: search.q, sort: search.sort,
            count: search.q ? "" : true, fields: "username,name,display_name,given_name,"
                + "family_name,email,external_id,deleted_at,purge_at" })),
        sub: ({ total: all }, { q }) => (q ? "" : total(all)),
        none: () => ({ icon: "trash", title: "No deleted users",
            text: "Roster keeps deleted users here for some time." }),
        noMatch: { icon: "search", title: "No deleted user matches", text: "Search finds the "
            + "beginnings of words in names, usernames and addresses." } });
    return screen;
}

function one(needed) {
    const [id] = needed.route.parts;
    const history = userHistory(id);
    async function act(done) {
        if (await done) {
            return go("deleted");
        }
        screen.load();
        history.load();
    }

    const main = (user) => html`<div class="sections">${note("info", html`Deleted
        ${ago(user.deleted_at)}. ${user.purge_at
            ? `Roster erases it on ${dateTime(user.purge_at)}.` : ""} Restore brings it back with
        the same id, and into the groups that still exist, if nobody has its username or address
        now.`)}${facts(changedPointers({}, user).map((pointer) => [pointerLabel(pointer),
        html`<bdi>${valueText(valueAt(user, pointer))}</bdi>`]))}</div>`;

    const screen = recordScreen({ ...needed, kind: "Deleted user", list: "Deleted users",
        read: async (signal) => (await get(`/deleted-users/${id}`, { signal })).data,
        closes: [history], name: userName, picture: (user) => avatar(userName(user), id),
        badge: () => badge("bad", "Deleted"),
        sub: ({ username, email }) => html`<bdi>${username ?? email}</bdi>`,
        actions: (user) => html`<button class="btn primary" @click=${once(() =>
            act(restore(user)))}>${icon("undo")}Restore</button>`,
        menu: can("users:purge") && ((user) => [eraseItem(() => act(purge(user)))]),
        tabs: [["", "Record", main], ["history", "History", history.view]],
        gone: () => ({ icon: "trash", title: "There is no deleted user with this id",
            text: "It was restored or erased, or the link belongs to another tenant.",
            action: html`<a class="btn" href=${to("activity", { subject: `users/${id}` })}>Show its
                history</a>` }) });
    return screen;
}

const WORDS = { "user.created": "created", "user.updated": "", "user.deleted": "deleted",
    "user.restored": "restored", "user.purged": "erased" };

const changeView = (name, from, now, putBack) => html`<div><dt>${name}</dt><dd>${
    from ? html`<del><bdi>${from}</bdi></del>` : ""}${
    from && now ? html` <span aria-label="to">→</span> ` : ""}${
    now ? html`<ins><bdi>${now}</bdi></ins>` : html` <span class="muted">removed</span>`}${
    from && putBack ? html` <button class="link" @click=${putBack}>Put the old value back<span
        class="sr">: ${name} ${from}</span></button>` : ""}</dd></div>`;

/** Each event has the record after it; the older one has the values of before. */
const changes = (events) => events.map((event, at) => {
    const { user, changed = [] } = event.data;
    const before = event.type === "user.created" ? {} : events[at + 1]?.data.user;
    const lost = event.type === "user.updated" && !(before && user) && changed.map((name) =>
        pointerLabel(`/${name}`)).join(", ");
    return { ...event, before, lost, changed: !user || !before || event.type === "user.deleted" ? []
        : changedPointers(before, user).map((pointer) => ({ pointer,
            from: valueAt(before, pointer), now: valueAt(user, pointer) })) };
});

const timeline = (items, more = undefined, putBack = undefined) => html`<ol class="tl">${
    items.map((item) => html`<li class=${isMine(item.actor) ? "me" : ""}><span class="by"><bdi>${
        actorName(item.actor)}</bdi></span> ${WORDS[item.type] ?? item.type} ${
        more && item.requestid?.startsWith("console-") ? "in the console" : ""} ${ago(item.time)}${
        item.changed.length ? html`<dl class="diff">${item.changed.map(({ pointer, from, now }) =>
            safely(() => changeView(pointerLabel(pointer), ...textsOf([from, now]),
                putBack?.(pointer, item.before))))}</dl>` : ""}${item.lost ? html`<div class="muted"
        >${item.lost}. The values of before are not in the log any more.</div>` : ""}${
        more?.(item)}</li>`)}</ol>`;

const requestView = ({ requestid: request }) => (request ? html`<div class="muted">Request ${
    copyButton(request, "Copy the id of the request", html`<span class="mono">${request}</span>`)}
    </div>` : "");

/** The history of a user, also of a deleted one. `putBack(pointer, before)` returns what puts
 * the value of before back, or nothing. */
export function userHistory(id, putBack = undefined) {
    const list = pages(`/users/${id}/events`, () => ({ sort: "-position" }), { size: 25 });
    const load = async () => can("events:read") && list.load(list.items?.length);
    load();
    // The last one that is read waits for the values of the event before it.
    const items = () => changes(list.items ?? []).slice(0, list.next ? -1 : undefined);

    function rows() {
        const { field = "" } = here().query;
        const all = items();
        const pointers = new Set([field, ...all.flatMap(({ changed }) =>
            changed.map(({ pointer }) => pointer)).sort()]);
        const shown = !field ? all : all.map((item) => ({ ...item, lost: "",
            changed: item.changed.filter(({ pointer }) => pointer === field) }))
            .filter(({ changed }) => changed.length);
        return html`<div class="sections">${select({ id: "history-field", label: "Field",
            value: field, options: [["", "All fields"], ...[...pointers].filter(Boolean)
                .map((pointer) => [pointer, pointerLabel(pointer)])],
            onChange(next) {
                setQuery({ field: next });
                refresh();
            } })}${shown.length ? timeline(shown, requestView, putBack)
            : emptyState({ icon: "clock", title: "No event shown changed this field" })}</div>`;
    }
    const view = () => (can("events:read") ? listView(list, list.items, () => ({ icon: "clock",
        title: "No events are kept" }), rows) : noScope("events:read", "read the history"));
    return { load, view, close: list.close,
        actor: () => load().then(() => list.items?.[0]?.actor),
        rail: () => (list.items?.length ? html`<section><h2>History <a
            href=${to("users", id, "history")}>All</a></h2>${timeline(items().slice(0, 4))}
            </section>` : "") };
}
