// Words for webhooks: states, positions, types and deliveries. Pure functions.
import { count, number } from "../texts.js";

/** The types of docs/events.md; those of audit events need a key with audit:read. */
export const TYPES = { user: "created updated deleted restored purged",
    group: "created updated deleted", schema: "updated", log: "forked" };
export const AUDIT = { key: "created rotated revoked",
    webhook: "created updated rotated replayed deleted",
    tenant: "created updated deleted restored purged", policy: "changed", settings: "changed" };

/** Tick or untick a type. The whole subject, "user.*", stands for its types. */
export function withType(types, type, on) {
    const rest = types.filter((one) => one !== type
        && !(type.endsWith("*") && one.startsWith(type.slice(0, -1))));
    return on ? [...rest, type].sort() : rest;
}

export const hostOf = (url) => (URL.canParse(url) ? new URL(url).host : url);

/** The colour and the word of a status; an active webhook may fail.
 * @returns {["ok" | "warn" | "bad" | "plain", string]} */
export const stateOf = ({ status, failing_since: fails }) => (status === "active"
    ? fails ? ["warn", "Failing"] : ["ok", "Active"]
    : [status === "paused" ? "plain" : "bad", status[0].toUpperCase() + status.slice(1)]);

export const lagText = ({ lag }) => (lag ? `${number(lag)} behind` : "Up to date");

/** The parts of a position or of the id of a delivery. */
export function parts(text) {
    const found = text?.trim().match(/^([0-9a-f]+)-(\d+)(?:-(\d+))?$/i);
    return found ? { log: found[1].toLowerCase(), first: Number(found[2]),
        last: Number(found[3] ?? found[2]) } : null;
}

/** The position before an event or a delivery: after it, this is the next one. */
export function positionBefore(id) {
    const found = parts(id);
    return found?.first > 0 ? `${found.log}-${found.first - 1}` : "";
}

/** "3–22", the numbers in the log. */
export function rangeText({ id }) {
    const found = parts(id);
    return found ? [...new Set([found.first, found.last])].map(number).join("–") : id;
}

/** What a replay after a position means for a webhook. */
export function replayText({ position }, after) {
    const [now, goal] = [position, after].map(parts);
    const apart = now?.first - goal?.first;
    return !now || !goal ? ""
        : now.log !== goal.log ? "This is a position of another log."
            : apart > 0 ? `Repeats up to ${count(apart, "event")}.`
                : apart < 0 ? `Skips up to ${count(-apart, "event")}: the receiver never gets them.`
                    : "Nothing is repeated or skipped.";
}

export const isReceived = ({ status }) => status >= 200 && status < 300;

export const resultText = (one) => (one.status === undefined ? one.error ?? "no response"
    : `${isReceived(one) ? "Received," : "Status"} ${one.status}`);

/** What to do about a failure: the first that fits. @type {[RegExp, string][]} */
const HELP = [
    [/TLS/, "The certificate must be valid for the name, and trusted by the system."],
    [/address/, "Roster calls public addresses, and those of the setting webhook_networks."],
    [/^3/, "Roster does not follow redirects."],
    [/^40[0-3]/, "Does the receiver verify with the secret of this webhook?"],
    [/^40[45]/, "Is the path of the URL right?"],
    [/^410/, "The receiver wants no more events."],
    [/^4/, "Only 200 to 299 counts as received."],
    [/^5/, "The receiver has a fault: see its log."],
    [/./, "Can Roster reach the receiver?"]];
export const helpText = ({ status, error = "none" }) =>
    HELP.find(([fits]) => fits.test(status ?? error))[1];
