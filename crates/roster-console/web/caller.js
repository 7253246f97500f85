// Who calls: the scopes of the credential decide what the page shows.

/**
 * @typedef {object} Caller
 * @property {string} kind        "key", "subject" or "anonymous"
 * @property {string} actor       as the change log names it
 * @property {string} [name]
 * @property {string[]} scopes
 * @property {string} [tenant]
 * @property {"all"} [tenants]
 * @property {string} [expires_at]
 * @property {boolean} open
 */

/** @type {Caller | null} */
let current = null;

/** The caller. Throws before sign-in; screens are only shown after it. */
export function caller() {
    if (!current) {
        throw new Error("nobody is signed in");
    }
    return current;
}

export const isKnown = () => current !== null;

/** @param {Caller | null} next */
export const setCaller = (next) => {
    current = next;
};

/** Whether the caller has all these scopes: can("users:write"). @param {...string} scopes */
export const can = (...scopes) => scopes.every((scope) => caller().scopes.includes(scope));

/** Whether the caller may choose a tenant. */
export const allTenants = () => caller().tenants === "all" || caller().open;

/** "Key, reads and writes users". */
export function callerText() {
    const one = caller();
    if (one.open) {
        return "No sign-in needed";
    }
    const kind = one.kind === "key" ? "Key" : "Token";
    if (!can("users:read")) {
        return kind;
    }
    return can("users:write") ? `${kind}, reads and writes users` : `${kind}, reads only`;
}
