// One tenant: its URLs and a key for its identity provider, its members, suspend and delete.
import { html } from "../vendor/lit-html/lit-html.js";
import { asProblem, get, isAbort, patch } from "../api.js";
import { can } from "../caller.js";
import { loadStyles, refresh, to, toast } from "../page.js";
import { dateTime, number } from "../texts.js";
import { faultsOf } from "../ui/fields.js";
import { icon } from "../ui/icons.js";
import { openMenu } from "../ui/menu.js";
import { ago, avatar, badge, copyButton, crumb, emptyState, errorPanel, modifier, note, pageHead,
    skeleton, statusBadge } from "../ui/parts.js";
import { newKey } from "./keys_new.js";
import { purgeText, refusal } from "./tenants.js";
import { deletedTenantPath, focusFault, inTenant, leave, memberFields, purge, remove, restore,
    tenantPath, toggle } from "./tenants_actions.js";
import { draftFaults, draftOf, draftPatch, rebase } from "./tenants_rules.js";

/** @typedef {import("./tenants_rules.js").Tenant} Tenant */
/** @typedef {import("./tenants_rules.js").Draft} Draft */

loadStyles("screens/keys_access.css");
const BLANK = { display_name: "", external_id: "", users_max: "" };
const WORDS = { display_name: "display name", external_id: "external id", users_max: "user limit" };

/** @param {import("../route.js").Route} route */
export default function tenant(route) {
    const name = route.parts[0];
    const back = { href: to("tenants"), text: "Tenants" };
    const refused = refusal();
    if (refused) {
        return { title: "Tenant", view: () => html`${pageHead({ title: "Tenant",
            back })}${refused}` };
    }
    const state = { tenant: /** @type {Tenant | null} */ (null),
        draft: /** @type {Draft} */ (BLANK),
        error: /** @type {any} */ (null), faults: /** @type {Record<string, string>} */ ({}),
            fault: "",
        busy: false, theirs: /** @type {unknown} */ (null) };
    const stop = new AbortController();
    const options = { service: true, signal: stop.signal };
    const opened = () => (state.tenant ? draftOf(state.tenant) : BLANK);
    const changes = () => Object.keys(draftPatch(opened(), state.draft)).length;

    /** @returns {Promise<Tenant>} the tenant, or the deleted one of this name */
    const read = () => get(tenantPath(name), options).catch((error) => {
        if (error?.status !== 404) {
            throw error;
        }
        return get(deletedTenantPath(name), options);
    }).then(({ data }) => data);

    async function load() {
        state.error = null;
        refresh();
        try {
            state.tenant = await read();
            state.draft = opened();
            Object.assign(state, { faults: {}, fault: "", theirs: null });
        } catch (error) {
            if (!isAbort(error)) {
                state.error = error;
            }
        }
        refresh();
    }

    /** @param {Partial<Draft>} next */
    function set(next) {
        state.draft = { ...state.draft, ...next };
        Object.keys(next).forEach((member) => delete state.faults[`/${member}`]);
        refresh();
    }

    async function save() {
        const one = /** @type {Tenant} */ (state.tenant);
        if (state.busy || one.deleted_at || !changes()) {
            return;
        }
        state.faults = draftFaults(state.draft);
        if (Object.keys(state.faults).length) {
            refresh();
            focusFault(state.faults);
            return;
        }
        state.busy = true;
        refresh();
        try {
            await patch(tenantPath(name), draftPatch(opened(), state.draft), { ...options,
                version: one.version });
            toast("Saved");
            await load();
        } catch (error) {
            await notSaved(error);
        }
        state.busy = false;
        refresh();
    }

    /** @param {any} error */
    async function notSaved(error) {
        const problem = asProblem(error);
        if (problem.status !== 412) {
            state.faults = faultsOf(problem);
            state.fault = problem.errors.length ? "" : problem.detail || problem.title;
            focusFault(state.faults);
            return;
        }
        const [before, edited] = [opened(), state.draft];
        state.tenant = await read();
        const { draft, theirs } = rebase(before, edited, opened());
        state.draft = draft;
        state.theirs = theirs.length ? html`Somebody else changed
            ${theirs.map((member) => WORDS[member])
            .join(" and ")} meanwhile. Below each field is what it is now. Save puts yours in its
                place.`
            : "Somebody else changed this tenant meanwhile. Their changes are shown, yours "
                + "are kept. Save again.";
    }

    async function onToggle() {
        if (await toggle(/** @type {Tenant} */ (state.tenant))) {
            const { draft } = state;
            await load();
            state.draft = draft;
        }
    }

    async function onRemove() {
        if (await remove(/** @type {Tenant} */ (state.tenant))) {
            state.draft = opened();
            leave(name);
        }
    }

    async function onPurge() {
        if (await purge(/** @type {Tenant} */ (state.tenant))) {
            leave(name);
        }
    }

    const menu = (/** @type {Event} */ event) => openMenu(event, "More", [
        { text: "Copy the name", icon: "copy", run: () => navigator.clipboard.writeText(name) },
            null,
        { text: "Delete", icon: "trash", danger: true, run: onRemove }]);

    /** @param {string} label @param {string} text */
    const value = (label, text) => html`<div><dt>${label}</dt><dd class="val"><code>${text}</code>${
        copyButton(text, `Copy the ${label}`)}</dd></div>`;

    /** @param {Tenant} one */
    const connect = (one) => html`<section class="card"><h2>Connect its identity provider</h2>
        <div class="pad"><dl class="vals">${value("Base URL", one.base_url)}${
    value("SCIM URL", `${one.base_url}/scim/v2`)}</dl>
            <p class="muted">Give the customer the SCIM URL and a key. The key works in this tenant
                and nowhere else.</p>
            <div class="row">${can("keys:admin") ? html`<button class="btn primary"
                @click=${() => newKey({
    tenant: one, preset: "scim", only: true, end: "365",
    name: `SCIM of ${one.display_name || one.name}`.slice(0, 64),
    more: html`<dl class="vals">${value("SCIM URL", `${one.base_url}/scim/v2`)}</dl>` })}>
                ${icon("key")}Make a SCIM key</button>` : html`<p class="muted">To make its key, you
                    need the scope <span class="mono">keys:admin</span>.</p>`}
                <a class="btn" href=${inTenant(name, "scim")}>Steps for Okta, Entra and others</a>
                ${can("keys:admin") ? html`<a class="btn ghost" href=${inTenant(name, "keys")}>Its
                    keys</a>`
    : ""}</div></div></section>`;

    const edit = () => html`<section class="card"><h2>Details</h2><form class="pad" novalidate
        @submit=${(/** @type {Event} */ event) => {
            event.preventDefault();
            save();
        }}>${state.theirs ? note("warn", state.theirs) : ""}
        ${memberFields(state.draft, state.faults, set, opened())}
        ${state.fault ? note("bad", state.fault) : ""}<button type="submit" class="sr" tabindex="-1"
            aria-hidden="true">Save</button></form></section>`;

    /** @param {Tenant} one */
    const facts = (one) => html`<section class="card"><h2>Facts</h2><dl class="facts pad">
        <dt>Users</dt><dd>${number(one.users ?? 0)}${one.users_max === undefined ? ""
    : ` of at most ${number(one.users_max)}`}</dd>
        <dt>Deleted users</dt><dd>${number(one.deleted_users ?? 0)}</dd>
        <dt>Groups</dt><dd>${number(one.groups ?? 0)}</dd>
        <dt>Created</dt><dd>${dateTime(one.created_at)}</dd>
        <dt>Updated</dt><dd>${ago(one.updated_at)}</dd>
        <dt>Version</dt><dd>${one.version}</dd></dl></section>`;

    const saveBar = () => html`<div class="savebar full" role="region" aria-label="Unsaved changes">
        <b>${changes()} ${changes() === 1 ? "change" : "changes"}</b><div class="sp">
        <button class="btn ghost" @click=${() => set(opened())}>Discard</button>
        <button class="btn primary" ?disabled=${state.busy} @click=${save}>Save<kbd
            class="d">${modifier}↵</kbd>
        </button></div></div>`;

    const buttons = (/** @type {Tenant} */ one) => (one.deleted_at ? html`
        <button class="btn" @click=${() => restore(name, load)}>${icon("undo")}Restore</button>
        <button class="btn danger" @click=${onPurge}>${icon("trash")}Purge</button>` : html`
        <a class="btn" href=${inTenant(name)}>${icon("users")}Open its users</a>
        <button class="btn" @click=${onToggle}>${one.status === "suspended"
    ? html`${icon("play")}Activate` : html`${icon("pause")}Suspend`}</button>
        <button class="btn icon" aria-label="More" aria-haspopup="menu"
            @click=${menu}>${icon("more")}
            </button>`);

    const view = (/** @type {Tenant} */ one) => html`
        ${crumb({ links: [back], name })}
        <div class="page"><div class="who2">${avatar(one.display_name || one.name, one.name)}<div>
            <h1 tabindex="-1"><bdi>${one.display_name || one.name}</bdi> ${one.deleted_at
    ? badge("bad", "Deleted") : statusBadge(one)}</h1>
            <div class="sub">${copyButton(one.name, "Copy the name", html`<span
                class="mono">${one.name}</span>`)}
                ${one.external_id ? html`<span class="mono"><bdi>${one.external_id}</bdi></span>`
                    : ""}</div>
            </div><div class="sp">${buttons(one)}</div></div>
            <div class="sections ${changes() ? "saving" : ""}">
                ${one.deleted_at ? note("bad", html`Deleted on ${dateTime(one.deleted_at)}. Requests
                    below its base URL get 404. ${purgeText(one)}. Restore brings everything back,
                        also its keys.`)
    : one.status === "suspended" ? note("warn", "Suspended: every request with a key of "
        + "this tenant gets 403. Nothing is lost. Activate ends it.") : ""}
                ${one.deleted_at ? "" : html`${connect(one)}${edit()}`}${facts(one)}</div>
        </div>${one.deleted_at || !changes() ? "" : saveBar()}`;

    const faultView = () => html`${pageHead({ title: "Tenant", back })}
        ${asProblem(state.error).status === 404 ? emptyState({ icon: "building",
        title: "No tenant has this name", text: "It may have been purged.",
        action: html`<a class="btn" href=${to("tenants")}>All tenants</a>` })
        : errorPanel(state.error, load)}`;

    load();
    return {
        title: () => state.tenant?.display_name || name,
        view: () => (state.error ? faultView() : state.tenant ? view(state.tenant)
            : html`${crumb({ links: [back], name })}${skeleton(6)}`),
        unsaved: () => changes() > 0,
        close: () => stop.abort(),
        keys: { "ctrl-enter": save },
    };
}
