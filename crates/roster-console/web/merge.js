// Edits of a record as a map from JSON pointers to values, and the three-way merge. Pure functions.
// Objects are merged by their members, lists as a whole: this is how PATCH (RFC 7396) stores them.

/** What the service sets, or the page adds. */
const OWN = new Set(("id version created_at updated_at username_from_email deleted_at purge_at "
    + "parents member_count position lag failing_since attempts next_attempt_at deliveries users "
    + "groups")
    .split(" "));
/** The short form of each list: its primary value. */
export const SHORT = { emails: "email", phone_numbers: "phone_number", photos: "picture" };

const names = (pointer) => pointer.slice(1).split("/")
    .map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
/** A member of a value. Each object inherits members, such as constructor, that no record has. */
export const own = (value, name) =>
    (Object.hasOwn(value ?? {}, name) ? value[name] : undefined);
export const valueAt = (record, pointer) => names(pointer).reduce(own, record);
/** The list of a primary value: "/email" -> "/emails". */
export const listAt = (pointer) => Object.keys(SHORT).map((many) => `/${many}`)
    .find((list) => `/${SHORT[list.slice(1)]}` === pointer);

/** An empty text or list is no value for the service. */
const none = (value) => (value ?? "") === "" || (Array.isArray(value) && !value.length);

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
/** Inside of a value an empty text or list is one, and null in an object is none. */
const same = (one, other) => (isObject(one) && isObject(other)
    ? Object.keys({ ...one, ...other }).every((name) =>
        same(own(one, name) ?? null, own(other, name) ?? null))
    : Array.isArray(one) && Array.isArray(other)
        ? one.length === other.length && one.every((value, at) => same(value, other[at]))
        : one === other);

/** Whether two values are stored alike; the order of members does not matter. */
export const equal = (one, other) =>
    (none(one) || none(other) ? none(one) && none(other) : same(one, other));

/** Without those that change nothing. */
export const realEdits = (base, edits) =>
    new Map([...edits].filter(([pointer, value]) => !equal(valueAt(base, pointer), value)));

/** The edits made after those that were `sent`, also those that took one of them back. */
export function laterEdits(base, sent, edits) {
    const at = (some, pointer) => (some.has(pointer) ? some.get(pointer) : valueAt(base, pointer));
    return new Map([...sent.keys(), ...edits.keys()].filter((one) => !equal(at(edits, one),
        at(sent, one))).map((one) => [one, at(edits, one)]));
}

/** A patch keeps the members of an object that it does not name: those left out are null. */
const whole = (before, after) => (isObject(before) && isObject(after)
    ? Object.fromEntries(Object.keys({ ...before, ...after }).map((name) =>
        [name, whole(own(before, name), own(after, name) ?? null)])) : after);

export function patchOf(base, edits) {
    // An attribute may be named __proto__.
    const patch = Object.create(null);
    for (const [pointer, value] of realEdits(base, edits)) {
        const path = names(pointer);
        const parent = path.slice(0, -1).reduce((at, name) => (at[name] ??= Object.create(null)),
            patch);
        parent[path.at(-1)] = none(value) ? null : whole(valueAt(base, pointer), value);
    }
    // Without its list the primary value would stay.
    Object.keys(SHORT).filter((many) => patch[SHORT[many]] === null && base[many]?.length)
        .forEach((many) => Object.assign(patch, { [many]: null }));
    // A manager of whom nothing is left is none: the service needs an id.
    patch.manager &&= Object.values({ ...base.manager, ...patch.manager }).every(none) ? null
        : patch.manager;
    return structuredClone(patch);
}

export function changedPointers(before, after) {
    const differ = (one, other) => Object.keys({ ...one, ...other })
        .filter((name) => !equal(own(one, name), own(other, name)));
    return differ(before, after)
        .filter((name) => !OWN.has(name) && !implied(name, before, after))
        .flatMap((name) => (!["attributes", "manager"].includes(name) ? `/${name}`
            : differ(before[name], after[name]).map((member) =>
                `/${name}/${member.replaceAll("~", "~0").replaceAll("/", "~1")}`)));
}

/** A list of one entry says what its primary value says. */
const implied = (name, before, after) => SHORT[name]
    && !equal(before[SHORT[name]], after[SHORT[name]])
    && [before, after].every((record) => !(record[name]?.length > 1));

/** Compare what was opened, what is stored now, and the edits. `mine` and `theirs` are pointers
 * that fit together; each of `both` needs a choice. */
export function merge(base, now, edits) {
    const theirs = new Set(changedPointers(base, now));
    const [mine, both] = [[], []];
    for (const [pointer, value] of realEdits(base, edits)) {
        const list = none(value) && listAt(pointer);
        // Without its primary value the list goes too, with what somebody else did to it.
        const at = list && !equal(valueAt(base, list), valueAt(now, list)) ? list : pointer;
        const [opened, stored] = [base, now].map((record) => valueAt(record, at));
        if (equal(opened, stored)) {
            mine.push(pointer);
        } else if (!equal(stored, value)) {
            both.push({ pointer, base: opened, now: stored, mine: value });
        }
        // A primary value goes with its list.
        [pointer, at, `/${SHORT[pointer.slice(1)]}`].forEach((one) => theirs.delete(one));
    }
    return { mine, theirs: [...theirs], both };
}

/** The first of these members that somebody changed after the write that left `after`. */
export const changedSince = (after, now, pointers) => pointers.find((one) =>
    [one, listAt(one) ?? one].some((at) => !equal(valueAt(after, at), valueAt(now, at))));

/** The edits of `now` that put back what these members were. Where no primary value is left, its
 * list comes back: an entry has a type and a name too. */
export const backTo = (before, now, pointers) => pointers.map((pointer) => {
    const list = none(valueAt(now, pointer)) && listAt(pointer);
    const at = list && !none(valueAt(before, list)) ? list : pointer;
    return [at, valueAt(before, at)];
});

/** The edits after the choices: those on what is stored now, without the ones given up. */
export const chosen = (edits, choices) =>
    new Map([...edits].filter(([pointer]) => choices.get(pointer) !== "now"));
