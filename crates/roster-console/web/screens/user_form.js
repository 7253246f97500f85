// The form of a user, for a new one and for one that exists. Edits are a map from pointers to
// values.
import { html } from "../vendor/lit-html/lit-html.js";
import { equal, valueAt } from "../merge.js";
import { refresh } from "../page.js";
import { label, valueText } from "../texts.js";
import { checkbox, field, select, textarea } from "../ui/fields.js";
import { icon } from "../ui/icons.js";
import { pointerLabel } from "./user_history.js";

/** Members that are always shown, and those that are shown with a value or on request.
 * @type {[string, string[], string[]][]} */
const GROUPS = [
    ["Identity", ["/username", "/name", "/given_name", "/family_name"],
        ["/middle_name", "/display_name", "/nickname", "/honorific_prefix", "/honorific_suffix"]],
    ["Contact", ["/email", "/phone_number", "/locale", "/zoneinfo"],
        ["/preferred_language", "/profile", "/picture", "/addresses", "/ims"]],
    ["Work", ["/title", "/department", "/organization", "/employee_number"],
        ["/manager/display_name", "/manager/id", "/manager/ref", "/division", "/cost_center",
            "/user_type", "/roles", "/entitlements"]],
    ["Account", ["/external_id", "/expires_at"], ["/x509_certificates"]],
];
const LISTS = new Set(["/addresses", "/ims", "/roles", "/entitlements", "/x509_certificates",
    "/emails", "/phone_numbers"]);
const WIDE = new Set(["/email", "/emails", "/phone_numbers", "/profile", "/picture"]);

/**
 * @typedef {object} FormState
 * @property {Record<string, any>} base       what is stored
 * @property {import("../merge.js").Edits} edits
 * @property {Record<string, string>} faults  by pointer
 * @property {any[]} declared                 attributes of GET /schema
 * @property {boolean} writes
 * @property {boolean} [all]                  show all fields
 * @property {(pointer: string) => unknown} [onLeave]
 * @property {(pointer: string) => unknown} [more]  a note below a changed field
 */

/** The id of the input of a member. @param {string} pointer */
export const inputId = (pointer) => `f${pointer.replaceAll("/", "-")}`;

/** @param {FormState} state @param {string} pointer */
const now = (state, pointer) => (state.edits.has(pointer) ? state.edits.get(pointer)
    : valueAt(state.base, pointer));

/** @param {FormState} state @param {string} pointer @param {any} value */
function edit(state, pointer, value) {
    state.edits.set(pointer, value);
    if (equal(valueAt(state.base, pointer), value)) {
        state.edits.delete(pointer);
    }
    delete state.faults[pointer];
    refresh();
}

/** Whether a list has more than its primary value; then the list is edited. @param {FormState}
 * state
 * @param {string} list */
const many = (state, list) => (state.base[list] ?? []).length > 1;

/** What every field of a member has. @param {FormState} state @param {string} pointer */
function common(state, pointer) {
    const was = state.edits.has(pointer) && state.base.id ? {
        value: valueText(valueAt(state.base, pointer)),
        more: pointer === "/email" ? "A new address is not verified." : "",
        undo: () => edit(state, pointer, valueAt(state.base, pointer)),
    } : undefined;
    const fault = state.faults[pointer] ?? Object.entries(state.faults).find(([at]) =>
        at.startsWith(`${pointer}/`))?.[1];
    const zone = pointer === "/zoneinfo" && fault?.match(/\b([A-Z]\w+\/[\w/+-]+)/)?.[1];
    return { id: inputId(pointer), label: pointerLabel(pointer), error: fault, was,
        wide: WIDE.has(pointer) || Boolean(was && fault), disabled: !state.writes,
        fix: zone && now(state, pointer) !== zone && zone.toLowerCase()
            === String(now(state, pointer)).toLowerCase()
            ? { text: "Use it", run: () => edit(state, pointer, zone) } : undefined };
}

/** @param {FormState} state @param {string} pointer */
function member(state, pointer) {
    const value = now(state, pointer);
    const base = common(state, pointer);
    if (pointer === "/email" && many(state, "emails")) {
        return entries(state, "/emails", "email");
    }
    if (pointer === "/phone_number" && many(state, "phone_numbers")) {
        return entries(state, "/phone_numbers", "tel");
    }
    if (LISTS.has(pointer)) {
        return jsonField(state, pointer);
    }
    if (pointer === "/expires_at") {
        return field({ ...base, type: "datetime-local", value: toLocal(value),
            hint: "Roster suspends the user at this time.",
            onInput: (text) => edit(state, pointer, text ? new Date(text).toISOString() : null) });
    }
    return field({ ...base, value: value ?? "", mark: pointer === "/email" ? "primary" : undefined,
        mono: pointer === "/external_id",
        hint: pointer === "/username" && state.base.username_from_email && !base.was
            ? "Follows the e-mail address." : undefined,
        onInput: (text) => edit(state, pointer, text),
        onBlur: () => state.onLeave?.(pointer) });
}

/** @param {string | undefined} time */
function toLocal(time) {
    if (!time) {
        return "";
    }
    const date = new Date(time);
    return new Date(date.getTime() - date.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}

/** Addresses or numbers, each with its kind; one is primary. @param {FormState} state
 * @param {string} pointer @param {string} type */
function entries(state, pointer, type) {
    const list = /** @type {any[]} */ (now(state, pointer) ?? []);
    const set = (/** @type {any[]} */ next) => edit(state, pointer, next);
    const change = (/** @type {number} */ at, /** @type {any} */ part) =>
        set(list.map((one, i) => (i === at ? { ...one, ...part } : one)));
    const word = label(pointer.slice(1));
    return html`<div class="f w ${state.edits.has(pointer) ? "ch" : ""}" role="group"
        aria-label=${word}>
        <label>${word}</label>
        ${list.map((one, at) => html`<div class="with entry">
            ${field({ id: at ? `${inputId(pointer)}-${at}` : inputId(pointer), type,
                disabled: !state.writes,
                label: html`<span class="sr">${word} ${at + 1}</span>`, value: one.value ?? "",
                error: state.faults[`${pointer}/${at}/value`] ?? state.faults[`${pointer}/${at}`],
                onInput: (value) => change(at, { value }) })}
            ${checkbox({ look: "rad", name: inputId(pointer), label: "primary",
                disabled: !state.writes,
                checked: Boolean(one.primary) || (!at && !list.some(({ primary }) => primary)),
                onChange: () => set(list.map((entry, i) => {
                    const { primary: _, ...rest } = entry;
                    return i === at ? { ...rest, primary: true } : rest;
                })) })}
            ${state.writes ? html`<button type="button" class="btn ghost icon" aria-label="Remove ${
                one.value}" @click=${() => set(list.filter((_, i) => i !== at))}>${icon("x")}
                </button>`
                : ""}</div>`)}
        ${state.writes ? html`<button type="button" class="btn ghost" @click=${() =>
            set([...list, { value: "" }])}>${icon("plus")}Add</button>` : ""}</div>`;
}

/** @type {Map<string, string>} */
const texts = new Map();

/** A value as JSON; a text that is no JSON is a fault at once. @param {FormState} state
 * @param {string} pointer */
function jsonField(state, pointer) {
    const value = now(state, pointer);
    const draft = texts.get(pointer);
    const text = draft ?? (value === undefined || value === null ? ""
        : JSON.stringify(value, null, 2));
    return textarea({ ...common(state, pointer), value: text, wide: true, mono: true,
        rows: Math.min(8, text.split("\n").length + 1),
        hint: "A JSON list of objects with a value.",
        onInput: (next) => {
            try {
                edit(state, pointer, next.trim() ? JSON.parse(next) : null);
                texts.delete(pointer);
            } catch {
                texts.set(pointer, next);
                state.faults[pointer] = "This is not JSON yet.";
                refresh();
            }
        } });
}

/** An attribute of the schema, with a field of its type.
 * @param {FormState} state @param {any} one */
function declared(state, one) {
    const pointer = `/attributes/${one.name}`;
    const base = { ...common(state, pointer), hint: one.description,
        mark: one.required ? "required" : undefined };
    const value = now(state, pointer);
    if (one.multi_valued) {
        return field({ ...base, value: (value ?? []).map(valueText).join(", "),
            hint: one.description ?? "Several values with commas between them.",
            onInput: (text) => edit(state, pointer, text.split(",").map((part) => part.trim())
                .filter(Boolean).map((part) => typed(one.type, part))) });
    }
    if (one.type === "boolean") {
        return select({ ...base, value: value === undefined || value === null ? "" : String(value),
            options: [["", "No value"], ["true", "Yes"], ["false", "No"]],
            onChange: (text) => edit(state, pointer, text ? text === "true" : null) });
    }
    return field({ ...base, value: value === undefined || value === null ? "" : String(value),
        onInput: (text) => edit(state, pointer, text === "" ? null : typed(one.type, text)) });
}

/** A text as a value of a type; what is none stays text, so that the service says what is wrong.
 * @param {string} type @param {string} text */
function typed(type, text) {
    const number = Number(text);
    return (type === "integer" || type === "number") && text.trim() && Number.isSafeInteger(number)
        || (type === "number" && Number.isFinite(number)) ? number : text;
}

/** Attributes that no schema declares: names and JSON values. @param {FormState} state */
function free(state) {
    const known = new Set(state.declared.map(({ name }) => name));
    const all = new Set(Object.keys(state.base.attributes ?? {}));
    for (const pointer of state.edits.keys()) {
        if (pointer.startsWith("/attributes/")) {
            all.add(pointer.split("/")[2]);
        }
    }
    return [...all].filter((name) => !known.has(name)).map((name) => {
        const pointer = `/attributes/${name}`;
        const value = now(state, pointer);
        const text = texts.get(pointer) ?? (typeof value === "string" ? value
            : JSON.stringify(value) ?? "");
        return field({ ...common(state, pointer), label: name, value: text, mono: true,
            onInput: (next) => edit(state, pointer, fromText(next)) });
    });
}

/** Numbers, booleans and JSON objects are read as such, all else is text. @param {string} text */
function fromText(text) {
    try {
        const value = JSON.parse(text);
        return text === "" ? null : value;
    } catch {
        return text === "" ? null : text;
    }
}

/** @param {FormState} state */
async function addAttribute(state) {
    const { dialog } = await import("../ui/dialog.js");
    const draft = { name: "", value: "" };
    const ok = () => /^[A-Za-z][\w-]{0,63}$/.test(draft.name);
    if (await dialog({ title: "Add an attribute",
        body: () => html`${field({ id: "attribute-name", label: "Name", value: draft.name,
            hint: "Letters, digits, - and _, starting with a letter.", onInput: (name) => {
                draft.name = name;
                refresh();
            } })}${field({ id: "attribute-value", label: "Value", value: draft.value, mono: true,
            hint: "A text, a number, true, false or JSON.", onInput: (value) => {
                draft.value = value;
                refresh();
            } })}`,
        submit: (close) => ok() && close(true),
        actions: (close) => html`<div class="sp"><button type="button" class="btn"
            @click=${() => close()}>Cancel</button><button type="submit" class="btn primary"
            ?disabled=${!ok()}>Add</button></div>` })) {
        edit(state, `/attributes/${draft.name}`, fromText(draft.value));
    }
}

/** The groups of fields. @param {FormState} state */
export function userFields(state) {
    const used = (/** @type {string} */ pointer) => state.all || state.edits.has(pointer)
        || valueAt(state.base, pointer) !== undefined || state.faults[pointer];
    const hidden = GROUPS.some(([, , more]) => more.some((pointer) => !used(pointer)));
    return html`${GROUPS.map(([name, always, more]) => html`
        <fieldset><legend>${name}</legend><div class="fs">
            ${[...always, ...more.filter(used)].map((pointer) => member(state, pointer))}
        </div></fieldset>`)}
        <fieldset><legend>Your attributes</legend><div class="fs">
            ${state.declared.map((one) => declared(state, one))}${free(state)}
            ${state.writes ? html`<div class="f w"><button type="button" class="btn ghost"
                @click=${() => addAttribute(state)}>${icon("plus")}Add an attribute</button>
                ${hidden ? html`<button type="button" class="btn ghost" @click=${() => {
                    state.all = true;
                    refresh();
                }}>${icon("eye")}Show all fields</button>` : ""}</div>` : ""}
        </div></fieldset>`;
}
