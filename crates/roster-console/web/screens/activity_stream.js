// The stream of events: frames of text/event-stream (HTML, section 9.2.6). Pure functions.

/** @typedef {{id: string, event: string, data: string, retry?: number}} Frame */

/** A reader of lines; `take(line)` returns a frame at its blank line, else null. */
export function frameReader() {
    let frame = /** @type {Frame} */ ({ id: "", event: "message", data: "" });
    let lines = /** @type {string[]} */ ([]);
    let some = false;
    return {
        /** @param {string} text @returns {Frame | null} */
        take(text) {
            const line = text.replace(/\r$/, "");
            if (!line) {
                const done = some ? { ...frame, data: lines.join("\n") } : null;
                frame = { id: "", event: "message", data: "" };
                lines = [];
                some = false;
                return done;
            }
            const [, name, value] = line.match(/^([^:]*):? ?(.*)$/) ?? [];
            some ||= Boolean(name);
            if (name === "data") {
                lines.push(value);
            } else if (name === "id" || name === "event") {
                frame[name] = value;
            } else if (name === "retry" && /^\d+$/.test(value)) {
                frame.retry = Number(value);
            }
            return null;
        },
    };
}

/** How long to wait before attempt n, in ms: longer each time, up to half a minute, and not for all
 * pages at once. @param {number} attempt @param {number} first @param {() => number} [random] */
export const pause = (attempt, first, random = Math.random) =>
    Math.min(30000, first * 2 ** Math.min(attempt, 5)) * (0.5 + random() / 2);
