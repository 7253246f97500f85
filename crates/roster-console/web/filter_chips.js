// Between the text of a filter (docs/filter.md) and chips: {name, op, values}. Pure functions.

const WORDS = { eq: "is", ne: "is not", co: "contains", sw: "starts with", ew: "ends with",
    gt: ">", ge: "≥", lt: "<", le: "≤", pr: "has a value" };

/** A value from JSON; a number whose digits would change keeps them, as { value: TEXT }. */
export function exact(text) {
    const value = JSON.parse(text);
    return typeof value === "number" && String(value) !== text ? { value: text } : value;
}

/** Read a filter as chips joined by `and`; a chip may be `(a eq 1 or a eq 2)`. Null for what chips
 * cannot express. */
export function parseChips(text) {
    const words = text.match(/"(?:[^"\\]|\\.)*"|[()[\]"]|[^\s()[\]"]+/g) ?? [];
    const chips = [];
    const is = (word) => words[0]?.toLowerCase() === word && words.shift();
    const expect = (right) => {
        if (!right) {
            throw new SyntaxError(text);
        }
    };
    const test = () => {
        const [name, op] = [words.shift(), words.shift()?.toLowerCase()];
        expect(op in WORDS && !/^(not|and|or)$/i.test(name));
        return { name, op, values: op === "pr" ? [] : [exact(words.shift())] };
    };
    try {
        while (words.length) {
            expect(!chips.length || is("and"));
            const group = is("(");
            const chip = test();
            while (group && !is(")")) {
                expect(is("or"));
                const other = test();
                expect(other.name === chip.name && other.op === "eq" && chip.op === "eq");
                chip.values.push(...other.values);
                expect(!chip.values.includes(null));
            }
            chips.push(chip);
        }
        return chips;
    } catch {
        return null;
    }
}

export const formatChips = (chips) => chips.map(({ name, op, values }) => {
    const tests = values.map((value) => `${name} ${op} ${value?.value ?? JSON.stringify(value)}`);
    return tests.length > 1 ? `(${tests.join(" or ")})` : tests[0] ?? `${name} pr`;
}).join(" and ");

export const opWords = (op, value) => (value !== null ? WORDS[op]
    : op === "ne" ? "has a value" : "has no value");

/** A place in bytes of UTF-8 as a place in the text. */
export const byteToIndex = (text, bytes) =>
    new TextDecoder().decode(new TextEncoder().encode(text).slice(0, bytes)).length;

export const suggestion = (detail) => detail.match(/did you mean ([\w.]+)\?/)?.[1];
