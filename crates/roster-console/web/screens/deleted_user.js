// One deleted user: the last record, who deleted it and when, restore and purge.
import { html } from "../vendor/lit-html/lit-html.js";
import { actorName } from "../actors.js";
import { get, isAbort } from "../api.js";
import { can } from "../caller.js";
import { go, loadStyles, refresh, to } from "../page.js";
import { dateTime, label, number, shortId, userName, valueText } from "../texts.js";
import { icon } from "../ui/icons.js";
import { openMenu } from "../ui/menu.js";
import { ago, avatar, badge, copyButton, crumb, emptyState, errorPanel, noScope, note, pageHead,
    skeleton }
    from "../ui/parts.js";
import { daysLeft, purge, restore } from "./deleted_actions.js";
import { readHistory, timeline, withOldValues } from "./user_history.js";

await loadStyles("screens/groups.css");

const RECORD = ["id", "version", "created_at", "updated_at", "deleted_at", "purge_at"];
/** Members that only repeat another one. */
const REPEATS = /** @type {Record<string, string>} */ ({ emails: "email", phone_numbers:
    "phone_number",
    photos: "picture" });

/** @param {import("../route.js").Route} route */
export default function deletedUser(route) {
    const id = route.parts[0];
    if (!can("users:read", "users:write")) {
        return { title: "Deleted user", view: () => html`${pageHead({ title: "Deleted user" })}
            ${noScope(can("users:read") ? "users:write" : "users:read", "read deleted users")}` };
    }
    const stop = new AbortController();
    const state = { user: /** @type {any} */ (null), error: /** @type {any} */ (null), live: false,
        events: /** @type {any[] | null} */ (null), whole: false, busy: false };

    async function load() {
        state.error = null;
        const history = can("events:read") ? readHistory(id, { limit: 10, signal: stop.signal })
            .catch(() => null) : Promise.resolve(null);
        try {
            state.user = (await get(`/deleted-users/${id}`, { signal: stop.signal })).data;
        } catch (error) {
            if (isAbort(error)) {
                return;
            }
            state.error = error;
            if (/** @type {any} */ (error).status === 404) {
                state.live = (await get("/users", { query: { id, fields: "username" } })
                    .catch(() => null))?.data.items.length === 1;
            }
        }
        const page = await history;
        if (page) {
            state.events = page.events;
            state.whole = !page.next;
        }
        refresh();
    }
    load();

    /** @param {(user: any) => Promise<boolean>} action */
    async function act(action) {
        if (state.busy || !state.user) {
            return;
        }
        state.busy = true;
        refresh();
        const done = await action(state.user);
        state.busy = false;
        if (done) {
            go("deleted");
        }
        refresh();
    }

    const more = (/** @type {Event} */ event) => openMenu(event, "More", [
        { text: "Copy the id", icon: "copy", run: () => navigator.clipboard.writeText(id) },
        ...(can("users:purge") ? [null, { text: "Erase for good", icon:
            /** @type {"trash"} */ ("trash"),
            danger: true, run: () => act(purge) }] : [])]);

    /** The members of the record, one value a line. @param {any} user @returns {[string, string][]}
     * */
    function members(user) {
        const shown = Object.entries(user).filter(([name, value]) => !RECORD.includes(name)
            && !(name in REPEATS && Array.isArray(value) && value.length === 1 &&
                user[REPEATS[name]]));
        return shown.flatMap(([name, value]) => (name === "attributes"
            ? Object.entries(/** @type {object} */ (value)).map(([key, one]) =>
                /** @type {[string, string]} */ ([label(`attributes.${key}`), valueText(one)]))
            : [/** @type {[string, string]} */ ([label(name), valueText(value)])]));
    }

    function view() {
        const links = [{ href: to("deleted"), text: "Deleted users" }];
        if (state.error) {
            const gone = state.error.status === 404;
            return html`${pageHead({ title: "Deleted user", back: links[0] })}${state.live
                ? emptyState({ icon: "user", title: "This user was restored",
                    text: "It is among the users again.", action: html`<a class="btn primary"
                        href=${to("users", id)}>Open the user</a>` })
                : gone ? emptyState({ icon: "trash", title: state.events?.length ?
                    "This user was erased"
                    : "There is no deleted user with this id",
                text: state.events?.length ?
                    "The record is gone for good. The change log keeps who changed "
                    + "it and when." : "It was never here, or the link belongs to another tenant.",
                action: html`<a class="btn" href=${to("deleted")}>Show deleted users</a>` })
                    : errorPanel(state.error, load)}
                ${gone && !state.live && state.events?.length ? html`<div class="drecord">${
                    timeline(withOldValues(state.events, state.whole))}</div>` : ""}`;
        }
        if (!state.user) {
            return html`${pageHead({ title: "", back: links[0] })}${skeleton(8)}`;
        }
        const { user } = state;
        const name = userName(user);
        const left = daysLeft(user.purge_at);
        const by = state.events?.find((event) => event.type === "user.deleted");
        return html`<div class="page">${crumb({ links, name })}
            <div class="who2">${avatar(name, id)}<div><h1 tabindex="-1"><bdi>${name}</bdi>${
    badge("bad", "Deleted")}</h1><div class="sub"><bdi>${user.username}</bdi>${
    user.email && user.email !== user.username ? html`<bdi>${user.email}</bdi>` : ""}${
    copyButton(id, "Copy the id", html`<span class="mono">${shortId(id)}</span>`)}</div></div>
            <div class="sp"><button class="btn primary" ?disabled=${state.busy}
                @click=${() => act(restore)}>${icon("undo")}Restore</button><button class="btn icon"
                aria-label="More" aria-haspopup="menu"
                    @click=${more}>${icon("more")}</button></div></div>
            <div class="topline"></div>
            <div class="gcols"><div class="drecord">
                ${note(left.soon ? "warn" : "info", html`Deleted ${ago(user.deleted_at)}${by
        ? html` by <bdi class="strong">${actorName(by.actor)}</bdi>` : ""}. ${user.purge_at
        ? html`Roster erases it on ${dateTime(user.purge_at)} (${left.text.toLowerCase()} left).`
        : "Roster keeps it until somebody erases it."} Its username and address are free for others.
                    Restore brings it back with the same id, and into the groups that still
                        exist.`)}
                <dl class="facts">${members(user).map(([name,
                    value]) => html`<dt>${name}</dt><dd><bdi>${
        value}</bdi></dd>`)}</dl></div>
            <div class="rail"><section><h2>History</h2>${can("events:read") ? state.events
        ? timeline(withOldValues(state.events, state.whole)) : html`<p class="muted">No events.</p>`
        : html`<p class="muted">Your credential may not read the history. It needs
            <span class="mono">events:read</span>.</p>`}</section>
            <section><h2>Record</h2><dl
                class="facts"><dt>Version</dt><dd>${number(user.version)}</dd>
                <dt>Created</dt><dd>${dateTime(user.created_at)}</dd>
                <dt>Deleted</dt><dd>${dateTime(user.deleted_at)}</dd>
                <dt>Erased on</dt><dd>${user.purge_at ? dateTime(user.purge_at) : "never"}</dd></dl>
                </section></div></div></div>`;
    }

    return {
        title: () => (state.user ? userName(state.user) : "Deleted user"),
        view,
        close: () => stop.abort(),
        keys: {},
    };
}
