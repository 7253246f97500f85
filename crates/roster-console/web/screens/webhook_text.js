// Words for webhooks: states, positions, types and deliveries. Pure functions.
import { count, number } from "../texts.js";

/** @typedef {Record<string, any>} Webhook */
/** @typedef {{id: string, at: string, attempt: number, events: number, duration_ms: number,
 *   status?: number, error?: string}} Delivery */
/** @typedef {{name: string, title: string, types: string[], hint?: string, audit?: boolean,
 *   operator?: boolean}} Subject */

/** All types of docs/events.md by their subject. @type {Subject[]} */
export const SUBJECTS = [
    { name: "user", title: "Users", types: ["created", "updated", "deleted", "restored",
        "purged"] },
    { name: "group", title: "Groups", types: ["created", "updated", "deleted"],
        hint: "Also who joined and left." },
    { name: "schema", title: "Schema of users", types: ["updated"] },
    { name: "log", title: "Change log", types: ["forked"],
        hint: "After a restore or a failover the log goes on under another identity." },
    { name: "key", title: "Keys", types: ["created", "rotated", "revoked"], audit: true },
    { name: "webhook", title: "Webhooks", audit: true,
        types: ["created", "updated", "rotated", "replayed", "deleted"] },
    { name: "tenant", title: "Tenants", audit: true, operator: true,
        types: ["created", "updated", "deleted", "restored", "purged"] },
    { name: "policy", title: "Policy", types: ["changed"], audit: true },
    { name: "settings", title: "Settings", types: ["changed"], audit: true },
];

/** What a new webhook sends if nobody chooses: all but audit events. */
export const USUAL_TYPES = ["user.*", "group.*", "schema.*", "log.*"];

/** Tick or untick a type. The whole subject stands for its types.
 * @param {string[]} types @param {string} type @param {boolean} on @returns {string[]} */
export function withType(types, type, on) {
    const subject = type.split(".")[0];
    const rest = types.filter((one) => one !== type
        && !(type.endsWith(".*") && one.startsWith(`${subject}.`)));
    return on ? [...rest, type] : rest;
}

/** Whether the types have all events of a subject. @param {string[]} types @param {Subject}
 * subject */
export const hasAll = (types, { name, types: all }) => types.includes(`${name}.*`)
    || (all.length === 1 && types.includes(`${name}.${all[0]}`));

/** "Users; groups: created". @param {string[]} types */
export function typesText(types) {
    const parts = SUBJECTS.flatMap((subject) => {
        const own = subject.types.filter((type) => types.includes(`${subject.name}.${type}`));
        return hasAll(types, subject) ? [subject.title]
            : own.length ? [`${subject.title}: ${own.join(", ")}`] : [];
    });
    const text = parts.join("; ");
    return text.charAt(0) + text.slice(1).replace(/; [A-Z]/g, (mark) => mark.toLowerCase());
}

/** The host of a URL, with its port. @param {string} url */
export function hostOf(url) {
    try {
        return new URL(url).host;
    } catch {
        return url;
    }
}

/** Why the service would reject a URL, as far as the page can know. @param {string} url */
export function urlFault(url) {
    const text = url.trim();
    if (!text) {
        return "Write the URL that Roster calls.";
    }
    if (!URL.canParse(text) || !/^https?:\/\//i.test(text)) {
        return "Write an absolute URL, such as https://hooks.example.com/roster.";
    }
    const parts = new URL(text);
    if (parts.username || parts.password) {
        return "Leave out user and password: the signature shows who sends.";
    }
    return text.includes("#") ? "Leave out the fragment after #: it is never sent." : "";
}

/** @type {Record<string, [kind: "ok" | "warn" | "bad" | "plain", word: string]>} */
const STATES = {
    active: ["ok", "Active"], paused: ["plain", "Paused"], parked: ["bad", "Parked"],
    stale: ["bad", "Stale"],
};

/** The colour and the word of a status; an active webhook may fail.
 * @param {Webhook} webhook @returns {["ok" | "warn" | "bad" | "plain", string]} */
export const stateOf = (webhook) => (webhook.status === "active" && webhook.failing_since
    ? ["warn", "Failing"] : STATES[webhook.status] ?? ["plain", webhook.status]);

/** "Up to date" or "12 behind". @param {Webhook} webhook */
export const lagText = ({ lag }) => (lag ? `${number(lag)} behind` : "Up to date");

/** The two parts of a position, or null. @param {string | undefined} text */
export function parts(text) {
    const found = text?.trim().match(/^([0-9a-f]+)-(\d+)(?:-(\d+))?$/i);
    return found ? { log: found[1].toLowerCase(), first: Number(found[2]),
        last: Number(found[3] ?? found[2]) } : null;
}

/** The position before an event or a delivery: after it, this is the next one. @param {string} id
 * */
export function positionBefore(id) {
    const found = parts(id);
    return found && found.first > 0 ? `${found.log}-${found.first - 1}` : "";
}

/** "3–22", the numbers in the log. @param {Delivery} delivery */
export function rangeText({ id }) {
    const found = parts(id);
    if (!found) {
        return id;
    }
    return found.first === found.last ? number(found.first)
        : `${number(found.first)}–${number(found.last)}`;
}

/** What a replay after a position means for a webhook. `head` is the end of the log.
 * @param {Webhook} webhook @param {string} after @param {string} [head] */
export function replayText(webhook, after, head = "") {
    const [now, goal, end] = [parts(webhook.position), parts(after), parts(head)];
    if (!now || !goal) {
        return "";
    }
    if (now.log !== goal.log) {
        return "The position is of another log, so the page cannot say how many events come again.";
    }
    if (end && end.log === goal.log && goal.first > end.first) {
        return `The log ends at ${number(end.first)}: it does not have this position yet.`;
    }
    const apart = now.first - goal.first;
    if (apart > 0) {
        return `Repeats up to ${count(apart,
            "event")}: those of the log that have the types of this `
            + "webhook. Its receiver must ignore the ones that it knows.";
    }
    return apart === 0 ? "Nothing is repeated or skipped. A pause after failures ends."
        : `Skips up to ${count(-apart, "event")}: the receiver never gets them.`;
}

/** Whether a status is a success. @param {Delivery} delivery */
export const isReceived = ({ status }) => status !== undefined && status >= 200 && status < 300;

/** What became of a request. @param {Delivery} delivery */
export function resultText(delivery) {
    if (delivery.status === undefined) {
        return delivery.error ?? "no response";
    }
    return isReceived(delivery) ? `Received, ${delivery.status}` : `Status ${delivery.status}`;
}

/** @type {Record<number, string>} */
const HELP = {
    301: "Roster does not follow redirects: write the URL of the goal.",
    302: "Roster does not follow redirects: write the URL of the goal.",
    307: "Roster does not follow redirects: write the URL of the goal.",
    308: "Roster does not follow redirects: write the URL of the goal.",
    400: "Look whether the receiver verifies with the secret of this webhook.",
    401: "Look whether the receiver verifies with the secret of this webhook.",
    403: "Look whether the receiver verifies with the secret of this webhook.",
    404: "Look whether the path of the URL is right.",
    405: "The path does not take POST: look whether it is right.",
    410: "The receiver says that it wants no more events.",
};

/** What to do about a failure. @param {Delivery} delivery */
export function helpText({ status, error = "" }) {
    if (status !== undefined) {
        return HELP[status] ?? (status >= 500
            ? "The receiver has a fault: look at its log."
            : "Only an answer of 200 to 299 counts as received.");
    }
    if (/TLS/.test(error)) {
        return "The certificate must be valid for the name, by an authority that the system "
            + "trusts.";
    }
    return /address/.test(error)
        ? "Roster calls public addresses, and those of the setting webhook_networks."
        : "Look whether the receiver runs and can be reached from the machine of Roster.";
}

/** Why a webhook is parked, from its newest failure. @param {Delivery[]} deliveries */
export function parkedText(deliveries) {
    const last = deliveries.find((delivery) => !isReceived(delivery));
    if (last?.status === 410) {
        return "The receiver answered 410, which says that it wants no more events.";
    }
    return last ? `Its requests failed for 5 days. The last one: ${resultText(last)}.`
        : "The receiver answered 410, or its requests failed for 5 days.";
}
