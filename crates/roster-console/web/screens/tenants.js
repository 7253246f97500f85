// The tenants of the service, the deleted ones, a new one, and one of them.
import { html } from "../vendor/lit-html/lit-html.js";
import { del, get, patch, post } from "../api.js";
import { caller, can } from "../caller.js";
import { go, to, toast } from "../page.js";
import { formatRoute } from "../route.js";
import { count, dateTime, number } from "../texts.js";
import { confirm } from "../ui/confirm.js";
import { attempt, reading } from "../ui/data.js";
import { field } from "../ui/fields.js";
import { form, formDialog, formView } from "../ui/form.js";
import { icon } from "../ui/icons.js";
import { listScreen, refusedScreen } from "../ui/list.js";
import { ago, avatar, badge, copyLine, cut, emptyState, note, once, statusBadge, tabs }
    from "../ui/parts.js";
import { facts, recordScreen } from "../ui/record.js";
import { erased } from "./deleted.js";
import { newKey } from "./keys_new.js";
import { findTenants, suggestName } from "./tenants_rules.js";

const SHOWN = 500;
const LEAD = "A tenant is a directory of its own for one customer, which no other customer sees.";
const service = true;

export default (route) => (!can("tenants:admin") || caller().tenants !== "all"
    ? refusedScreen("Tenants", emptyState({ icon: "lock", title: "You may not manage tenants",
        text: html`It needs a key for all tenants with the scope <span class="mono">tenants:admin
            </span>. On the server, this makes one; stop an open service first.`,
        action: copyLine("roster keys create operator --scope all --all-tenants",
            "Copy the command") }))
    : route.parts[0] ? oneTenant(route) : tenants(route));

/** A screen of a tenant. */
const inTenant = (tenant, screen = "users") => formatRoute({ tenant, screen });

const restore = (name) => attempt(async () => {
    await post(`/deleted-tenants/${name}/restore`, undefined, { service });
    toast(`Tenant ${name} is back`);
    go("tenants", name);
}, "Not restored");

const usersText = ({ users, users_max: most }) =>
    number(users) + (most === undefined ? "" : ` of ${number(most)}`);

const size = (head, text) => ({ head, type: "end", cell: (one) => html`${text(one)}<span class="m"
    >&nbsp;${head.toLowerCase()}</span>` });

const columns = ({ show }) => [
    { head: "Tenant", cell: (one) => html`<a class="nm" href=${to("tenants", one.name)}>${
        cut(one.display_name || one.name)}${one.display_name
        ? cut(one.name, "mono muted") : ""}</a>` },
    show ? { head: "Will be erased", cell: (one) => erased(one.purge_at) }
        : { head: "State", cell: statusBadge },
    { head: "External id", type: "d", cell: (one) => cut(one.external_id, "mono") },
    size("Users", usersText), size("Groups", (one) => number(one.groups)),
    { head: html`<span class="sr">Actions</span>`, type: show ? "act" : "act d",
        cell: ({ name }) => (show ? html`<button class="btn" aria-label="Restore ${name}"
            @click=${once(() => restore(name))}>${icon("undo")}Restore</button>` : html`<a
            class="link" href=${inTenant(name)} aria-label="Open the users of ${name}">Open
            </a>`) }];

/** A whole list: the API finds only whole names, and this page any part of them. */
async function all(path, signal, cursor = "") {
    const { data } = await get(path, { service, signal, query: { limit: 1000, cursor } });
    return data.next_cursor ? [...data.items, ...await all(path, signal, data.next_cursor)]
        : data.items;
}

function tenants(route) {
    const tab = (text, show, search) => ({ text, href: to("tenants", { show }),
        count: screen.list.value && number(screen.list.value[show].length),
        current: search.show === show });

    const screen = listScreen({ route, title: "Tenants", columns,
        list: () => reading(async (signal) => ({ "": await all("/tenants", signal),
            deleted: await all("/deleted-tenants", signal) })),
        find: (lists, { q, show }) => findTenants(lists[show] ?? [], q).slice(0, SHOWN),
        sub: ({ value }, { show }) => (value?.[show]?.length > SHOWN
            ? `The first ${SHOWN}; search finds all` : ""),
        search: { label: "Search tenants", placeholder: "Name or external id" },
        tabs: (search) => tabs("Which tenants", [tab("Tenants", "", search),
            tab("Deleted", "deleted", search)]),
        add: { text: "New tenant", run: newTenant, scope: "tenants:admin" },
        none: ({ show }) => (show ? { icon: "trash", title: "No deleted tenants", action: "" }
            : { icon: "building", title: "No tenants yet", text: LEAD }),
        noMatch: { icon: "search", title: "No tenant has such a name or external id" } });
    return screen;
}

const tenantFields = (one, more = {}) => html`
    ${field(one.props("/display_name", { wide: true, ...more }))}
    ${field(one.props("/external_id", { mono: true, wide: true,
        hint: "Its id in your own system." }))}
    ${field(one.props("/users_max", { wide: true, type: "number",
        hint: "Empty: no limit. Beyond it, new and restored users are refused.",
        onInput: (text) => one.set("/users_max", text && Number(text)) }))}`;

async function newTenant() {
    const made = await formDialog({ title: "New tenant", action: "Create the tenant",
        lead: () => LEAD,
        fields: (one) => html`${tenantFields(one, { autofocus: true, onInput(text) {
            // The name follows, until somebody writes another.
            if ((one.now("/name") ?? "") === suggestName(one.now("/display_name") ?? "")) {
                one.set("/name", suggestName(text));
            }
            one.set("/display_name", text);
        } })}${field(one.props("/name", { label: "Name in URLs", mono: true, required: true,
            hint: "It never changes." }))}`,
        write: async (body) => (await post("/tenants", body, { service })).data });
    if (made) {
        toast(`Tenant ${made.name} created`);
        go("tenants", made.name);
    }
}

function oneTenant(route) {
    const [name] = route.parts;
    const path = `/tenants/${encodeURIComponent(name)}`;
    const deletedPath = path.replace("/", "/deleted-");
    const read = async (signal, place = path) => (await get(place, { service, signal })).data;
    const title = (one) => one.display_name || one.name;
    const details = form({ read, name: title,
        write: async (body, version) => (await patch(path, body, { service, version })).data,
        saved(one, before) {
            one !== before && toast("Saved");
            screen.load();
        } });

    async function toggle({ status, version }) {
        const next = status === "suspended" ? "active" : "suspended";
        if (next === "active" || await confirm({ title: "Suspend this tenant?", action: "Suspend",
            danger: true, text: html`Every request with a key of <b>${name}</b> gets 403 until you
                activate it. Nothing is lost.` })) {
            if (await attempt(() => patch(path, { status: next }, { service, version }))) {
                toast(`Tenant ${name} is ${next}`);
            }
            screen.load();
        }
    }

    /** Delete or purge after the name was typed, and leave. */
    async function end(question, place, said, undo = undefined) {
        if (await confirm({ danger: true, type: name, ...question }) && await attempt(() =>
            del(place, { service, version: screen.record().version }))) {
            details.discard();
            toast(`Tenant ${name} ${said}`, { undo });
            location.hash = formatRoute({ screen: "tenants" });
        } else {
            screen.load();
        }
    }
    const holds = ({ users, groups }) =>
        `its ${count(users, "user")}, ${count(groups, "group")} and keys`;
    const remove = (one) => end({ title: "Delete this tenant?", action: "Delete",
        text: `Nobody can read or change ${holds(one)}. All of it is kept among the deleted `
            + "tenants, which say for how long. Until then Restore brings it back." },
    path, "deleted", () => restore(name));
    const purge = (one) => end({ title: "Purge this tenant?", action: "Purge for good",
        text: html`This erases ${holds(one)}, its deleted users, webhooks and settings, and what the
            change log says of its users. <b>Nothing brings it back</b>, except a backup of the
            whole service.` }, deletedPath, "purged");

    function connect(one) {
        const scim = `${one.base_url}/scim/v2`;
        const make = () => newKey({ tenant: one, preset: "scim", only: true, end: "365",
            name: `SCIM of ${title(one)}`.slice(0, 64),
            more: copyLine(scim, "Copy the SCIM URL") });
        return html`<div class="f w"><p class="hint">Base URL</p>${copyLine(one.base_url,
            "Copy the Base URL")}</div><div class="f w"><p class="hint">SCIM URL</p>${copyLine(scim,
            "Copy the SCIM URL")}</div><div class="f w pills">${can("keys:admin")
            ? html`<button type="button" class="btn" @click=${make}>${icon("key")}Make a SCIM key
            </button>` : ""}<a class="btn" href=${inTenant(name, "scim")}>Steps for Okta, Entra and
            others</a></div>`;
    }
    const main = (one) => (one.deleted_at ? html`<div class="sections">${note("bad", html`Deleted on
        ${dateTime(one.deleted_at)}. Restore brings everything back${one.purge_at
            ? `, until ${dateTime(one.purge_at)}` : ""}.`)}</div>`
        : formView(details, "Tenant", html`${one.status === "suspended" ? note("warn",
            "Suspended: every request with a key of this tenant gets 403.") : ""}<fieldset><legend
            >Details</legend><div class="fs">${tenantFields(details)}</div></fieldset><fieldset>
            <legend>Identity provider</legend><div class="fs">${connect(one)}</div></fieldset>`));

    const screen = recordScreen({ route, kind: "Tenant", list: "Tenants", form: details,
        name: title, read: (signal) => read(signal).catch((error) => (error.status === 404
            ? read(signal, deletedPath) : Promise.reject(error))),
        picture: (one) => avatar(title(one), name),
        badge: (one) => (one.deleted_at ? badge("bad", "Deleted") : statusBadge(one)),
        sub: (one) => (one.external_id ? cut(one.external_id, "mono") : ""),
        actions: (one) => (one.deleted_at ? html`<button class="btn primary" @click=${once(() =>
            restore(name).then(screen.load))}>${icon("undo")}Restore</button>` : html`<a class="btn"
            href=${inTenant(name)}>${icon("users")}Open its users</a><button class="btn"
                @click=${once(() => toggle(one))}>${one.status === "suspended"
                ? html`${icon("play")}Activate` : html`${icon("pause")}Suspend`}</button>`),
        menu: (one) => [{ text: one.deleted_at ? "Purge" : "Delete", icon: "trash", danger: true,
            run: () => (one.deleted_at ? purge(one) : remove(one)) }],
        tabs: [["", "Tenant", main]],
        rail: (one) => facts([["Users", usersText(one)],
            ["Deleted users", number(one.deleted_users)], ["Groups", number(one.groups)],
            ["Version", number(one.version)], ["Created", dateTime(one.created_at)],
            ["Updated", ago(one.updated_at)]], "Facts"),
        gone: () => ({ icon: "building", title: "No tenant has this name" }) });
    return screen;
}
