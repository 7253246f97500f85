// One user: profile, history, groups, and the record as JSON.
import { html } from "../vendor/lit-html/lit-html.js";
import { asProblem, get, isAbort, patch } from "../api.js";
import { can } from "../caller.js";
import { patchOf, realEdits } from "../merge.js";
import { go, refresh, say, to, toast } from "../page.js";
import { count, number, shortId, total, userName } from "../texts.js";
import { faultsOf, focusField } from "../ui/fields.js";
import { icon } from "../ui/icons.js";
import { avatar, copyButton, crumb, emptyState, errorPanel, navButton, skeleton, statusBadge, tabs }
    from "../ui/parts.js";
import { inputId, userFields } from "./user_form.js";
import { recordFacts, saveBar } from "./user_parts.js";
import { userGroups } from "./user_groups.js";
import { historyTab, readHistory, timeline, withOldValues } from "./user_history.js";
import { changeKept, neighbours } from "./users_list.js";

/** @param {import("../route.js").Route} route */
export default function user(route) {
    const id = route.parts[0];
    let tab = route.parts[1] ?? "profile";
    const writes = can("users:write");
    const stop = new AbortController();
    const state = { user: /** @type {any} */ (null), error: /** @type {any} */ (null),
        deleted: false, saving: false, rail: /** @type {any[] | null} */ (null),
        problem: /** @type {any} */ (null) };
    const form = { base: /** @type {any} */ ({}), edits: new Map(),
        faults: /** @type {Record<string, string>} */ ({}), writes,
        declared: /** @type {any[]} */ ([]) };
    const groups = userGroups(id);
    /** @type {ReturnType<typeof historyTab> | null} */
    let history = null;

    async function load() {
        Object.assign(state, { error: null, deleted: false });
        try {
            const [one, schema] = await Promise.all([get(`/users/${id}`, { signal: stop.signal }),
                get("/schema", { signal: stop.signal })
                    .catch(() => ({ data: { attributes: [] } }))]);
            form.declared = schema.data.attributes ?? [];
            show(one.data);
            loadRail();
        } catch (error) {
            if (!isAbort(error)) {
                state.error = error;
                state.deleted = asProblem(error).status === 404 && await wasDeleted();
            }
        }
        refresh();
    }

    const wasDeleted = () => get(`/deleted-users/${id}`, { query: { fields: "username" } })
        .then(() => true, () => false);

    async function loadRail() {
        if (can("events:read")) {
            try {
                const { events, next } = await readHistory(id, { limit: 4, signal: stop.signal });
                state.rail = withOldValues(events, !next).slice(0, 4);
            } catch {
                state.rail = null;
            }
            refresh();
        }
    }

    /** @param {any} record */
    function show(record) {
        state.user = record;
        form.base = record;
        changeKept(record, id);
    }

    const edits = () => realEdits(form.base, form.edits);

    async function save() {
        if (state.saving || !writes || !edits().size) {
            return;
        }
        const wrong = Object.keys(form.faults);
        if (wrong.length) {
            focusField(inputId(wrong[0]));
            return;
        }
        Object.assign(state, { saving: true, problem: null });
        refresh();
        try {
            const { data } = await patch(`/users/${id}`, patchOf(form.base, form.edits),
                { version: form.base.version });
            saved(data);
        } catch (error) {
            await failed(asProblem(error));
        }
        state.saving = false;
        refresh();
    }

    /** @param {any} record */
    function saved(record) {
        const before = form.base;
        const pointers = [...edits().keys()];
        form.edits = new Map();
        shown(record);
        toast(`Saved as version ${record.version}`, { undo: async () =>
            (await actions()).putBack(form.base, before, pointers, shown) });
    }

    /** @param {import("../api.js").Problem} problem */
    async function failed(problem) {
        if (problem.status === 412 || problem.status === 428) {
            await conflict();
            return;
        }
        form.faults = faultsOf(problem);
        state.problem = problem;
        const [first] = Object.keys(form.faults);
        if (first) {
            refresh();
            await Promise.resolve();
            focusField(inputId(first));
        }
        say(problem.detail || problem.title);
    }

    async function conflict() {
        const { resolveConflict } = await import("./user_conflict.js");
        const { data: now } = await get(`/users/${id}`);
        const last = can("events:read")
            ? await readHistory(id, { limit: 1 }).catch(() => null) : null;
        const answer = await resolveConflict({ base: form.base, now, edits: edits(),
            actor: last?.events[0]?.actor });
        if (answer?.discard) {
            form.edits = new Map();
            show(now);
            toast("Your changes are discarded");
        } else if (answer?.edits) {
            form.edits = answer.edits;
            show(now);
            state.saving = false;
            await save();
        }
        loadRail();
    }

    const actions = () => import("./user_actions.js");
    const setStatus = async () => (await actions()).setStatus(form.base, { show: shown, conflict });
    const remove = async () => {
        const gone = await (await actions()).deleteUser(form.base);
        form.edits = gone ? new Map() : form.edits;
    };

    /** The record after a write. @param {any} record */
    function shown(record) {
        show(record);
        loadRail();
        history?.reload();
        refresh();
    }

    async function menu(/** @type {Event} */ event) {
        const button = /** @type {HTMLElement} */ (event.currentTarget);
        const { openMenu } = await import("../ui/menu.js");
        openMenu(button, "More", [
            { text: "Copy the id", icon: "copy", run: () => navigator.clipboard.writeText(id) },
            ...(writes ? [{ text: "Add to a group", icon: /** @type {"folder"} */ ("folder"),
                run: groups.add }, null,
            { text: "Delete", icon: /** @type {"trash"} */ ("trash"), danger: true, run: remove }]
                : [])]);
    }

    function place() {
        const near = neighbours(id);
        const step = (/** @type {any} */ one, /** @type {"up" | "down"} */ name,
            /** @type {string} */ word) =>
            html`<button class="btn ghost icon" aria-label="${word} user" ?disabled=${!one}
                @click=${() => go("users", one.id)}>${icon(name)}</button>`;
        return crumb({ links: [{ href: to("users", near?.query ?? {}), text: "Users" }],
            name: state.user ? userName(state.user) : shortId(id),
            end: html`${near ? html`<span class="num d">${number(near.at + 1)} of ${total({
                total: near.total, total_relation: near.relation })}</span>
                ${step(near.before, "up", "Previous")}${step(near.after, "down", "Next")}` : ""}
                ${navButton()}` });
    }

    const head = () => {
        const one = state.user;
        return html`<div class="who2">${avatar(userName(one), id)}
            <div class="names"><h1 tabindex="-1"><bdi>${userName(one)}</bdi>${statusBadge(one)}</h1>
                <div class="sub"><bdi>${one.username}</bdi><bdi class="d">${one.email ?? ""}</bdi>
                    ${copyButton(id, "Copy the id", html`<span
                        class="mono">${shortId(id)}</span>`)}</div>
            </div>
            <div class="sp">${writes ? html`<button class="btn" @click=${setStatus}>${one.status
                === "suspended" ? html`${icon("play")}Activate`
                : html`${icon("pause")}Suspend`}</button>`
        : html`<span class="badge plain">Reads only</span>`}
                <button class="btn icon" aria-label="More" aria-haspopup="menu" @click=${menu}>${
            icon("more")}</button></div></div>`;
    };

    const rail = () => html`<div class="rail">
        ${state.rail?.length ? html`<section aria-labelledby="rail-history"><h2
            id="rail-history">History
            <a href=${to("users", id, "history")}>All</a></h2>${timeline(state.rail)}</section>`
            : ""}
        <section aria-labelledby="rail-groups"><h2 id="rail-groups">Groups
            <a href=${to("users", id, "groups")}>${writes ? "Change" : "All"}</a></h2>
            ${groups.pills()}</section>${recordFacts(state.user)}</div>`;

    const profile = () => html`<div class="cols"><form class="form" aria-label="Profile"
        @submit=${(/** @type {Event} */ event) => {
            event.preventDefault();
            save();
        }}>${userFields(form)}${writes
        ? html`<button type="submit" class="sr" tabindex="-1">Save</button>` : ""}</form>
        ${rail()}</div>`;

    function discard() {
        form.edits = new Map();
        form.faults = {};
        state.problem = null;
        refresh();
    }

    function savebar() {
        const size = edits().size;
        if ((!size && !Object.keys(form.faults).length) || tab !== "profile") {
            return "";
        }
        return saveBar({ name: "Unsaved changes", faults: form.faults, problem: state.problem,
            text: count(size, "change"), off: state.saving, save,
            action: state.saving ? "Saving…" : "Save",
            other: html`<button class="btn ghost" @click=${discard}>Discard</button>` });
    }

    function body() {
        if (tab === "history") {
            return (history ??= historyTab(id)).view();
        }
        if (tab === "groups") {
            return groups.view();
        }
        return tab === "raw" ? html`<pre class="json" tabindex="0"><bdi>${
            JSON.stringify(state.user, null, 2)}</bdi></pre>` : profile();
    }

    const tabList = () => tabs("Parts of the user", [["profile", "Profile"], ["history", "History"],
        ["groups", "Groups"], ["raw", "Raw JSON"]].map(([name, text]) => ({ text,
        current: tab === name,
        count: name === "groups" ? groups.count() : undefined,
        href: name === "profile" ? to("users", id) : to("users", id, name) })));

    function content() {
        if (state.deleted) {
            return html`<h1 class="sr" tabindex="-1">Deleted user</h1>${emptyState({ icon: "trash",
                title: "This user is deleted", text: "Roster still has the record.",
                action: html`<a class="btn" href=${to("deleted", id)}>Show the deleted
                    user</a>` })}`;
        }
        if (state.error) {
            return html`<h1 class="sr" tabindex="-1">User</h1>${errorPanel(state.error, load)}`;
        }
        return state.user ? html`${head()}${tabList()}${body()}`
            : html`<h1 class="sr" tabindex="-1">User</h1>${skeleton(8)}`;
    }

    load();
    return {
        title: () => (state.user ? userName(state.user) : "User"),
        view: () => html`${place()}<div class="page">${content()}</div>${
            state.user ? savebar() : ""}`,
        owns: (/** @type {import("../route.js").Route} */ next) => next.screen === "users"
            && next.parts[0] === id && next.tenant === route.tenant,
        changed: (/** @type {import("../route.js").Route} */ next) => {
            tab = next.parts[1] ?? "profile";
        },
        close: () => stop.abort(),
        unsaved: () => edits().size > 0,
        keys: {
            "ctrl-enter": save,
            s: () => writes && state.user && setStatus(),
            "#": () => writes && state.user && remove(),
            j: () => step("after"), k: () => step("before"),
        },
    };

    /** @param {"before" | "after"} side */
    function step(side) {
        const next = neighbours(id)?.[side];
        if (next) {
            go("users", next.id);
        }
    }
}
