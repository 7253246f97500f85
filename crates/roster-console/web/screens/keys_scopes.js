// What a key may do, in words, and the times that a key has. Pure functions.

/** @typedef {{name: string, word: string, text: string}} Scope */

const DAY = 86400000;
export const WARN_DAYS = 14;
export const NAME_MAX = 64;

/** All scopes, in the order in which the page names them. @type {Scope[]} */
export const SCOPES = [
    { name: "users:read", word: "read users", text: "List and read users and groups." },
    { name: "users:write", word: "write users",
        text: "Create, change, suspend, delete and restore users, and change groups." },
    { name: "users:purge", word: "purge", text: "Erase deleted users for good." },
    { name: "users:restore-ids", word: "choose ids",
        text: "Choose the ids of new users, to move them from another directory. "
            + "Needs users:write too." },
    { name: "events:read", word: "events", text: "Read the change log: who changed "
        + "what, and when." },
    { name: "audit:read", word: "audit",
        text: "See changes of keys, webhooks, tenants and settings in the change log. "
            + "Needs events:read too." },
    { name: "metrics:read", word: "metrics", text: "Read /metrics, for monitoring." },
    { name: "webhooks:admin", word: "webhooks",
        text: "Create, change and delete webhooks. They send only what this key may read." },
    { name: "schema:write", word: "schema", text: "Change which members users have." },
    { name: "keys:admin", word: "keys",
        text: "Create keys of every scope and revoke any key. Whoever has this can "
            + "do everything." },
    { name: "tenants:admin", word: "tenants",
        text: "Create, suspend, delete and purge tenants. Works only in a key for all tenants." },
    { name: "scim", word: "SCIM",
        text: "The SCIM interface and nothing else. For an identity provider." },
    { name: "scim:strict", word: "strict SCIM",
        text: "Refuse what providers often send wrong. To test a client of your own; needs scim "
            + "too. Leave it off for a provider." },
];

/** @typedef {{name: string, label: string, hint: string, scopes: string[]}} Preset */

/** @type {Preset[]} */
export const PRESETS = [
    { name: "read", label: "Read", hint: "List and read users and groups.",
        scopes: ["users:read"] },
    { name: "write", label: "Read and write",
        hint: "Also create, change, suspend, delete and restore users, and change groups.",
        scopes: ["users:read", "users:write"] },
    { name: "scim", label: "SCIM for an identity provider",
        hint: "For Okta, Entra ID and others. Opens the SCIM interface and nothing else.",
        scopes: ["scim"] },
    { name: "all", label: "Everything",
        hint: "Also purge users, and make and revoke keys. For yourself, not for a program.",
        scopes: SCOPES.map(({ name }) => name).filter((name) => name !== "scim:strict") },
];

/** The scopes of a preset for a caller who may give these. `tenants:admin` does nothing in a key of
 * one tenant. @param {string} name @param {boolean} everywhere @returns {string[]} */
export function presetScopes(name, everywhere) {
    const preset = PRESETS.find((one) => one.name === name);
    return (preset?.scopes ?? []).filter((scope) => everywhere || scope !== "tenants:admin");
}

/** Scopes that do nothing without another one: {"audit:read": "events:read"}. */
const NEEDS = /** @type {Record<string, string>} */ ({
    "audit:read": "events:read", "users:restore-ids": "users:write", "scim:strict": "scim",
});

/** What is odd about chosen scopes, in a sentence, or "". @param {string[]} scopes
 * @param {boolean} everywhere */
export function scopeAdvice(scopes, everywhere) {
    const lone = scopes.find((scope) => NEEDS[scope] && !scopes.includes(NEEDS[scope]));
    if (lone) {
        return `${lone} does nothing without ${NEEDS[lone]}.`;
    }
    return scopes.includes("tenants:admin") && !everywhere
        ? "tenants:admin does nothing in a key of one tenant." : "";
}

/** The scopes of a key in a few words. @param {string[]} scopes */
export function scopeWords(scopes) {
    const has = (/** @type {string} */ name) => scopes.includes(name);
    if (PRESETS[3].scopes.every((name) => has(name) || name === "tenants:admin")) {
        return "Everything";
    }
    const words = SCOPES.filter(({ name }) => has(name)).map(({ word }) => word);
    if (has("users:read") && has("users:write")) {
        words.splice(0, 2, "read and write users");
    }
    const other = scopes.filter((name) => !SCOPES.some((scope) => scope.name === name));
    const text = [...words, ...other].join(", ");
    return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Choices of the end. The number of days, "never", or "day" for a day of one's own.
 * @type {[string, string][]} */
export const ENDS = [["7", "After 7 days"], ["30", "After 30 days"], ["90", "After 90 days"],
    ["180", "After 180 days"], ["365", "After a year"], ["day", "On a day that I choose"],
    ["never", "Never"]];

/** `expires_at` of a request; null is never. A day ends when it is over here.
 * @param {string} end @param {string} day as 2027-01-31 @param {Date} [now]
 * @returns {string | null} */
export function endTime(end, day, now = new Date()) {
    if (end === "never") {
        return null;
    }
    if (end !== "day") {
        return new Date(now.getTime() + Number(end) * DAY).toISOString();
    }
    const last = new Date(`${day}T23:59:59`);
    return Number.isNaN(last.getTime()) ? "" : last.toISOString();
}

/** Whole days until a time; 0 on the last day.
 * @param {string | undefined} time @param {Date} [now] */
export const daysLeft = (time, now = new Date()) =>
    (time ? Math.floor((new Date(time).getTime() - now.getTime()) / DAY) : Infinity);

/** Whether an active key ends within the days of the warning.
 * @param {{status: string, expires_at?: string}} key @param {Date} [now] */
export const endsSoon = (key, now = new Date()) =>
    key.status === "active" && daysLeft(key.expires_at, now) < WARN_DAYS;

/** Choices of how long the old secret works beside the new one, in seconds. */
export const OVERLAPS = /** @type {[string, string][]} */ ([
    ["0", "Not at all: it stops at once"], ["3600", "1 hour"], ["86400", "1 day"],
    ["604800", "7 days"], ["2592000", "30 days, the longest"]]);

/** The commands that try a key; the secret is asked for, so that no history of a shell has it.
 * @param {string} base @param {string[]} scopes */
export function tryLine(base, scopes) {
    const path = scopes.includes("users:read") || !scopes.includes("scim")
        ? "/caller" : "/scim/v2/Users?count=1";
    return `read -rs KEY && curl -H "Authorization: Bearer $KEY" '${base}${path}'`;
}

/** The keys of a list that a search finds: a part of the name, or the id, also as "key:ID".
 * @template {{id: string, name: string}} K @param {K[]} keys @param {string} text */
export function findKeys(keys, text) {
    const wanted = text.trim().toLowerCase();
    const id = text.trim().replace(/^key:/, "");
    return wanted ? keys.filter((key) => key.id === id || key.name.toLowerCase().includes(wanted))
        : keys;
}
