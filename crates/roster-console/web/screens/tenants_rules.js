// Names and members of tenants: what may be written, what changed. Pure functions.

export const NAME_RULE = "1 to 63 lower-case letters, digits and hyphens";
const NAME = /^[a-z0-9-]{1,63}$/;
const TEXT_MAX = 256;

/** @typedef {{name: string, version: number, status: "active" | "suspended", display_name?: string,
 *   external_id?: string, users_max?: number, base_url: string, users?: number,
 *   deleted_users?: number, groups?: number, created_at: string, updated_at: string,
 *   deleted_at?: string, purge_at?: string}} Tenant */
/** @typedef {{name?: string, display_name: string, external_id: string,
 *   users_max: string}} Draft */

/** A name made of the words for people: "Acme Ltd." -> "acme-ltd". @param {string} text */
export const suggestName = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase()
    .replace(/[^a-z0-9]+/g, "-").slice(0, 63).replace(/^-+|-+$/g, "");

/** What is wrong with a draft, by pointer.
 * @param {Draft} draft @returns {Record<string, string>} */
export function draftFaults(draft) {
    const faults = /** @type {Record<string, string>} */ ({});
    if (draft.name !== undefined && !NAME.test(draft.name.trim())) {
        faults["/name"] = draft.name.trim() ? `Write ${NAME_RULE}.` : "Write a name.";
    }
    for (const member of /** @type {const} */ (["display_name", "external_id"])) {
        if ([...draft[member]].length > TEXT_MAX) {
            faults[`/${member}`] = `At most ${TEXT_MAX} characters.`;
        }
    }
    if (!/^\d*$/.test(draft.users_max.trim())
        || Number(draft.users_max) > Number.MAX_SAFE_INTEGER) {
        faults["/users_max"] = "Write a whole number, 0 or more, or leave it empty.";
    }
    return faults;
}

/** @param {Tenant} tenant @returns {Draft} */
export const draftOf = (tenant) => ({ display_name: tenant.display_name ?? "",
    external_id: tenant.external_id ?? "",
    users_max: tenant.users_max === undefined ? "" : String(tenant.users_max) });

const MEMBERS = /** @type {const} */ (["display_name", "external_id", "users_max"]);

/** A merge patch from one draft to another: null clears. @param {Draft} from @param {Draft} next
 * @returns {Record<string, string | number | null>} */
export function draftPatch(from, next) {
    const patch = /** @type {Record<string, string | number | null>} */ ({});
    for (const member of MEMBERS) {
        const text = next[member].trim();
        if (text !== from[member].trim()) {
            patch[member] = text === "" ? null : member === "users_max" ? Number(text) : text;
        }
    }
    return patch;
}

/** The body of a new tenant: empty members are left out. @param {Draft} draft */
export const draftBody = (draft) => ({ name: draft.name?.trim(),
    ...draftPatch({ display_name: "", external_id: "", users_max: "" }, draft) });

/**
 * After somebody else saved: keep the edits, take the rest as it is now.
 * @param {Draft} opened @param {Draft} edited @param {Draft} now
 * @returns {{draft: Draft, theirs: (typeof MEMBERS[number])[]}} `theirs`: changed by both sides
 */
export function rebase(opened, edited, now) {
    const draft = { ...now };
    /** @type {(typeof MEMBERS[number])[]} */
    const theirs = [];
    for (const member of MEMBERS) {
        if (edited[member] !== opened[member]) {
            draft[member] = edited[member];
            if (now[member] !== opened[member] && now[member] !== edited[member]) {
                theirs.push(member);
            }
        }
    }
    return { draft, theirs };
}

/** Tenants that a search finds among those that are loaded.
 * @param {Tenant[]} tenants @param {string} text */
export function findTenants(tenants, text) {
    const wanted = text.trim().toLowerCase();
    return wanted ? tenants.filter((one) => [one.name, one.display_name ?? "",
        one.external_id ?? ""]
        .some((value) => value.toLowerCase().includes(wanted))) : tenants;
}

/** Whether a text can be the name of a tenant. @param {string} text */
export const isName = (text) => NAME.test(text.trim());
