// Create, suspend, delete, restore and purge a tenant.
import { html } from "../vendor/lit-html/lit-html.js";
import { asProblem, del, patch, post } from "../api.js";
import { go, here, loadStyles, refresh, toast } from "../page.js";
import { formatRoute } from "../route.js";
import { count } from "../texts.js";
import { confirm } from "../ui/confirm.js";
import { dialog } from "../ui/dialog.js";
import { faultsOf, field, focusField } from "../ui/fields.js";
import { note } from "../ui/parts.js";
import { service } from "./keys_service.js";
import { draftBody, draftFaults, NAME_RULE, suggestName } from "./tenants_rules.js";

/** @typedef {import("./tenants_rules.js").Tenant} Tenant */
/** @typedef {import("./tenants_rules.js").Draft} Draft */

const path = (/** @type {string} */ name) => `/tenants/${encodeURIComponent(name)}`;
const deletedPath = (/** @type {string} */ name) => `/deleted-tenants/${encodeURIComponent(name)}`;
export const tenantPath = path;
export const deletedTenantPath = deletedPath;

/** The list of users of a tenant. @param {string} tenant */
export const inTenant = (tenant, screen = "users") => formatRoute({ tenant, screen });

/** Go to the tenants; out of a tenant that no longer answers. @param {string} gone */
export function leave(gone) {
    if (here().tenant === gone) {
        location.hash = formatRoute({ screen: "tenants" });
    } else {
        go("tenants");
    }
}

/** Say why something was not done. @param {string} what @param {any} error */
function failed(what, error) {
    const problem = asProblem(error);
    const text = problem.status === 412 ? "somebody changed the tenant meanwhile. Look at "
        + "it, then try again." : problem.status === 404 ? "it is not there any more."
            : problem.detail
            || problem.title;
    toast(`${what}: ${text}`, { kind: "bad" });
}

/** The fields of the members that may change.
 * @param {Draft} draft @param {Record<string, string>} faults
 * @param {(next: Partial<Draft>) => unknown} set @param {Draft} [was] */
export function memberFields(draft, faults, set, was) {
    /** @param {"display_name" | "external_id" | "users_max"} member */
    const old = (member) => (was && was[member].trim() !== draft[member].trim()
        ? { value: was[member], undo: () => set({ [member]: was[member] }) } : undefined);
    return html`
        ${field({ id: "tenant-display_name", label: "Display name", value: draft.display_name,
        error: faults["/display_name"], was: old("display_name"), hint: "The name for people.",
        autofocus: !was, onInput: (display_name) => set({ display_name }) })}
        ${field({ id: "tenant-external_id", label: "External id", value: draft.external_id,
            mono: true,
        error: faults["/external_id"], was: old("external_id"),
        hint: "Its id in your own system, such as the number of the customer.",
        onInput: (external_id) => set({ external_id }) })}
        ${field({ id: "tenant-users_max", label: "User limit", value: draft.users_max,
        error: faults["/users_max"], was: old("users_max"), hint: "Empty: no limit. Beyond "
            + "it, a new or restored user gets 403; those who are there stay.",
        onInput: (users_max) => set({ users_max }) })}`;
}

/** Focus the first field with a fault. @param {Record<string, string>} faults */
export function focusFault(faults) {
    const first = ["name", "display_name", "external_id",
        "users_max"].find((one) => faults[`/${one}`]);
    if (first) {
        queueMicrotask(() => focusField(`tenant-${first}`));
    }
}

/** Ask for a new tenant and make it. @returns {Promise<Tenant | undefined>} */
export async function newTenant() {
    await loadStyles("screens/keys_access.css");
    const state = { busy: false, own: false, fault: "",
        faults: /** @type {Record<string, string>} */ ({}),
        draft: /** @type {Draft} */ ({ name: "", display_name: "", external_id: "",
            users_max: "" }) };

    /** @param {Partial<Draft>} next */
    function set(next) {
        Object.assign(state.draft, next);
        if (!state.own && next.display_name !== undefined) {
            state.draft.name = suggestName(next.display_name);
        }
        Object.keys(next).forEach((member) => delete state.faults[`/${member}`]);
        refresh();
    }

    /** @param {(tenant?: Tenant) => void} close */
    async function submit(close) {
        state.faults = draftFaults(state.draft);
        if (state.busy || Object.keys(state.faults).length) {
            refresh();
            focusFault(state.faults);
            return;
        }
        Object.assign(state, { busy: true, fault: "" });
        refresh();
        try {
            close((await post("/tenants", draftBody(state.draft), { service: true })).data);
        } catch (error) {
            const problem = asProblem(error);
            const taken = problem.code === "tenant-name-taken";
            state.busy = false;
            state.faults = taken ? { "/name": "Another tenant has this name, or a "
                + "deleted one that is kept. Choose another." } : faultsOf(problem);
            state.fault = taken || problem.errors.length ? "" : problem.detail || problem.title;
            refresh();
            focusFault(state.faults);
        }
    }

    const made = await dialog({
        title: "New tenant", lead: () => "A directory of its own for one customer: users, "
            + "groups, keys and a SCIM endpoint that no other customer sees.",
        body: () => html`${memberFields(state.draft, state.faults, set)}
            ${field({ id: "tenant-name", label: "Name in URLs", value: state.draft.name ?? "",
                mono: true,
        required: true, error: state.faults["/name"],
        hint: `${NAME_RULE}. It is a part of the URLs and never changes.`,
        onInput: (name) => {
            state.own = name !== "";
            set({ name });
        } })}
            ${state.fault ? note("bad", state.fault) : ""}`,
        submit,
        actions: (close) => html`<div class="sp">
            <button type="button" class="btn" @click=${() => close()}>Cancel</button>
            <button type="submit" class="btn primary" ?disabled=${state.busy}>Create the
                tenant</button>
            </div>`,
    });
    if (made) {
        toast(`Tenant ${made.name} created`);
    }
    return made;
}

/** Suspend or activate a tenant; the tenant as it is then, or undefined. @param {Tenant} tenant
 * @returns {Promise<Tenant | undefined>} */
export async function toggle(tenant) {
    const off = tenant.status === "suspended";
    if (!off && !await confirm({ title: "Suspend this tenant?", action: "Suspend", danger: true,
        text: html`<p>Within a second every request with a key of <b><bdi>${tenant.name}</bdi></b>
            gets 403: its programs, its identity provider, and people who are signed in with its
                keys.</p>
            <p>Nothing is lost, and your keys for all tenants still work here. Activate ends
                it.</p>` })) {
        return;
    }
    const status = off ? "active" : "suspended";
    try {
        const { data } = await patch(path(tenant.name), { status }, { service: true,
            version: tenant.version });
        toast(off ? `Tenant ${tenant.name} is active` : `Tenant ${tenant.name} is suspended`);
        return data;
    } catch (error) {
        failed(off ? "Not activated" : "Not suspended", error);
    }
}

/** Delete a tenant after its name was typed; whether it was done. @param {Tenant} tenant */
export async function remove(tenant) {
    const { keepDays } = await service(true);
    const until = keepDays ? `for ${count(keepDays, "day")}` : "until you purge it";
    if (!await confirm({ title: "Delete this tenant?", action: "Delete", danger: true,
        type: tenant.name, text: html`<p>Within a second every request below its base URL gets 404,
            with your keys too. ${holds(tenant)} nobody can read or change.</p>
            <p>All of it is kept ${until}. Until then Restore under Deleted tenants brings
                everything back, also its keys. Its name stays taken.</p>` })) {
        return false;
    }
    try {
        await del(path(tenant.name), { service: true, version: tenant.version });
    } catch (error) {
        failed("Not deleted", error);
        return false;
    }
    toast(`Tenant ${tenant.name} deleted`, { undo: () => restore(tenant.name, () => go("tenants",
        tenant.name)) });
    return true;
}

/** What is in a tenant. @param {Tenant} tenant */
const holds = ({ users, groups }) => (users === undefined ? "Its users, groups and keys"
    : `Its ${count(users, "user")}, ${count(groups ?? 0, "group")} and its keys`);

/** Bring a deleted tenant back. @param {string} name @param {() => unknown} then */
export async function restore(name, then) {
    try {
        await post(`${deletedPath(name)}/restore`, undefined, { service: true });
        toast(`Tenant ${name} is back`);
        await then();
    } catch (error) {
        failed("Not restored", error);
    }
}

/** Erase a deleted tenant after its name was typed; whether it was done. @param {Tenant} tenant */
export async function purge(tenant) {
    if (!await confirm({ title: "Purge this tenant?", action: "Purge for good", danger: true,
        type: tenant.name, text: html`<p>This erases ${holds(tenant).replace("Its", "its")}, its
            deleted users, webhooks and settings, and what the change log says of its users.</p>
            <p><b>Nothing brings it back</b>, except a backup of the whole service. Its name is free
            afterwards.</p>` })) {
        return false;
    }
    try {
        await del(deletedPath(tenant.name), { service: true, version: tenant.version });
        toast(`Tenant ${tenant.name} purged`);
        return true;
    } catch (error) {
        failed("Not purged", error);
        return false;
    }
}
