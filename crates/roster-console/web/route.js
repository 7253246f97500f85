// The fragment holds the state of the page: #/t/TENANT/SCREEN/PART...?name=value. Pure functions.

/** @typedef {{tenant: string, screen: string, parts: string[], query: Record<string, string>}}
 * Route  `tenant` is the one chosen with an operator's key, or "" */

/** Unlike decodeURIComponent it keeps broken escapes. */
const decode = (text) =>
    new URLSearchParams(`x=${text.replace(/[+&]/g, encodeURIComponent)}`).get("x");

/** A part that can be a segment of a path of the API: a link could name another path by it. */
const segment = (part) => (/^[\w~-][\w.~-]*$/.test(part) ? part : "-");

/** @param {string} fragment @returns {Route} */
export function parseRoute(fragment) {
    const [, path, search] = fragment.match(/^#?([^?]*)\??(.*)$/s);
    const names = path.split("/").filter(Boolean).map(decode);
    const [, tenant] = names[0] === "t" && names.length > 1 ? names.splice(0, 2) : [];
    return { tenant: tenant ? segment(tenant) : "", screen: names[0] ?? "users",
        parts: names.slice(1).map(segment), query: Object.fromEntries(new URLSearchParams(search)) };
}

/** Write a fragment; empty values of the query are left out. */
export function formatRoute({ tenant = "", screen, parts = [], query = {} }) {
    const names = [...(tenant ? ["t", tenant] : []), screen, ...parts];
    const tail = new URLSearchParams(Object.entries(query).filter(([, value]) => value)).toString();
    return `#/${names.map(encodeURIComponent).join("/")}${tail && `?${tail}`}`;
}

/** Whether two routes differ in their query at most. */
export const samePlace = (...routes) => new Set(routes.map((one) =>
    formatRoute({ ...one, query: {} }))).size === 1;

export const isId = (text) =>
    /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text.trim());
