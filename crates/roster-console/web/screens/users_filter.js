// The filter of the list of users: chips, a popover that makes one, and the filter as text.
import { html, render } from "../vendor/lit-html/lit-html.js";
import { get } from "../api.js";
import { byteToIndex, formatChips, opWords, parseChips, suggestion, wordAt } from
    "../filter_chips.js";
import { go, loadStyles, refresh } from "../page.js";
import { date, label } from "../texts.js";
import { field, select } from "../ui/fields.js";
import { icon } from "../ui/icons.js";
import { place } from "../ui/menu.js";

/** @typedef {import("./users_list.js").List} List */

/** What can be filtered and how. @type {[string, string][]} */
const NAMES = [["status", "status"], ["department", "text"], ["title", "text"], ["email", "text"],
    ["name", "text"], ["family_name", "text"], ["username", "text"], ["groups.display", "text"],
    ["organization", "text"], ["external_id", "text"], ["locale", "text"], ["zoneinfo", "text"],
    ["email_verified", "boolean"], ["updated_at", "time"], ["created_at", "time"],
    ["expires_at", "time"]];
const OPS = /** @type {Record<string, string[]>} */ ({
    text: ["eq", "ne", "sw", "co", "pr", "none"], status: ["eq", "ne"], boolean: ["eq"],
    time: ["gt", "lt", "pr", "none"], number: ["eq", "gt", "lt", "pr", "none"],
});

const nameText = (/** @type {string} */ name) => (name === "groups.display" ? "Group" :
    label(name));

/** @param {unknown} value */
const shown = (value) => (/^\d{4}-\d\d-\d\dT/.test(String(value)) ? date(String(value))
    : value === true ? "yes" : value === false ? "no" : String(value));

/** @param {() => List} getList @param {(next: {f: string}) => unknown} apply */
export function usersFilter(getList, apply) {
    loadStyles("screens.css").then(refresh);
    let names = NAMES;
    let types = new Map(NAMES);
    const state = { text: false, draft: { name: "department", op: "eq", value: "" } };
    get("/schema").then(({ data }) => {
        names = [...NAMES, ...(data.attributes ?? []).map((/** @type {any} */ one) =>
            [`attributes.${one.name}`, { boolean: "boolean", integer: "number", number: "number",
                date_time: "time" }[/** @type {string} */ (one.type)] ?? "text"])];
        types = new Map(names);
    }).catch(() => undefined);

    const step = (/** @type {string} */ f) => {
        const { q, sort } = getList();
        go("users", { q, sort, f });
    };

    function add() {
        const { name, op, value } = state.draft;
        const type = types.get(name);
        const known = type === "boolean" ? value !== "no" : type === "number" ? Number(value)
            : type === "time" ? new Date(value).toISOString() : value;
        const chip = op === "none" ? { name, op: "eq", values: [null] }
            : { name, op, values: op === "pr" ? [] : [known] };
        const before = getList().f;
        const chips = parseChips(before);
        const same = chips?.find((one) => one.name === name && one.op === "eq" && op === "eq"
            && one.values[0] !== null);
        if (same) {
            same.values.push(known);
        }
        step(chips ? formatChips(same ? chips : [...chips, chip])
            : `(${before}) and ${formatChips([chip])}`);
    }

    /** The popover that makes a chip. */
    async function open() {
        await loadStyles("screens.css");
        const button = /** @type {HTMLElement} */ (document.getElementById("filter-button"));
        const box = document.createElement("div");
        box.className = "pop";
        box.popover = "auto";
        box.setAttribute("role", "dialog");
        box.setAttribute("aria-label", "Add a filter");
        document.body.append(box);
        const draw = () => render(form(draw, box), box);
        draw();
        box.addEventListener("toggle", (event) => {
            if (/** @type {ToggleEvent} */ (event).newState === "closed") {
                box.remove();
            }
        });
        box.showPopover();
        place(box, button);
        box.querySelector("select")?.focus();
    }

    /** @param {() => void} draw @param {HTMLElement} box */
    function form(draw, box) {
        const { draft } = state;
        const type = types.get(draft.name) ?? "text";
        const set = (/** @type {Partial<typeof draft>} */ next) => {
            Object.assign(draft, next);
            draw();
        };
        return html`<form @submit=${(/** @type {Event} */ event) => {
            event.preventDefault();
            box.hidePopover();
            add();
            state.draft = { ...draft, value: "" };
        }}>
            ${select({ id: "filter-name", label: "Field", value: draft.name,
                options: names.map(([name]) => [name, nameText(name)]), onChange: (name) => {
                    const next = types.get(name) ?? "text";
                    set({ name, op: OPS[next][0], value: next === "status" ? "active"
                        : next === "boolean" ? "yes" : "" });
                } })}
            ${select({ id: "filter-op", label: "Test", value: draft.op,
                options: OPS[type].map((op) => [op, op === "none" ? "has no value"
                    : type === "number" && op === "gt" ? "above" : type === "number" && op === "lt"
                        ? "below" : opWords(op, [""])]),
                onChange: (op) => set({ op }) })}
            ${["pr", "none"].includes(draft.op) ? "" : valueField(type, draft.value, set)}
            <div class="row"><div class="sp"><button type="button" class="btn" @click=${() => {
                box.hidePopover();
                text();
            }}>As text</button><button class="btn primary" type="submit">Add</button></div></div>
        </form>`;
    }

    /** @param {string} type @param {string} value @param {(next: {value: string}) => void} set */
    function valueField(type, value, set) {
        const one = { id: "filter-value", label: "Value", value };
        if (type === "status" || type === "boolean") {
            return select({ ...one, options: type === "status"
                ? [["active", "Active"], ["suspended", "Suspended"]] : [["yes", "Yes"], ["no",
                    "No"]],
            onChange: (next) => set({ value: next }) });
        }
        return field({ ...one, required: true, onInput: (next) => set({ value: next }),
            type: type === "time" ? "date" : type === "number" ? "number" : "text" });
    }

    /** Show or hide the filter as text. */
    async function text() {
        await loadStyles("screens.css");
        state.text = !state.text;
        refresh();
        await Promise.resolve();
        document.getElementById("filter-text")?.focus();
    }

    function chips() {
        const { f } = getList();
        const all = f ? parseChips(f) : [];
        if (!all) {
            return html`<div class="chip"><span>Filter</span><button class="v" @click=${text}
                ><span class="cut">${f}</span></button><button aria-label="Remove the filter"
                @click=${() => step("")}>${icon("x")}</button></div>`;
        }
        return all.map((chip, at) => html`<div class="chip"><span>${nameText(chip.name)}</span
            ><span class="op">${opWords(chip.op, chip.values)}</span>${chip.values.length
            && chip.values[0] !== null ? html`<span class="v"><bdi class="cut">${
                chip.values.map(shown).join(", ")}</bdi></span>` : ""}<button
            aria-label="Remove the filter ${nameText(chip.name)}"
            @click=${() => step(formatChips(all.filter((_, i) => i !== at)))}>${icon("x")}</button>
            </div>`);
    }

    const fault = () => {
        const { error } = getList();
        return error?.code === "invalid-filter" ? error.errors[0] ?? null : null;
    };

    function editor() {
        const wrong = fault();
        if (!state.text && !wrong) {
            return "";
        }
        const { f } = getList();
        const at = wrong?.position === undefined ? null : wordAt(f, byteToIndex(f, wrong.position));
        const better = wrong ? suggestion(wrong.detail) : "";
        const lines = Math.max(1, f.split("\n").length, Math.ceil(f.length / 110));
        return html`<div class="rawbox"><div class="raw ${wrong ? "er" : ""}">
            <div class="lay">${at ? html`<div class="ed" aria-hidden="true">${f.slice(0,
                at.from)}<mark>${
                f.slice(at.from, at.to) || " "}</mark>${f.slice(at.to)}</div>` : ""}
            <textarea id="filter-text" rows=${lines} aria-label="Filter as text" spellcheck="false"
                aria-invalid=${wrong ? "true" : "false"} aria-describedby="filter-say" .value=${f}
                placeholder='status eq "active" and family_name sw "Love"'
                @input=${typed} @keydown=${(/** @type {KeyboardEvent} */ event) => {
                    if (event.key === "Enter") {
                        event.preventDefault();
                        apply({ f: getList().f });
                    }
                }}></textarea></div>
            <div id="filter-say" role="status">${wrong ? html`<div class="say">${icon("alert")}
                <span>${wrong.detail.charAt(0).toUpperCase() + wrong.detail.slice(1)}</span>
                ${better && at ? html`<button class="link" @click=${() => apply({
                    f: f.slice(0, at.from) + better + f.slice(at.to) })}>Use
                        ${better}</button>` : ""}
                <span class="hint">${at ? `Column ${at.from + 1}. ` : ""}${getList().pages.length
                    ? "The list below is of the filter before." : ""}</span></div>` : html`<div
                        class="hint">Members, eq ne co sw ew gt ge
                lt le pr, and, or, not. Texts and times in double quotation marks.</div>`}</div>
        </div></div>`;
    }

    let waiting = 0;
    function typed(/** @type {InputEvent} */ event) {
        getList().f = /** @type {HTMLTextAreaElement} */ (event.target).value;
        clearTimeout(waiting);
        waiting = window.setTimeout(() => apply({ f: getList().f }), 400);
        refresh();
    }

    return { open, text, chips, editor, asText: () => state.text };
}
