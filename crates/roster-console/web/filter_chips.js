// Between the text of a filter (docs/filter.md) and chips. Pure functions. What chips cannot
// express
// stays text: then parseChips returns null.

/** @typedef {{name: string, op: string, values: (string | number | boolean | null)[]}} Chip */

const TOKEN = /\s*(?:("(?:[^"\\]|\\.)*")|([()[\]])|([^\s()[\]"]+))/y;
const OPS = new Set(["eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le", "pr"]);

/** @param {string} text @returns {string[] | null} */
function tokens(text) {
    const found = [];
    TOKEN.lastIndex = 0;
    while (TOKEN.lastIndex < text.trimEnd().length) {
        const match = TOKEN.exec(text);
        if (!match) {
            return null;
        }
        found.push(match[1] ?? match[2] ?? match[3]);
    }
    return found;
}

/** Read a filter as chips joined by `and`. A chip may be `(a eq 1 or a eq 2)`.
 * @param {string} text @returns {Chip[] | null} */
export function parseChips(text) {
    const words = tokens(text);
    if (!words) {
        return null;
    }
    /** @type {Chip[]} */
    const chips = [];
    let at = 0;
    while (at < words.length) {
        if (chips.length && words[at++].toLowerCase() !== "and") {
            return null;
        }
        const group = words[at] === "(";
        at += group ? 1 : 0;
        const first = test(words, at);
        if (!first) {
            return null;
        }
        at = first.end;
        while (group && words[at]?.toLowerCase() === "or") {
            const other = test(words, at + 1);
            if (!other || other.chip.name !== first.chip.name || other.chip.op !== "eq"
                || first.chip.op !== "eq") {
                return null;
            }
            first.chip.values.push(...other.chip.values);
            at = other.end;
        }
        if (group && words[at++] !== ")") {
            return null;
        }
        chips.push(first.chip);
    }
    return chips;
}

/** One test at a place. @param {string[]} words @param {number} at
 * @returns {{chip: Chip, end: number} | null} */
function test(words, at) {
    const [name, word, value] = words.slice(at, at + 3);
    const op = word?.toLowerCase();
    if (!name || !/^[a-z][\w.-]*$/i.test(name) || /^(not|and|or)$/i.test(name) || !OPS.has(op)) {
        return null;
    }
    if (op === "pr") {
        return { chip: { name, op, values: [] }, end: at + 2 };
    }
    try {
        const known = JSON.parse(value);
        return { chip: { name, op, values: [known] }, end: at + 3 };
    } catch {
        return null;
    }
}

/** @param {Chip} chip */
export function chipText({ name, op, values }) {
    if (op === "pr") {
        return `${name} pr`;
    }
    const tests = values.map((value) => `${name} ${op} ${JSON.stringify(value)}`);
    return tests.length > 1 ? `(${tests.join(" or ")})` : tests[0];
}

/** @param {Chip[]} chips */
export const formatChips = (chips) => chips.map(chipText).join(" and ");

const WORDS = /** @type {Record<string, string>} */ ({
    eq: "is", ne: "is not", co: "contains", sw: "starts with", ew: "ends with", gt: "after",
    ge: "from", lt: "before", le: "up to", pr: "has a value",
});

/** The words of an operator. @param {string} op @param {unknown[]} values */
export const opWords = (op, values) =>
    (op === "eq" && values[0] === null ? "has no value" : WORDS[op] ?? op);

/** A place in bytes of UTF-8 as a place in the text. @param {string} text @param {number} bytes */
export function byteToIndex(text, bytes) {
    let seen = 0;
    let index = 0;
    for (const char of text) {
        if (seen >= bytes) {
            break;
        }
        seen += new TextEncoder().encode(char).length;
        index += char.length;
    }
    return index;
}

/** The word at a place: from where to where the fault is marked. @param {string} text
 * @param {number} from */
export function wordAt(text, from) {
    const rest = text.slice(from);
    const word = rest.match(/^("(?:[^"\\]|\\.)*"?|[^\s()[\]]+|\S)/)?.[0] ?? "";
    return { from, to: from + word.length };
}

/** The name in "did you mean family_name?". @param {string} detail */
export const suggestion = (detail) => detail.match(/did you mean ([\w.]+)\?/)?.[1] ?? "";
