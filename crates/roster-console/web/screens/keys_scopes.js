// What a key may do, in words, and when it ends. Pure functions.
const DAY = 86400000;

/** All scopes in the order of the page; some do nothing without another one. */
export const SCOPES = [
    ["users:read", "read users", "List and read users and groups."],
    ["users:write", "write users", "Create, change, suspend, delete and restore them."],
    ["users:purge", "purge", "Erase deleted users for good."],
    ["users:restore-ids", "choose ids", "Choose the ids of new users.", "users:write"],
    ["events:read", "events", "Read the change log."],
    ["audit:read", "audit", "See keys, webhooks, tenants and settings there.", "events:read"],
    ["metrics:read", "metrics", "Read /metrics."],
    ["webhooks:admin", "webhooks", "Manage webhooks. They send only what this key may read."],
    ["schema:write", "schema", "Change which members users have."],
    ["keys:admin", "keys", "Make and revoke every key: whoever has this can do everything."],
    ["tenants:admin", "tenants", "Manage tenants. Works only in a key for all tenants."],
    ["scim", "SCIM", "Use the SCIM interface and nothing else."],
    ["scim:strict", "strict SCIM", "Refuse what providers often send wrong.", "scim"],
].map(([name, word, text, needs]) => ({ name, word, needs,
    text: needs ? `${text} Needs ${needs} too.` : text }));

export const PRESETS = [
    { name: "read", label: "Read", scopes: ["users:read"], hint: "Users and groups." },
    { name: "write", label: "Read and write", hint: "Also change them, but not purge.",
        scopes: ["users:read", "users:write"] },
    { name: "scim", label: "SCIM alone", scopes: ["scim"], hint: "For an identity provider." },
    { name: "all", label: "Everything", hint: "For yourself, not for a program.",
        scopes: SCOPES.map(({ name }) => name).filter((name) => name !== "scim:strict") }];

/** `tenants:admin` does nothing in a key of one tenant. */
export const presetScopes = (name, everywhere) => PRESETS.find((one) => one.name === name).scopes
    .filter((scope) => everywhere || scope !== "tenants:admin");

/** What is odd about chosen scopes, or "". */
export function scopeAdvice(scopes, everywhere) {
    const lone = SCOPES.find(({ name, needs }) => needs && scopes.includes(name)
        && !scopes.includes(needs));
    return lone ? `${lone.name} does nothing without ${lone.needs}.`
        : scopes.includes("tenants:admin") && !everywhere
            ? "tenants:admin does nothing in a key of one tenant." : "";
}

/** The scopes of a key in a few words. */
export function scopeWords(scopes) {
    if (presetScopes("all", false).every((name) => scopes.includes(name))) {
        return "Everything";
    }
    const known = SCOPES.filter(({ name }) => scopes.includes(name));
    const others = scopes.filter((scope) => known.every(({ name }) => name !== scope));
    const text = [...known.map(({ word }) => word), ...others].join(", ")
        .replace("read users, write users", "read and write users");
    return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The number of days, "never", or "day" for a day of one's own. */
export const ENDS = [["7", "After 7 days"], ["30", "After 30 days"], ["90", "After 90 days"],
    ["180", "After 180 days"], ["365", "After a year"], ["day", "On a day that I choose"],
    ["never", "Never"]];

/** `expires_at` of a request; null is never, "" is no time. A day ends when it is over here. */
export function endTime(end, day, now = new Date()) {
    const time = new Date(end === "day" ? `${day}T23:59:59` : now.getTime() + end * DAY);
    return end === "never" ? null : Number.isNaN(time.getTime()) ? "" : time.toISOString();
}

/** Whether an active key ends within 14 days. */
export const endsSoon = (key, now = new Date()) => key.status === "active"
    && new Date(key.expires_at).getTime() - now.getTime() < 14 * DAY;

/** The command that tries a key; it asks for the key, so that no history of a shell has it. */
export const tryLine = (base, scopes) => `read -rs KEY && curl -H "Authorization: Bearer $KEY" '${
    base}${scopes.includes("scim") && !scopes.includes("users:read") ? "/scim/v2/Users?count=1"
    : "/caller"}'`;

/** The keys that a search finds: by a part of the name, or the id, also as "key:ID". */
export const findKeys = (keys, text) => keys.filter(({ id, name }) =>
    id === text.trim().replace(/^key:/, "")
        || name.toLowerCase().includes(text.trim().toLowerCase()));
