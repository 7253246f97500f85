// Actions on many users: the bar of the selection, and the requests behind it. Undo uses the
// versions
// of the results, so that it never overwrites a later change of somebody else.
import { html } from "../vendor/lit-html/lit-html.js";
import { asProblem, get, jsonLines, post, request, send } from "../api.js";
import { refresh, toast } from "../page.js";
import { count, number, total, userName } from "../texts.js";
import { confirm } from "../ui/confirm.js";
import { icon } from "../ui/icons.js";
import { changeRows, load, size } from "./users_list.js";

/** @typedef {import("./users_list.js").List} List */
/** @typedef {import("./users_list.js").User} User */
/** @typedef {{id: string, version: number, status: number, problem?: any}} Result */

const LINES_MAX = 1000;
const SEARCH_MAX = 10000;
const progress = { text: "" };

/** @param {List} list @param {(what: any) => unknown} act @param {boolean} writes */
export function bar(list, act, writes) {
    const all = total({ total: list.total, total_relation: list.relation });
    const whole = list.all || list.selected.size >= (list.total ?? size(list));
    const clear = () => {
        list.selected.clear();
        list.all = false;
        refresh();
    };
    const button = (/** @type {string} */ text, /** @type {any} */ name, /** @type {() => any} */
        run,
        kind = "") => html`<button class="btn ghost ${kind}"
            @click=${run}>${icon(name)}${text}</button>`;
    return html`<div class="bulk" role="toolbar" aria-label="Selected users">
        <span class="what" role="status">${progress.text || (list.all ? `All ${all} selected`
            : `${number(list.selected.size)} selected`)}</span>
        ${whole ? "" : html`<button class="link all" @click=${() => {
            list.all = true;
            refresh();
        }}>Select all ${all}</button>`}
        ${writes ? html`${button("Suspend", "pause", () => act("suspended"))}
            ${button("Activate", "play", () => act("active"))}` : ""}
        ${button("Export", "download", async () => (await import("./users_export.js"))
        .exportUsers(list, "csv", list.all ? undefined : [...list.selected.keys()]))}
        ${writes ? button("Delete", "trash", () => act("delete"), "danger") : ""}
        <button class="btn ghost icon" aria-label="Clear the selection" @click=${clear}>${
    icon("x")}</button></div>`;
}

/** Say how far a request is. @param {string} text */
function say(text) {
    progress.text = text;
    refresh();
}

/** Send lines, 1,000 a request. @param {"PATCH" | "DELETE"} method @param {any[]} lines
 * @param {string} words */
async function sendLines(method, lines, words) {
    /** @type {Result[]} */
    const results = [];
    for (let at = 0; at < lines.length; at += LINES_MAX) {
        const part = lines.slice(at, at + LINES_MAX);
        const response = await send(method, "/bulk/users",
            { lines: part.map((line) => JSON.stringify(line)).join("\n") });
        for await (const one of jsonLines(response)) {
            if (one.line) {
                results.push({ id: part[one.line - 1].id, ...one });
                say(`${words} ${number(results.length)} of ${number(lines.length)}`);
            }
        }
    }
    return results;
}

/** Change all that match the conditions. The service changes only as many as were confirmed.
 * @param {"PATCH" | "DELETE"} method @param {string} filter @param {any} body @param {number}
 * confirmed
 * @param {string} words */
async function sendMatching(method, filter, body, confirmed, words) {
    /** @type {Result[]} */
    const results = [];
    const headers = body ? { "Content-Type": "application/json" } : undefined;
    const response = await send(method, "/bulk/users", { query: { filter, confirm: confirmed },
        body,
        headers });
    for await (const one of jsonLines(response)) {
        if (one.line) {
            results.push(one);
            say(`${words} ${number(results.length)} of ${number(confirmed)}`);
        }
    }
    return results;
}

/** The users that a search finds; changes by conditions have no search. @param {List} list
 * @returns {Promise<User[]>} */
async function found(list) {
    const all = [];
    let cursor = "";
    do {
        const { data } = await get("/users", { query: { q: list.q, filter: list.f, limit: 1000,
            fields: "status", cursor } });
        all.push(...data.items);
        cursor = data.next_cursor;
        say(`Found ${number(all.length)}`);
    } while (cursor && all.length < SEARCH_MAX);
    if (cursor) {
        throw new Error(`More than ${number(SEARCH_MAX)} users match. Use a filter in place of the `
            + "search.");
    }
    return all;
}

/** Say what happened.
 * @param {Result[]} results @param {string} what @param {(() => unknown) | undefined} undo */
function report(results, what, undo) {
    const failed = results.filter(({ status }) => status >= 300);
    const done = results.length - failed.length;
    if (failed.length) {
        toast(`${what}. ${count(failed.length, "user was", "users were")} not changed: ${
            failed[0].problem?.detail ?? "somebody else changed them"}`,
        { kind: "bad", undo: done ? undo : undefined });
    } else {
        toast(what, { undo });
    }
}

/** @param {() => Promise<unknown>} work */
async function guarded(work) {
    try {
        await work();
    } catch (error) {
        const problem = asProblem(error);
        toast(problem.detail || problem.title, { kind: "bad" });
    } finally {
        say("");
    }
}

/** Suspend or activate. @param {List} list @param {User[]} chosen @param {"suspended" | "active"}
 * goal
 * @param {boolean} all */
export const setStatus = (list, chosen, goal, all) => guarded(async () => {
    const [doing, done] = goal === "suspended" ? ["Suspending", "suspended"]
        : ["Activating", "activated"];
    /** @type {Result[]} */
    let results;
    if (all && !list.q) {
        const filter = `(${list.f || "id pr"}) and status ne "${goal}"`;
        const dry = await request("PATCH", "/bulk/users", { query: { filter, dry_run: true },
            body: { status: goal } });
        if (!await agreed(dry.data.count, goal === "suspended" ? "Suspend" : "Activate",
            "Roster only stores the status: applications decide what it means. You can undo this."))
                {
            return;
        }
        results = await sendMatching("PATCH", filter, { status: goal }, dry.data.count, doing);
    } else {
        const some = (all ? await found(list) : chosen).filter((user) => user.status !== goal);
        if (!some.length) {
            toast(`${chosen.length === 1 ? "The user is" : "They are"} ${goal} already.`);
            return;
        }
        if (some.length > 100 && !await agreed(some.length,
            goal === "suspended" ? "Suspend" : "Activate", "You can undo this.")) {
            return;
        }
        results = await sendLines("PATCH",
            some.map(({ id, version }) => ({ id, version, status: goal })), doing);
    }
    const good = new Map(results.filter(({ status }) => status < 300).map((one) => [one.id,
        one.version]));
    const mark = (/** @type {Map<string, number>} */ versions, /** @type {string} */ status) =>
        changeRows(list, (user) => (versions.has(user.id)
            ? { ...user, status, version: versions.get(user.id) } : user));
    mark(good, goal);
    const what = `${good.size === 1 && chosen.length === 1 ? userName(chosen[0])
        : count(good.size, "user")} ${done}`;
    report(results, what, () => guarded(async () => {
        const before = goal === "suspended" ? "active" : "suspended";
        const back = await sendLines("PATCH", [...good].map(([id, version]) =>
            ({ id, version, status: before })), "Undoing");
        mark(new Map(back.filter(({ status }) => status < 300).map((one) => [one.id, one.version])),
            before);
        const undone = back.filter(({ status }) => status < 300);
        report(back, `Undone for ${count(undone.length, "user")}`,
            undefined);
    }));
});

/** Ask before a change of many; above 100 the user types the number.
 * @param {number} matching @param {string} action @param {string} text */
const agreed = (matching, action, text, danger = false) => confirm({
    title: `${action} ${count(matching, "user")}?`, text, danger, action:
        `${action} ${number(matching)}`,
    type: matching > 100 ? String(matching) : undefined,
});

/** Delete; they can be restored while Roster keeps them. @param {List} list @param {User[]} chosen
 * @param {boolean} all */
export const deleteUsers = (list, chosen, all) => guarded(async () => {
    const text = "They leave the list and their groups at once, and their usernames become free. "
        + "Roster keeps them under Deleted users for some time; there you can restore them.";
    /** @type {Result[]} */
    let results;
    if (all && !list.q) {
        const filter = list.f || "id pr";
        const dry = await request("DELETE", "/bulk/users", { query: { filter, dry_run: true } });
        if (!await agreed(dry.data.count, "Delete", text, true)) {
            return;
        }
        results = await sendMatching("DELETE", filter, undefined, dry.data.count, "Deleting");
    } else {
        const some = all ? await found(list) : chosen;
        if (some.length > 1 && !await agreed(some.length, "Delete", text, true)) {
            return;
        }
        results = await sendLines("DELETE", some.map(({ id, version }) => ({ id, version })),
            "Deleting");
    }
    const gone = results.filter(({ status }) => status < 300).map(({ id }) => id);
    const ids = new Set(gone);
    changeRows(list, (user) => (ids.has(user.id) ? null : user));
    list.all = false;
    const what = `${chosen.length === 1 && gone.length === 1 ? userName(chosen[0])
        : count(gone.length, "user")} deleted`;
    report(results, what, () => restore(list, gone));
});

/** Restore deleted users and their groups. @param {List} list @param {string[]} ids */
const restore = (list, ids) => guarded(async () => {
    let done = 0;
    for (const id of ids) {
        await post(`/deleted-users/${id}/restore`, undefined, { query: { groups: true } });
        done += 1;
        say(`Restoring ${number(done)} of ${number(ids.length)}`);
    }
    toast(`${count(done, "user")} restored`);
    await load(list);
});
