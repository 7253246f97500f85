// One user: profile, and the record as JSON; and a new user.
import { html } from "../vendor/lit-html/lit-html.js";
import { asProblem, del, get, patch, post } from "../api.js";
import { can } from "../caller.js";
import { changedPointers, equal, patchOf, valueAt } from "../merge.js";
import { go, refresh, say, to, toast } from "../page.js";
import { dateTime, number, pointerLabel, userName, valueText } from "../texts.js";
import { attempt } from "../ui/data.js";
import { checkbox, faultsOf, field, focusField, select, textarea } from "../ui/fields.js";
import { form, formDialog, formView, inputId } from "../ui/form.js";
import { icon } from "../ui/icons.js";
import { refusedScreen } from "../ui/list.js";
import { ago, avatar, crumb, noScope, readsOnly, statusBadge } from "../ui/parts.js";
import { facts, recordScreen } from "../ui/record.js";
import { userHistory } from "./deleted.js";
import { userGroups } from "./user_groups.js";
import { changeKept, neighbours } from "./users.js";

/** Fields that are always shown, and those with a value or on request. */
const GROUPS = [
    ["Identity", "username name given_name family_name",
        "middle_name display_name nickname honorific_prefix honorific_suffix"],
    ["Contact", "email phone_number locale zoneinfo",
        "preferred_language profile picture addresses ims"],
    ["Work", "title department organization employee_number", "manager/display_name manager/id "
        + "manager/ref division cost_center user_type roles entitlements"],
    ["Account", "external_id expires_at", "x509_certificates"]];
const pointers = (text) => text.split(" ").map((name) => `/${name}`);
const LISTS = /^.(addresses|ims|roles|entitlements|x509_certificates)$/;

export default (route) => (route.parts[0] === "new" ? newUser() : user(route));

function user(route) {
    const [id] = route.parts;
    const path = `/users/${id}`;
    const writes = can("users:write");
    const groups = userGroups(id);
    const history = userHistory(id, writes ? putBack : undefined);
    const { query } = neighbours(id);
    const stored = async (signal) => (await get(path, { signal })).data;
    const send = async (body, version) => (await patch(path, body, { version })).data;
    const details = form({ writes, read: stored, write: send, name: userName, actor: history.actor,
        saved(record, before, edited) {
            taken(record);
            return edited.length && done(`Saved as version ${record.version}`,
                edited.map((pointer) => [pointer, valueAt(before, pointer)]));
        } });
    const fields = userFields(details);

    function taken(record) {
        screen.take(record);
        changeKept(record, id);
        history.load();
    }
    /** A write besides the form; edits in the form go on from the new version. */
    async function write(edits, text, back = undefined) {
        const before = screen.record();
        const after = await attempt(() => send(patchOf(before, new Map(edits)), before.version));
        if (!after) {
            return screen.load();
        }
        details.base = details.base.version === before.version ? after : details.base;
        taken(after);
        return done(text, back);
    }
    const done = (text, back) => toast(text, back && { undo: () => write(back, "Undone") });
    /** What puts an old value back, unless it is stored now. */
    function putBack(pointer, value) {
        const now = valueAt(screen.record(), pointer);
        return !equal(now, value) && (() => write([[pointer, value]],
            `${pointerLabel(pointer)} is put back`, [[pointer, now]]));
    }
    function setStatus() {
        const one = screen.record();
        const next = one.status === "suspended" ? "active" : "suspended";
        return write([["/status", next]], `${userName(one)} is ${next}`, [["/status", one.status]]);
    }
    async function remove() {
        const one = screen.record();
        if (!await attempt(() => del(path, { version: one.version }), "Not deleted")) {
            return screen.load();
        }
        changeKept(null, id);
        details.discard();
        go("users", query);
        toast(`${userName(one)} is deleted, and kept under Deleted users for some time`,
            { undo: async () => await attempt(() => post(`/deleted-users/${id}/restore`, undefined,
                { query: { groups: true } })) && go("users", id) });
    }
    const step = (side) => (neighbours(id)[side] ? go("users", neighbours(id)[side]) : false);
    function toAddress() {
        /** @type {HTMLInputElement} */
        const first = document.querySelector('[id^="f-email"]');
        first?.focus();
        first?.select();
        return first ? undefined : go("users", id);
    }
    const act = (work) => () => (writes && screen.record() ? work() : false);

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
        actions: ({ status }) => (writes ? html`<button class="btn" @click=${setStatus}>${
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
        write: async (body, _, key) => (await post("/users", body,
            { headers: { "Idempotency-Key": key } })).data,
        saved(record) {
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

/** A value of a type, or any JSON. All else stays text: the service says what is wrong. */
function typed(text, type = "") {
    try {
        const value = JSON.parse(text);
        return !type || (typeof value === "number" && /integer|number/.test(type)) ? value : text;
    } catch {
        return text;
    }
}
const asJson = (value, space = 0) => (typeof value === "string" ? value
    : JSON.stringify(value ?? undefined, null, space) ?? "");

const button = (run, name, text) => html`<button type="button" class="btn ghost" @click=${run}>${
    icon(name)}${text}</button>`;
const pointerOf = (name) => changedPointers({}, { attributes: { [name]: true } })[0];

/** `left` is called with the username or the address after the focus has left it. */
function userFields(form, left = undefined) {
    const drafts = new Map();
    const declared = new Map();
    let all = false;
    const ready = get("/schema").then(({ data }) => data.attributes?.forEach((one) =>
        declared.set(one.name, one))).catch(() => undefined).finally(refresh);

    /** A field whose text stands for another value; what is typed stays as typed. */
    function parsed(pointer, read, write, more) {
        const draft = drafts.get(pointer) ?? "";
        const value = form.now(pointer);
        return form.props(pointer, { value: equal(read(draft), value) ? draft : write(value),
            onInput(text) {
                drafts.set(pointer, text);
                form.set(pointer, read(text));
            }, ...more });
    }

    function member(pointer) {
        if (form.base[`${pointer.slice(1)}s`]?.length > 1) {
            return entries(`${pointer}s`);
        }
        if (LISTS.test(pointer)) {
            return textarea(parsed(pointer, typed, (now) => asJson(now, 2), { wide: true,
                mono: true, rows: 5, hint: "A JSON list of objects with a value." }));
        }
        if (pointer === "/expires_at") {
            // Swedish dates are almost those of the field: 2026-11-28 10:48:00.
            const time = form.now(pointer) && new Date(form.now(pointer)).toLocaleString("sv");
            return field(form.props(pointer, { type: "datetime-local",
                value: time ? time.slice(0, 16).replace(" ", "T") : "",
                hint: "Roster suspends the user at this time.",
                onInput: (text) => form.set(pointer, text && new Date(text).toISOString()) }));
        }
        const one = form.props(pointer, { mono: pointer === "/external_id",
            wide: ["/email", "/profile", "/picture"].includes(pointer),
            onBlur: /^.(username|email)$/.test(pointer) && left && (() => left(pointer)) });
        // The service names the zone that was meant.
        const [, zone] = one.error?.match(/ as `(.+)`/) ?? [];
        one.fix = zone && { text: "Use it", run() {
            form.set(pointer, zone);
            focusField(one.id);
        } };
        if (one.was && pointer === "/email") {
            one.was.more = "A new address is not verified.";
        }
        return field(one);
    }

    /** Several addresses or numbers, of which one is primary. */
    function entries(pointer) {
        const list = form.now(pointer) ?? [];
        const label = pointerLabel(pointer);
        const disabled = !form.writes;
        const set = (next) => form.set(pointer, next);
        const first = Math.max(0, list.findIndex(({ primary }) => primary));
        const entry = (one, at) => html`<div class="with entry">
            ${field({ id: inputId(`${pointer}/${at}/value`), disabled, value: one.value,
                label: html`<span class="sr">${label} ${at + 1}</span>`,
                error: form.faults[`${pointer}/${at}/value`] ?? form.faults[`${pointer}/${at}`],
                onInput: (value) => set(list.with(at, { ...one, value })) })}
            ${checkbox({ look: "rad", name: inputId(pointer), label: "primary", disabled,
                checked: at === first, onChange: () => set(list.map((other, i) =>
                    ({ ...other, primary: i === at || undefined }))) })}
            ${disabled ? "" : html`<button type="button" class="btn ghost icon"
                aria-label="Remove ${one.value}" @click=${() => set(list.toSpliced(at, 1))}>
                ${icon("x")}</button>`}</div>`;
        return html`<div class="f w ${form.edits.has(pointer) ? "ch" : ""}" role="group"
            aria-label=${label}><label>${label}</label>${list.map(entry)}${disabled ? ""
            : button(() => set([...list, { value: "" }]), "plus", "Add")}</div>`;
    }

    function attribute({ name, type, multi_valued: many, required, description: hint }) {
        const pointer = pointerOf(name);
        const more = type ? { hint, mark: required && "required" } : { mono: true, label: name };
        if (many) {
            return field(parsed(pointer, (text) => text.trim().split(/ *, */).filter(Boolean)
                .map((part) => typed(part, type)), valueText, { ...more, hint: hint
                ?? "Several values with commas between them." }));
        }
        return type === "boolean" ? select(form.props(pointer, { ...more,
            value: asJson(form.now(pointer)), onChange: (text) => form.set(pointer, typed(text)),
            options: [["", "No value"], ["true", "Yes"], ["false", "No"]] }))
            : field(parsed(pointer, (text) => typed(text, type), asJson, more));
    }
    const add = () => formDialog({ title: "Add an attribute", action: "Add",
        fields: (one) => field(one.props("/name", { label: "Name",
            hint: "Letters, digits, - and _, so that filters find it." })),
        write: async ({ name }) => declared.set(name, { name }) });

    function view() {
        const used = (pointer) => all || form.edits.has(pointer) || form.faults[pointer]
            || valueAt(form.base, pointer) !== undefined;
        const names = new Set([...declared.keys(), ...Object.keys(form.base.attributes ?? {})]);
        return html`${form.problemView()}${GROUPS.map(([name, always, more]) => html`<fieldset>
            <legend>${name}</legend><div class="fs">${[...pointers(always),
                ...pointers(more).filter(used)].map(member)}</div></fieldset>`)}
            <fieldset><legend>Your attributes</legend><div class="fs">${[...names].map((name) =>
                attribute(declared.get(name) ?? { name }))}${form.writes ? html`<div class="f w">${
                button(add, "plus", "Add an attribute")}${all ? "" : button(() => {
                    all = true;
                    refresh();
                }, "down", "Show all fields")}</div>` : ""}</div></fieldset>`;
    }
    return { view, ready };
}
