// Who calls: the scopes of the credential decide what the page shows.

/** The answer of GET /caller; null before sign-in. @type {any} */
let current = null;

export const caller = () => current;
export const setCaller = (next) => {
    current = next;
};

/** Whether the caller has all these scopes. */
export const can = (...scopes) => scopes.every((scope) => current.scopes.includes(scope));
export const allTenants = () => current.tenants === "all" || current.open;

export const callerText = () => (current.open ? "No sign-in needed"
    : (current.kind === "key" ? "Key" : "Token") + (!can("users:read") ? ""
        : can("users:write") ? ", reads and writes users" : ", reads only"));
