// What events say in words, which are one line, and the frames of their stream. Pure functions.
// Lists of events are newest first.
import { changedPointers, valueAt } from "../merge.js";
import { count, label, number, pointerLabel, shortId, textsOf, userName, valueText }
    from "../texts.js";

const SCREENS = ["users", "groups", "webhooks", "keys", "tenants"];
const WORDS = { purged: "erased", rotated: "got a new secret", active: "activated" };
/** Events that are not about one record. */
const WHOLE = {
    log: () => "The change log goes on under another identity",
    schema: ({ attributes = [] }) =>
        `Schema of users: ${attributes.map(({ name }) => name).join(", ") || "empty"}`,
    policy: (policy) => `Policy: ${Object.entries(policy).map(([name, value]) =>
        `${label(name).toLowerCase()} ${valueText(value)}`).join(", ")}`,
    settings: (settings) => `Settings: ${valueText(settings)}` };

const kindOf = ({ type }) => type.split(".")[0];

export const recordOf = (event) => event?.data[kindOf(event)];

export function subjectOf(event) {
    const [screen, id = ""] = event.subject.split(/\/(.*)/s);
    const name = userName({ ...recordOf(event), id: "" }) || shortId(id);
    // The page of a user also shows a deleted one.
    const gone = /^(?!user.d).*(deleted|purged)$/.test(event.type);
    return SCREENS.includes(screen) ? { screen, id, name, gone } : null;
}

function pointersOf(event, before) {
    const all = before ? changedPointers(before, recordOf(event) ?? {})
        : event.data.changed?.map((name) => `/${name}`) ?? [];
    // The name of the manager says more than the id, and the address more than a list with it.
    return all.filter((one) => !(one === "/manager/id" && all.includes("/manager/display_name"))
        && !(one === "/emails" && !before && all.includes("/email")));
}

function verbOf(event, before) {
    const [, what] = event.type.split(".");
    const word = what !== "updated" ? what
        : pointersOf(event, before).join() === "/status" && recordOf(event)?.status;
    return WORDS[word] ?? word;
}

function membersText(events) {
    const [joined, left] = ["added", "removed"].map((name) =>
        events.flatMap(({ data }) => data[name] ?? []).length);
    return [joined && `${count(joined, "member")} joined`,
        left && `${joined ? number(left) : count(left, "member")} left`].filter(Boolean).join(", ");
}

/** An event in words; with the record before it, also the old values. */
export function sentenceOf(event, before) {
    const kind = kindOf(event);
    const record = recordOf(event);
    const scopes = event.type === "key.created" ? `, with ${record.scopes.join(", ")}` : "";
    const verb = WHOLE[kind]?.(record ?? {}) ?? verbOf(event, before);
    const changes = (verb || !record ? [] : pointersOf(event, before)).map((pointer) => {
        const [from, to] = textsOf([before && valueAt(before, pointer), valueAt(record, pointer)]);
        return { label: kind !== "user" && /^.(display_)?name$/.test(pointer) ? "Name"
            : pointerLabel(pointer), from, to };
    });
    return { subject: subjectOf(event), changes, verb: verb ? `${verb}${scopes}`
        : membersText([event]) || (changes.length ? "" : "changed") };
}

/** Three or more events of one kind, each less than a minute from the next one, are one line. */
export function fold(events) {
    const runs = [];
    for (const event of events) {
        const { type, actor, tenant, time, data } = event;
        const kind = [type, actor, tenant, !data.added, !data.removed,
            verbOf(event) || data.changed].join(" ");
        const run = runs.at(-1);
        if (run?.kind === kind && Date.parse(run.events.at(-1).time) - Date.parse(time) <= 60000) {
            run.events.push(event);
        } else {
            runs.push({ kind, events: [event] });
        }
    }
    return runs.flatMap((run) => (run.events.length > 2 ? run
        : run.events.map((event) => ({ events: [event] }))));
}

/** `open` says that older events, which are not loaded, may belong to it. */
export function foldText({ events }, open = false) {
    const [first] = events;
    const size = new Set(events.map(({ subject }) => subject)).size;
    const who = (open ? "At least " : "") + count(size, kindOf(first));
    const names = first.data.changed?.map((name) => label(name).toLowerCase()).join(", ");
    return verbOf(first) ? `${who} ${verbOf(first)}`
        : `${who}: ${membersText(events) || `${names || "record"} changed`}`;
}

/** The records before events, by the ids of the events, as far as others of the list tell them. A
 * list with a filter has gaps, so the versions must follow each other. */
export function knownBefore(events) {
    const [before, newer] = [new Map(), new Map()];
    for (const event of events) {
        const later = newer.get(event.subject);
        if (recordOf(later)?.version - 1 === recordOf(event)?.version) {
            before.set(later.id, recordOf(event));
        }
        newer.set(event.subject, event);
    }
    return before;
}

/** A reader of lines; `take(line)` returns a frame at its blank line, else null. */
export function frameReader() {
    let frame = null;
    return { take(line) {
        const [, name, value] = line.match(/^([^:]*):? ?(.*?)\r?$/s);
        if (name) {
            frame ??= { id: "", event: "message", data: "" };
            frame[name] = name === "retry" ? Number(value)
                : name === "data" && frame.data ? `${frame.data}\n${value}` : value;
        }
        const done = name || value ? null : frame;
        frame = done ? null : frame;
        return done;
    } };
}

/** How long to wait before an attempt, in ms: longer each time, and not for all pages at once. */
export const pause = (attempt, first, random = Math.random) =>
    Math.min(30000, first * 2 ** Math.min(attempt, 5)) * (0.5 + random() / 2);

export const TYPES = [["", "Everything"], ["user.*", "Users"], ["user.created", "Users created"],
    ["user.updated", "Users changed"], ["user.deleted", "Users deleted"],
    ["user.restored", "Users restored"], ["user.purged", "Users erased"], ["group.*", "Groups"],
    ["schema.*", "Schema of users"], ["key.*", "Keys", "audit:read"],
    ["webhook.*", "Webhooks", "audit:read"],
    ["policy.*,settings.*", "Policy and settings", "audit:read"]];
