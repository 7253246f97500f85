// What an event says in words, and which events are one line. Pure functions.
import { changedPointers, valueAt } from "../merge.js";
import { count, label, number, shortId, userName, valueText } from "../texts.js";

/** @typedef {{id: string, type: string, subject: string, time: string, actor: string,
 *   requestid?: string, tenant?: string, data: Record<string, any>}} Event */
/** @typedef {{label: string, from: string, to: string}} Change */
/** @typedef {{screen: string, id: string, name: string, gone: boolean}} Subject */
/** @typedef {{subject: Subject | null, verb: string, changes: Change[], more: number}} Sentence */
/** @typedef {{events: Event[], actor: string, kind: string, time: string}} Line */

const MEMBERS = ["user", "group", "webhook", "key", "tenant", "policy", "settings", "schema",
    "log"];

/** The record in an event: after the change. @param {Event | undefined} event
 * @returns {Record<string, any> | undefined} */
export function recordOf(event) {
    const name = MEMBERS.find((member) => event?.type.startsWith(`${member}.`));
    return name && event ? event.data[name] : undefined;
}

/** Whom or what an event is about. @param {Event} event @returns {Subject | null} */
export function subjectOf(event) {
    const [kind, id = ""] = event.subject.split(/\/(.*)/s);
    const record = recordOf(event) ?? {};
    const gone = /\.(deleted|purged)$/.test(event.type);
    if (!["users", "groups", "webhooks", "keys", "tenants"].includes(kind)) {
        return null;
    }
    const name = kind === "users" ? userName(record) : record.display_name ?? record.name ?? "";
    // The page of a user also shows a deleted one.
    return { screen: kind, id, name: name || shortId(id),
        gone: gone && event.type !== "user.deleted" };
}

/** Times and versions of records other than users change with each event.
 * @param {Record<string, any>} before @param {Record<string, any>} after */
const pointers = (before, after) => changedPointers(before, after)
    .filter((pointer, at, all) => !["/revoked_at", "/created_by", "/rotated_at"].includes(pointer)
        // The name of the manager says more than the id.
        && !(pointer === "/manager/id" && all.includes("/manager/display_name")));

/** The members that an event changed, with the values of before if `before` is known.
 * @param {Event} event @param {Record<string, any> | null | undefined} before
 * @returns {Change[]} */
export function changesOf(event, before) {
    const after = recordOf(event);
    if (!after) {
        return [];
    }
    const all = before ? pointers(before, after)
        : (event.data.changed ?? []).filter((/** @type {string} */ name) => !(
            name === "emails" && event.data.changed.includes("email")))
            .map((/** @type {string} */ name) => `/${name}`);
    return all.map((pointer) => {
        const path = pointer.slice(1).split("/");
        const own = !event.type.startsWith("user.") && path[0] === "name";
        return { label: own ? "Name" : path[0] === "manager" ? "Manager" : label(path.join(".")),
            from: before ? valueText(valueAt(before, pointer)) : "",
            to: valueText(valueAt(after, pointer)) };
    });
}

const DONE = /** @type {Record<string, string>} */ ({
    created: "created", deleted: "deleted", restored: "restored", purged: "erased",
    revoked: "revoked", rotated: "got a new secret", replayed: "replayed",
    updated: "changed",
});
const STATUS = /** @type {Record<string, string>} */ ({
    "user suspended": "suspended", "user active": "activated", "webhook paused": "paused",
    "webhook active": "resumed", "webhook parked": "parked: its receiver does not take events",
    "webhook stale": "stale: the events after its position are gone",
        "tenant suspended": "suspended",
    "tenant active": "activated",
});

/** The status alone has words of its own. @param {Event} event
 * @param {Record<string, any> | null | undefined} before */
function statusVerb(event, before) {
    const changed = before ? pointers(before, recordOf(event) ?? {})
        : (event.data.changed ?? []).map((/** @type {string} */ name) => `/${name}`);
    const kind = event.type.split(".")[0];
    return changed.length === 1 && changed[0] === "/status"
        ? STATUS[`${kind} ${recordOf(event)?.status}`] ?? "" : "";
}

/** "3 members joined, 1 left". @param {Event} event */
export function membersText({ data }) {
    const [joined, left] = [data.added?.length ?? 0, data.removed?.length ?? 0];
    return [joined ? `${count(joined, "member")} joined` : "",
        left ? (joined ? `${number(left)} left` : `${count(left, "member")} left`) : ""]
        .filter(Boolean).join(", ");
}

/** An event in words. `before` is the record before it, if it is known.
 * @param {Event} event @param {Record<string, any> | null} [before] @param {number} [most]
 * @returns {Sentence} */
export function sentenceOf(event, before, most = 3) {
    const [kind, what] = event.type.split(".");
    const subject = subjectOf(event);
    const plain = (/** @type {string} */ verb) => ({ subject, verb, changes: [], more: 0 });
    if (kind === "log") {
        return plain("The change log goes on under another identity, after a restore or a "
            + "failover");
    }
    if (kind === "schema") {
        const names = (event.data.schema?.attributes ?? []).map((/** @type {any} */ one) =>
            one.name);
        return plain(names.length ? `Schema of users: ${names.join(", ")}`
            : "Schema of users: empty");
    }
    if (kind === "policy") {
        return plain(`Policy: ${Object.entries(event.data.policy ?? {}).map(([name, value]) =>
            `${label(name).toLowerCase()} ${valueText(value)}`).join(", ")}`);
    }
    if (kind === "settings") {
        return plain(`Settings since the last start: ${valueText(event.data.settings)}`);
    }
    if (what !== "updated") {
        const roles = kind === "key" && what === "created" ? recordOf(event)?.scopes : null;
        return plain((DONE[what] ?? what) + (roles?.length ? `, with ${roles.join(", ")}` : ""));
    }
    const status = statusVerb(event, before);
    if (status) {
        return plain(status);
    }
    const changes = changesOf(event, before);
    const members = membersText(event);
    return { subject, verb: members || (changes.length ? "" : DONE.updated),
        changes: changes.slice(0, most), more: Math.max(0, changes.length - most) };
}

/** Events with the same kind are alike enough for one line. @param {Event} event */
export function kindOf(event) {
    const changed = (event.data.changed ?? []).join(",");
    const state = changed === "status" ? recordOf(event)?.status : "";
    const members = `${event.data.added ? "+" : ""}${event.data.removed ? "-" : ""}`;
    return [event.type, members, changed && event.type.endsWith("updated") ? changed : "", state
        ?? ""]
        .join(" ");
}

const MINUTE = 60000;

/** The lines of a list that is newest first: three or more events of one actor and kind, each less
 * than a minute from the next one, are one line. @param {Event[]} events @returns {Line[]} */
export function fold(events) {
    const runs = /** @type {Line[]} */ ([]);
    for (const event of events) {
        const kind = kindOf(event);
        const run = runs.at(-1);
        const last = run?.events.at(-1);
        if (run && last && run.actor === event.actor && run.kind === kind
            && last.tenant === event.tenant
            && Date.parse(last.time) - Date.parse(event.time) <= MINUTE) {
            run.events.push(event);
        } else {
            runs.push({ events: [event], actor: event.actor, kind, time: event.time });
        }
    }
    return runs.flatMap((run) => (run.events.length > 2 ? [run]
        : run.events.map((event) => ({ ...run, events: [event], time: event.time }))));
}

const PLURALS = /** @type {Record<string, [string, string]>} */ ({
    user: ["user", "users"], group: ["group", "groups"], key: ["key", "keys"],
    webhook: ["webhook", "webhooks"], tenant: ["tenant", "tenants"], schema: ["schema", "schemas"],
    policy: ["policy", "policies"], settings: ["setting", "settings"], log: ["log", "logs"],
});

/** "1,204 users suspended", "12 users: department changed". `open` says that older events, which
 * are not loaded, may belong to it. @param {Line} line @param {boolean} [open] */
export function foldText({ events, kind }, open = false) {
    const [first] = events;
    const [name, what] = first.type.split(".");
    const some = new Set(events.map((event) => event.subject)).size;
    const [one, many] = PLURALS[name] ?? ["record", "records"];
    const who = `${open ? "At least " : ""}${count(some, one, many)}`;
    if (what !== "updated") {
        return `${who} ${DONE[what] ?? what}`;
    }
    const status = kind.endsWith(" ") ? "" : STATUS[`${name} ${recordOf(first)?.status}`];
    if (status) {
        return `${who} ${status}`;
    }
    const joined = events.reduce((sum, { data }) => sum + (data.added?.length ?? 0), 0);
    const left = events.reduce((sum, { data }) => sum + (data.removed?.length ?? 0), 0);
    if (joined || left) {
        return `${who}: ${membersText({ ...first,
            data: { added: Array(joined), removed: Array(left) } })}`;
    }
    const changed = first.data.changed ?? [];
    const names = changed.slice(0, 3).map((/** @type {string} */ one) => label(one).toLowerCase());
    return `${who}: ${names.join(", ") || "record"}${changed.length > 3
        ? ` and ${changed.length - 3} more` : ""} changed`;
}

/** The record before each event that another event of the list tells. Key: id of the event.
 * A list of some types or actors has gaps, so the versions must follow each other.
 * @param {Event[]} events newest first @returns {Map<string, Record<string, any>>} */
export function knownBefore(events) {
    const before = new Map();
    const newer = new Map();
    for (const event of events) {
        const later = newer.get(event.subject);
        const record = recordOf(event);
        if (later && record && recordOf(later)?.version === record.version + 1) {
            before.set(later.id, record);
        }
        newer.set(event.subject, event);
    }
    return before;
}

/** The choices of types. @type {[value: string, text: string][]} */
export const TYPES = [
    ["", "Everything"], ["user.*", "Users"], ["user.created", "Users created"],
    ["user.updated", "Users changed"], ["user.deleted", "Users deleted"],
    ["user.restored", "Users restored"], ["user.purged", "Users erased"], ["group.*", "Groups"],
    ["group.updated", "Groups changed, members"], ["schema.*", "Schema of users"],
    ["log.*", "Other logs"],
];
/** Those that need audit:read. @type {[value: string, text: string][]} */
export const AUDIT_TYPES = [["key.*", "Keys"], ["webhook.*", "Webhooks"], ["policy.*,settings.*",
    "Policy and settings"]];
