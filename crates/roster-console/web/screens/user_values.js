// Between the values of a user and the texts of their fields. Pure functions.
import { equal } from "../merge.js";
import { parseJson } from "../texts.js";

const KINDS = { integer: "number", number: "number", boolean: "boolean" };

/** The value of a JSON text; undefined for another text, and for a number beyond all numbers. */
export function jsonOf(text) {
    try {
        const value = parseJson(text);
        return typeof value === "number" && !Number.isFinite(value) ? undefined : value;
    } catch {
        return undefined;
    }
}
export const asJson = (value, space = 0) => (typeof value === "string" ? value
    : JSON.stringify(value ?? undefined, null, space) ?? "");

/** The value of a text: of the declared type, else of the kind of the one that is `stored`. What
 * does not fit stays text, and is refused. A new one is text, unless JSON writes it like this. */
export function typed(text, type = "", stored = undefined) {
    const value = jsonOf(text) ?? text;
    const kind = typeof value === "bigint" ? "number" : typeof value;
    const fits = type ? kind === KINDS[type] : stored !== undefined ? typeof stored !== "string"
        : kind !== "string" && (kind !== "number" || String(value) === text);
    return fits ? value : text;
}

/** The values of a text: a JSON list, or one in each line. */
export function listOf(text, type) {
    const list = jsonOf(text);
    return Array.isArray(list) ? list : text.split("\n").map((line) => line.trim()).filter(Boolean)
        .map((line) => typed(line, type));
}
/** JSON, if lines would be read as other values. */
export function listText(list, type) {
    const lines = [list ?? []].flat().map((value) => asJson(value)).join("\n");
    return equal(listOf(lines, type), list) ? lines : asJson(list, 2);
}

/** The time of the text of a field; the text itself, if it is none of the years 1970 to 9999. */
export function timeOf(text) {
    const time = new Date(text);
    const iso = Number.isNaN(time.getTime()) ? "" : time.toISOString();
    // The others begin with +, - or 0.
    return iso >= "1970" ? iso : text;
}
/** What a field shows for it. */
export function timeText(time) {
    const then = new Date(isTime(time) ? time : NaN);
    return Number.isNaN(then.getTime()) ? time ?? ""
        : new Date(then.getTime() - then.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}
export const isTime = (time) => /Z$/.test(time);
