// The fragment holds the state of the page: #/t/TENANT/SCREEN/PART...?name=value. Pure functions.

/**
 * @typedef {object} Route
 * @property {string} tenant   the tenant chosen with an operator's key, or ""
 * @property {string} screen   the first part, such as "users"
 * @property {string[]} parts  the other parts, such as [ID, "history"]
 * @property {Record<string, string>} query
 */

const decode = (/** @type {string} */ text) => {
    try {
        return decodeURIComponent(text);
    } catch {
        return text;
    }
};

/** Read a fragment. @param {string} fragment @returns {Route} */
export function parseRoute(fragment) {
    const text = fragment.replace(/^#/, "");
    const mark = text.indexOf("?");
    const path = mark < 0 ? text : text.slice(0, mark);
    const names = path.split("/").filter(Boolean).map(decode);
    let tenant = "";
    if (names[0] === "t" && names.length > 1) {
        tenant = names[1];
        names.splice(0, 2);
    }
    /** @type {Record<string, string>} */
    const query = {};
    for (const [name, value] of new URLSearchParams(mark < 0 ? "" : text.slice(mark + 1))) {
        query[name] = value;
    }
    return { tenant, screen: names[0] ?? "users", parts: names.slice(1), query };
}

/**
 * Write a fragment; empty values of the query are left out.
 * @param {{tenant?: string, screen: string, parts?: string[],
 *   query?: Record<string, string | undefined>}} route
 */
export function formatRoute({ tenant = "", screen, parts = [], query = {} }) {
    const names = [...(tenant ? ["t", tenant] : []), screen, ...parts];
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
        if (value !== undefined && value !== "") {
            search.set(name, value);
        }
    }
    const tail = search.toString();
    return `#/${names.map(encodeURIComponent).join("/")}${tail ? `?${tail}` : ""}`;
}

/** Whether two routes differ in their query at most. @param {Route} a @param {Route} b */
export function samePlace(a, b) {
    return a.tenant === b.tenant && a.screen === b.screen
        && a.parts.length === b.parts.length && a.parts.every((part, i) => part === b.parts[i]);
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether a text is an id of a user or a group. @param {string} text */
export const isId = (text) => UUID.test(text.trim());
