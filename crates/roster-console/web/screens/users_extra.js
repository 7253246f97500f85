// What the list of users needs later. Undo uses the versions of the results: it never overwrites a
// later change.
import { html } from "../vendor/lit-html/lit-html.js";
import { asProblem, get, jsonLines, post, send } from "../api.js";
import { can } from "../caller.js";
import { go, here, refresh, to, toast } from "../page.js";
import { count, number, total, userName } from "../texts.js";
import { confirm, download } from "../ui/confirm.js";
import { attempt, reason } from "../ui/data.js";
import { icon } from "../ui/icons.js";
import { openMenu } from "../ui/menu.js";
import { emptyState, once } from "../ui/parts.js";
import { usersFilter } from "./users_filter.js";
import { changeRows, choose, load, order, ORDERS, query, rowAt } from "./users.js";

const WORDS = { active: ["Activate", "activated", "You can undo this."],
    suspended: ["Suspend", "suspended", "Applications decide what it means. You can undo this."],
    delete: ["Delete", "deleted", "They leave their groups, and their usernames become free. For "
        + "some time you can restore them under Deleted users."] };
let progress = "";

function say(text) {
    progress = text;
    refresh();
}
const told = (work, failed) => attempt(work, failed).finally(() => say(""));

export function usersExtra({ list, apply, type, step, move, writes, current }) {
    let held = null;
    let bringing = false;
    let acting = null;

    /** Change all that match, those selected, or the row of the keyboard. */
    const act = (_, what) => writes && (acting ??= told(async () => {
        const chosen = list.all ? await found() : list.selected.size ? [...list.selected.values()]
            : [current()].filter((user) => user?.id);
        const goal = what !== "toggle" ? what
            : chosen.every(({ status }) => status === "suspended") ? "active" : "suspended";
        const [word, done, text] = WORDS[goal];
        const users = chosen.filter(({ status }) => status !== goal);
        const danger = goal === "delete";
        if (!users.length) {
            toast(chosen.length ? `Already ${done}` : "No user is selected");
        } else if (users.length <= (danger ? 1 : 100) || await confirm({ danger, text,
            title: `${word} ${count(users.length, "user")}?`,
            action: `${word} ${number(users.length)}`,
            type: users.length > 100 ? String(users.length) : undefined })) {
            await change(users, goal);
        }
    }, "Not done").finally(() => {
        acting = null;
    }));
    async function found() {
        const users = [];
        for await (const user of jsonLines(await send("GET", "/bulk/users",
            { tenant: list.tenant, query: { ...list.of, fields: "username,status" } }))) {
            users.push(user);
        }
        return users;
    }
    async function change(users, goal, undoes) {
        const good = new Map();
        const bad = [];
        const gone = goal === "delete";
        const lines = users.map(({ id, version }) => JSON.stringify({ id, version,
            status: gone ? undefined : goal })).join("\n");
        try {
            const answer = await send(gone ? "DELETE" : "PATCH", "/bulk/users",
                { lines, tenant: list.tenant });
            for await (const one of jsonLines(answer)) {
                if (one.status < 300) {
                    good.set(one.id, one);
                } else if (one.line) {
                    bad.push(one);
                }
                if (one.line % 100 === 0) {
                    say(`${number(one.line)} of ${number(users.length)} done`);
                }
            }
        } catch (error) {
            const { status } = asProblem(error);
            if (status && status < 500) {
                throw error;
            }
            // Those without a result are said below.
        }
        const unknown = users.length - good.size - bad.length;
        changeRows(list, (user) => (!good.has(user.id) ? user : gone ? null
            : { ...user, status: goal, version: good.get(user.id).version,
                updated_at: new Date().toISOString() }));
        list.all &&= !gone;
        const name = good.size === 1 && !undoes
            ? userName(users.find(({ id }) => good.has(id))) : count(good.size, "user");
        const undo = () => told(() => (gone ? restore(users.filter(({ id }) => good.has(id)))
            : change([...good.values()], goal === "active" ? "suspended" : "active", true)),
        "Not undone");
        toast(`${undoes ? `Undone for ${name}` : `${name} ${WORDS[goal][1]}`}${bad.length ? `. ${
            count(bad.length, "user was", "users were")} not changed: ${bad[0].problem.detail}`
            : ""}${unknown ? `. The connection broke: ${count(unknown, "user")} may be changed too`
            : ""}`, { kind: bad.length || unknown ? "bad" : "ok",
            undo: good.size && !undoes && undo, stays: unknown > 0 || (good.size > 1 && !undoes) });
        // The list says how these are now.
        await (unknown && list.tenant === here().tenant && load(list));
    }
    async function restore(users) {
        const bad = [];
        for (const user of users) {
            await post(`/deleted-users/${user.id}/restore`, undefined,
                { query: { groups: true }, tenant: list.tenant })
                .catch((error) => bad.push(`${userName(user)}: ${reason(error)}`));
        }
        toast(`${count(users.length - bad.length, "user")} restored${bad.length ? `, ${
            number(bad.length)} not. ${bad.slice(0, 5).join("; ")}` : ""}`,
        { kind: bad.length ? "bad" : "ok", stays: bad.length > 0 });
        return list.tenant === here().tenant && load(list);
    }

    /** Export some users, or all that match. A link could not send the header of the session. */
    const save = (kind, ids = [""]) => attempt(async () => {
        const type = kind === "csv" ? "text/csv" : "application/x-ndjson";
        const pieces = [];
        for (let at = 0; at < ids.length; at += 100) {
            const response = await send("GET", "/bulk/users", { headers: { Accept: type },
                tenant: list.tenant, query: ids[0] ? { id: ids.slice(at, at + 100) } : list.of });
            pieces.push(kind === "csv" && at
                ? (await response.text()).replace(/^[^\n]*\n/, "") : await response.blob());
        }
        const name = `users-${new Date().toLocaleDateString("sv")}.${kind}`;
        // Spreadsheets take UTF-8 without a mark for another encoding.
        download(name, kind === "csv" ? ["\ufeff", ...pieces] : pieces, type);
        toast(`Exported as ${name}`);
    }, "The export failed");

    function bar() {
        const all = total(list.total);
        const button = (text, name, run, kind = "") => html`<button class="btn ghost ${kind}"
            @click=${once(run)}>${icon(name)}${text}</button>`;
        return html`<div class="bulk" role="toolbar" aria-label="Selected users">
            <span class="what" role="status">${progress || (list.all ? `All ${all} selected`
                : `${number(list.selected.size)} selected`)}</span>
            ${list.all || list.stale || !all || list.selected.size >= list.total.total ? ""
                : html`<button class="link all" @click=${() => choose(list, list.items, true)}>
                Select all ${all}</button>`}
            ${writes ? html`${button("Suspend", "pause", () => act(0, "suspended"))}
                ${button("Activate", "play", () => act(0, "active"))}` : ""}
            ${button("Export", "download", () => save("csv",
                list.all ? undefined : [...list.selected.keys()]))}
            ${writes ? button("Delete", "trash", () => act(0, "delete"), "danger") : ""}
            <button class="btn ghost icon" aria-label="Clear the selection"
                @click=${() => choose(list, [])}>${icon("x")}</button></div>`;
    }
    const sortMenu = (at) => openMenu(at, "Order", Object.entries(ORDERS).map(([sort, text]) =>
        ({ text, checked: order(list) === sort, run: () => step({ sort }) })));
    const exportMenu = (at) => openMenu(at, "Export", [
        { text: "CSV, for spreadsheets", run: () => save("csv") },
        { text: "NDJSON, exact, for programs", run: () => save("ndjson") }]);

    const firstSteps = () => [
        [writes, "upload", "Import a CSV", to("import")],
        [writes, "plus", "New user", to("users", "new")],
        [can("keys:admin"), "rotate", "Connect Okta or Entra", to("scim")]]
        .map(([may, name, text, href], at) => (may ? html`<a class="btn ${at ? "" : "primary"}"
            href=${href}>${icon(name)}${text}</a> ` : ""));
    const none = () => emptyState(list.q || list.f ? { icon: "search", title: "No user matches",
        text: "Search finds the beginnings of words in names, usernames and addresses.",
        action: html`<a class="btn" href=${to("users")}>Show all users</a> ${list.q
            ? html`<a class="btn" href=${to("deleted", { q: list.q })}>Search deleted users</a>`
            : ""}` } : { icon: "users", title: "There are no users yet", action: firstSteps(),
        text: writes && "Import those that you have, make one by hand, or let your directory send "
            + "them by SCIM." });

    /** Keep the users near the window and on the first page. Elsewhere the page stands in place of
     * its users, which are read again when they come near. */
    async function hold() {
        const at = rowAt(list);
        if (held !== list.items) {
            const pageOf = (one) => one.page ?? one;
            const near = new Set([list.items[0],
                ...list.items.slice(Math.max(0, at - 1000), at + 1500)].map(pageOf));
            held = list.items.map((one) => (near.has(pageOf(one)) ? one : pageOf(one)));
            list.items = held;
        }
        const page = list.items.slice(Math.max(0, at - 8), at + 60).find(({ id }) => !id);
        if (!page || bringing || list.stale) {
            return;
        }
        bringing = true;
        try {
            const { data } = await get("/users",
                { query: { ...query(list), cursor: page.cursor } });
            const [from, end] = [list.items.indexOf(page), list.items.lastIndexOf(page) + 1];
            const users = data.items.slice(0, end - from);
            if (end) {
                users.forEach((user) => Object.assign(user, { page }));
                list.items = list.items.toSpliced(from, end - from, ...users);
                list.changed ||= users.at(-1)?.id !== page.last;
            }
            refresh();
        } catch (error) {
            // The next poll tries again, unless the cursor is void.
            list.changed ||= error.status === 400;
        }
        bringing = false;
    }

    /** Enter in the search: open the only user that matches, or go to the rows. */
    async function enter() {
        await apply();
        const [one] = list.items ?? [];
        if (!list.stale && list.items?.length === 1 && !list.next) {
            go("users", one.id);
        } else {
            move(0)();
        }
    }

    function acts() {
        const all = total(list.total);
        const change = (goal, name) => [`${WORDS[goal][0]} all ${all} that match`, name, () => {
            choose(list, list.items, true);
            act(0, goal);
        }];
        return [["Export as CSV", "download", () => save("csv")],
            ["Export as NDJSON", "download", () => save("ndjson")],
            // Without a search or a filter that would be everybody.
            ...writes && list.items?.length && !list.stale && (list.of.q || list.of.filter)
                ? [change("suspended", "pause"), change("active", "play"),
                    change("delete", "trash")] : []];
    }
    return { ...usersFilter(list, apply, type, step), act, acts, bar, enter, none, sortMenu,
        exportMenu, hold };
}
