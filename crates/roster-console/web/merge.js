// Edits of a record as a map from JSON pointers to values, and the three-way merge. Pure functions.
// Objects such as attributes and manager are merged by their members, lists as a whole: this is how
// PATCH (RFC 7396) stores them.

/** @typedef {Record<string, any>} Doc */
/** A value that is undefined or null removes the member. @typedef {Map<string, any>} Edits */
/** @typedef {{pointer: string, base: any, now: any, mine: any}} Clash */

/** Members that the service sets. */
const OWN = new Set(["id", "version", "created_at", "updated_at", "username_from_email",
    "deleted_at",
    "purge_at"]);
const NESTED = new Set(["attributes", "manager"]);

/** @param {string} pointer */
const names = (pointer) => pointer.slice(1).split("/")
    .map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));

/** @param {string} name */
const escaped = (name) => name.replaceAll("~", "~0").replaceAll("/", "~1");

/** @param {Doc} record @param {string} pointer */
export const valueAt = (record, pointer) =>
    names(pointer).reduce((value, name) => value?.[name], /** @type {any} */ (record));

/** An empty text or list is no value for the service. @param {any} value */
const none = (value) => value === undefined || value === null || value === ""
    || (Array.isArray(value) && value.length === 0);

/** Whether two values are stored alike; the order of members does not matter.
 * @param {any} a @param {any} b @returns {boolean} */
export function equal(a, b) {
    if (none(a) || none(b)) {
        return none(a) && none(b);
    }
    if (typeof a !== "object" || typeof b !== "object" || Array.isArray(a) !== Array.isArray(b)) {
        return a === b;
    }
    const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
    return [...keys].every((key) => equal(a[key], b[key]));
}

/** Leave the edits out that change nothing.
 * @param {Doc} base @param {Edits} edits @returns {Edits} */
export const realEdits = (base, edits) =>
    new Map([...edits].filter(([pointer, value]) => !equal(valueAt(base, pointer), value)));

/** The merge patch with which a record gets the edits. @param {Doc} base @param {Edits} edits */
export function patchOf(base, edits) {
    /** @type {Doc} */
    const patch = {};
    for (const [pointer, value] of realEdits(base, edits)) {
        const path = names(pointer);
        const last = /** @type {string} */ (path.pop());
        let at = patch;
        for (const name of path) {
            at = at[name] ??= {};
        }
        at[last] = none(value) ? null : value;
    }
    // One form of a list implies the other: without its list the primary value would stay.
    for (const [one, many] of [["email", "emails"], ["phone_number", "phone_numbers"]]) {
        if (patch[one] === null && base[many]?.length) {
            patch[many] = null;
        }
    }
    return patch;
}

/** The record as it looks with the edits. @param {Doc} base @param {Edits} edits @returns {Doc} */
export function withEdits(base, edits) {
    const record = structuredClone(base);
    for (const [pointer, value] of edits) {
        const path = names(pointer);
        const last = /** @type {string} */ (path.pop());
        let at = record;
        for (const name of path) {
            at = at[name] ??= {};
        }
        if (none(value)) {
            delete at[last];
        } else {
            at[last] = value;
        }
    }
    return record;
}

/** The pointers of the members that differ between two records.
 * @param {Doc} before @param {Doc} after @returns {string[]} */
export function changedPointers(before, after) {
    const found = [];
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
        if (OWN.has(name)) {
            continue;
        }
        if (NESTED.has(name)) {
            const [a, b] = [before[name] ?? {}, after[name] ?? {}];
            for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
                if (!equal(a[key], b[key])) {
                    found.push(`/${name}/${escaped(key)}`);
                }
            }
        } else if (!equal(before[name], after[name]) && !implied(name, before, after)) {
            found.push(`/${name}`);
        }
    }
    return found;
}

/** A list of one entry says what its primary value says. @param {string} name @param {Doc} before
 * @param {Doc} after */
function implied(name, before, after) {
    const one = { emails: "email", phone_numbers: "phone_number", photos: "picture" }[name];
    const short = (/** @type {Doc} */ record) => (record[name] ?? []).length <= 1;
    return Boolean(one) && short(before) && short(after)
        && !equal(before[/** @type {string} */ (one)], after[/** @type {string} */ (one)]);
}

/**
 * Compare what was opened, what is stored now, and the edits.
 * `mine` and `theirs` fit together; `both` needs a choice for each.
 * @param {Doc} base @param {Doc} now @param {Edits} edits
 * @returns {{mine: string[], theirs: string[], both: Clash[]}}
 */
export function merge(base, now, edits) {
    const changed = new Set(changedPointers(base, now));
    const mine = [];
    /** @type {Clash[]} */
    const both = [];
    for (const [pointer, value] of realEdits(base, edits)) {
        const stored = valueAt(now, pointer);
        const touched = !equal(valueAt(base, pointer), stored);
        if (touched && !equal(stored, value)) {
            both.push({ pointer, base: valueAt(base, pointer), now: stored, mine: value });
        } else if (!touched) {
            mine.push(pointer);
        }
        changed.delete(pointer);
    }
    return { mine, theirs: [...changed], both };
}

/** The edits after the choices: those on what is stored now, without the ones given up.
 * @param {Edits} edits @param {Map<string, "now" | "mine">} choices @returns {Edits} */
export const chosen = (edits, choices) =>
    new Map([...edits].filter(([pointer]) => choices.get(pointer) !== "now"));
