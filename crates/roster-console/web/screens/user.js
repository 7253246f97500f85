// One user: profile, and the record as JSON; and a new user.
import { html } from "../vendor/lit-html/lit-html.js";
import { asProblem, del, faultsOf, get, patch, post } from "../api.js";
import { can } from "../caller.js";
import { backTo, changedSince, equal, patchOf, valueAt } from "../merge.js";
import { go, here, refresh, reopen, say, to, toast } from "../page.js";
import { dateTime, number, pointerLabel, userName } from "../texts.js";
import { confirm } from "../ui/confirm.js";
import { attempt } from "../ui/data.js";
import { form, formView } from "../ui/form.js";
import { icon } from "../ui/icons.js";
import { refusedScreen } from "../ui/list.js";
import { ago, avatar, crumb, noScope, once, readsOnly, statusBadge } from "../ui/parts.js";
import { facts, recordScreen } from "../ui/record.js";
import { userHistory } from "./deleted.js";
import { userFields } from "./user_fields.js";
import { userGroups } from "./user_groups.js";
import { changeKept, neighbours } from "./users.js";

/** The user that is shown, which an older message may undo. */
let shown;
/** What was typed while a new user was created: its id, and edits. */
let later = [];

/** A changed address or number is not verified any more, and Undo puts that back too. */
const withVerified = (edited) => ["email", "phone_number"].reduce((all, name) =>
    (edited.includes(`/${name}`) || edited.includes(`/${name}s`)
        ? [...all, `/${name}_verified`] : all), edited);

export default (route) => (route.parts[0] === "new" ? newUser() : user(route));

function user(route) {
    const [id] = route.parts;
    const path = `/users/${id}`;
    const { tenant } = here();
    const writes = can("users:write");
    const groups = userGroups(id);
    const history = userHistory(id, writes ? putBack : undefined);
    const { query } = neighbours(id);
    const stored = async (signal) => (await get(path, { signal, tenant })).data;
    const send = async (body, version) => (await patch(path, body, { version, tenant })).data;
    const details = form({ writes, read: stored, write: send, name: userName, actor: history.actor,
        start: later[0] === id ? later.splice(0)[1] : {}, check: () => fields.check(),
        saved(record, before, edited) {
            taken(record);
            return edited.length && done(`Saved as version ${record.version}`, before, record,
                withVerified(edited));
        } });
    const fields = userFields(details);

    function taken(record) {
        screen.take(record);
        changeKept(record, id);
        history.load();
    }
    /** A write besides the form; edits in the form go on from the new version. */
    async function write(edits, text, undoes = true) {
        const before = screen.record();
        const after = await attempt(() => send(patchOf(before, new Map(edits)), before.version));
        if (!after) {
            return screen.load();
        }
        details.base = details.base.version === before.version ? after : details.base;
        taken(after);
        return undoes ? done(text, before, after, edits.map(([pointer]) => pointer)) : toast(text);
    }
    /** Undo a write between two records, unless somebody changed the same since. */
    function takeBack(before, after, pointers) {
        const now = screen.record();
        const other = changedSince(after, now, pointers);
        return !other ? write(backTo(before, now, pointers), "Undone", false)
            : toast(`Not undone: ${pointerLabel(other)} was changed since`, { kind: "bad" });
    }
    const mine = shown = { id, takeBack, loaded: () => screen.record() };
    const done = (text, ...change) => toast(text, { undo: () => (shown.id === id
        && shown.loaded() ? shown : mine).takeBack(...change) });
    /** What puts an old value back, unless it is stored now. */
    function putBack(pointer, before) {
        return !equal(valueAt(before, pointer), valueAt(screen.record(), pointer)) && (() => write(
            backTo(before, screen.record(), [pointer]), `${pointerLabel(pointer)} is put back`));
    }
    function setStatus() {
        const one = screen.record();
        const next = one.status === "suspended" ? "active" : "suspended";
        return write([["/status", next]], `${userName(one)} is ${next}`);
    }
    const toggle = once(setStatus);
    async function remove() {
        const one = screen.record();
        if (details.unsaved() && !await confirm({ title: "Delete without saving?", danger: true,
            action: "Delete", text: "Your changes on this page are not saved. They will be lost."
        })) {
            return;
        }
        if (!await attempt(() => del(path, { version: one.version, tenant }), "Not deleted")) {
            return screen.load();
        }
        changeKept(null, id);
        details.discard();
        go("users", query);
        toast(`${userName(one)} is deleted, and kept under Deleted users for some time`,
            { undo: async () => await attempt(() => post(`/deleted-users/${id}/restore`, undefined,
                { tenant, query: { groups: true } })) && (here().parts[0] === id ? reopen("users")
                : go("users", id)) });
    }
    const step = (side) => (neighbours(id)[side] ? go("users", neighbours(id)[side]) : false);
    function toAddress() {
        /** @type {HTMLInputElement} */
        const first = document.querySelector('[id^="f-email"]');
        first?.focus();
        first?.select();
        return first ? undefined : go("users", id);
    }
    const act = (work) => ({ repeat = false } = {}) =>
        (writes && screen.record() && !repeat ? work() : false);

    const profile = (one) => html`<div class="cols">${formView(details, "Profile", fields.view())}
        <div class="rail">${history.rail()}<section><h2>Groups <a href=${to("users", id, "groups")
            }>${writes ? "Change" : "All"}</a></h2>${groups.pills()}</section>
            ${facts([["Version", number(one.version)], ["Created", dateTime(one.created_at)],
        ["Updated", ago(one.updated_at)]])}</div></div>`;

    const screen = recordScreen({ route, kind: "User", list: "Users", scope: "users:read",
        may: "read users", form: details, closes: [groups, history], query,
        // What others did meanwhile is in it too.
        opened: (tab) => tab === "history" && history.load(),
        read: async (signal) => (await Promise.all([stored(signal), fields.ready]))[0],
        name: userName, picture: (one) => avatar(userName(one), id), badge: statusBadge,
        sub: (one) => html`<bdi>${one.username}</bdi><bdi class="d">${one.email ?? ""}</bdi>`,
        actions: ({ status }) => (writes ? html`<button class="btn" @click=${toggle}>${
            status === "suspended" ? html`${icon("play")}Activate`
                : html`${icon("pause")}Suspend`}</button>` : readsOnly()),
        menu: writes && (() => [{ text: "Delete", icon: "trash", danger: true, run: remove }]),
        tabs: [["", "Profile", profile], ["history", "History", history.view],
            ["groups", "Groups", groups.view, groups.count],
            ["raw", "Raw JSON", (one) => html`<pre class="json" tabindex="0"><bdi>${
                JSON.stringify(one, null, 2)}</bdi></pre>`]],
        get end() {
            const near = neighbours(id);
            const arrow = (side, text, name) => html`<button class="btn ghost icon"
                aria-label=${text} ?disabled=${!near[side]} @click=${() => step(side)}>${
                icon(name)}</button>`;
            return near.query && html`${arrow("before", "Previous user", "up")}<span
                class="muted num">${near.place}</span>${arrow("after", "Next user", "down")}`;
        },
        gone: () => ({ icon: "users", title: "There is no user with this id", action: html`<a
            class="btn" href=${to("deleted", id)}>Look in the deleted users</a>` }),
        keys: { s: act(setStatus), "#": act(remove), e: toAddress, j: () => step("after"),
            k: () => step("before"), h: () => go("users", id, "history") } });
    return screen;
}

function newUser() {
    const back = { href: to("users"), text: "Users" };
    if (!can("users:write")) {
        return refusedScreen("New user", noScope("users:write", "create users"), back);
    }
    const one = form({ title: "New user", action: "Create",
        text: html`<span class="d">A username or an e-mail address is enough.</span>`,
        cancel: html`<a class="btn ghost" href=${back.href}>Cancel</a>`,
        check: () => fields.check(),
        write: async (body, _, key) => (await post("/users", body,
            { headers: { "Idempotency-Key": key } })).data,
        saved(record) {
            later = [record.id, Object.fromEntries(one.edits)];
            one.discard();
            toast(`${userName(record)} is created`);
            go("users", record.id);
        } });
    /** A dry run of what is typed so far says early what is taken. */
    async function early(pointer) {
        const asked = one.now(pointer);
        if (!asked) {
            return;
        }
        const fault = await post("/users", patchOf({}, one.edits), { query: { dry_run: true } })
            .then(() => "", (error) => faultsOf(asProblem(error))[pointer]);
        if (fault && !one.busy && one.now(pointer) === asked) {
            one.faults[pointer] = fault;
            say(fault);
            refresh();
        }
    }
    const fields = userFields(one, early);
    return { title: "New user", unsaved: one.unsaved, keys: { "ctrl-enter": one.save },
        view: () => html`${crumb(back, "New user")}
            <div class="page"><div class="who2"><h1 tabindex="-1">New user</h1></div>
            ${formView(one, "New user", fields.view())}</div>${one.bar()}` };
}
