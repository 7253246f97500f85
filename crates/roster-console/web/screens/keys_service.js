// What the service says of itself, at its root: URLs and limits, of the service or of a tenant.
import { get, getSession, url } from "../api.js";
import { here } from "../page.js";

/** @typedef {{base: string, scim: string, uniqueEmail: string | boolean, guarded: boolean,
 *   keepDays: number | null}} Service */

/** @type {Map<string, Promise<Service>>} */
const known = new Map();

/** Read it once for each tenant. @param {boolean} [whole] the service, whatever tenant is shown
 * @returns {Promise<Service>} */
export function service(whole = false) {
    const name = url("/", {}, whole);
    if (!known.has(name)) {
        const read = get("/", { service: whole }).then(({ data }) => toService(data));
        read.catch(() => known.delete(name));
        known.set(name, read);
    }
    return /** @type {Promise<Service>} */ (known.get(name));
}

/** @param {any} data @returns {Service} */
function toService({ links, capabilities, limits }) {
    const base = links.users.replace(/\/users$/, "");
    const keep = limits.deleted_keep_seconds;
    return { base, scim: `${base}/scim/v2`, uniqueEmail: capabilities.unique_email,
        guarded: capabilities.precondition_required === true,
        keepDays: keep ? Math.round(keep / 86400) : null };
}

/** The tenant whose keys are shown, or "" for the default one. */
export const shownTenant = () => getSession()?.tenant ?? here().tenant;
