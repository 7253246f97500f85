// Fields of forms: a label, the input, and below it what is wrong, what was before, or a hint.
import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { live } from "../vendor/lit-html/directives/live.js";
import { icon } from "./icons.js";

/**
 * @typedef {object} Field
 * @property {string} id            unique in the page; also the name of the input
 * @property {any} label            text or a template
 * @property {string} [mark]        a word at the other side of the label, such as "primary"
 * @property {unknown} [hint]
 * @property {unknown} [error]      what is wrong; drawn in red, tied to the input
 * @property {{text: string, run: () => unknown}} [fix]      a button beside the error
 * @property {{value: string, undo: () => unknown, more?: string}} [was]  marks a changed field
 * @property {boolean} [wide]       as wide as the form
 * @property {boolean} [disabled]
 * @property {boolean} [required]
 */
/** @typedef {(value: string) => unknown} Take */

/** The service writes names and values between backticks. @param {unknown} text */
const marked = (text) => (typeof text === "string"
    ? text.split("`").map((part, at) => (at % 2 ? html`<b>${part}</b>` : part)) : text);

/** @param {Field} field @param {unknown} input */
function around({ id, label, mark, hint, error, fix, was, wide }, input) {
    const kind = `f ${wide ? "w" : ""} ${error ? "er" : ""} ${was ? "ch" : ""}`;
    return html`<div class=${kind}>
        <label for=${id}>${label}${mark ? html`<span class="x">${mark}</span>` : ""}</label>
        ${input}
        ${error ? html`<div class="note bad"
            id="${id}-error">${icon("alert")}<span>${marked(error)}</span>
            ${fix ? html`<button type="button" @click=${fix.run}>${fix.text}</button>` : ""}</div>`
                : ""}
        ${was ? html`<div class="note"><span>${was.value
            ? html`Was <s><bdi>${was.value}</bdi></s>.` : "Was empty."} ${was.more ?? ""}</span>
            <button type="button" aria-label="Undo the change of ${label}" @click=${was.undo}>Undo
            </button></div>` : ""}
        ${hint && !error ? html`<div class="hint" id="${id}-hint">${hint}</div>` : ""}
    </div>`;
}

/** @param {Field} field */
const told = ({ id, error, hint }) => (error ? `${id}-error` : hint ? `${id}-hint` : nothing);

/** @param {Take} take */
const taken = (take) => (/** @type {Event} */ event) =>
    take(/** @type {HTMLInputElement} */ (event.target).value);

/**
 * A line of text.
 * @param {Field & {value: string, onInput: Take, onBlur?: () => unknown, type?: string,
 *   autocomplete?: string, placeholder?: string, list?: string, mono?: boolean,
 *   autofocus?: boolean}} field
 */
export const field = (field) => around(field, html`
    <input class="in ${field.mono ? "mono" : ""}" id=${field.id} type=${field.type ?? "text"}
        name=${field.id} .value=${live(field.value)} dir=${field.type ? nothing : "auto"}
        autocomplete=${field.autocomplete ?? "off"} spellcheck="false"
        placeholder=${field.placeholder ?? nothing} list=${field.list ?? nothing}
        aria-invalid=${field.error ? "true" : nothing} aria-describedby=${told(field)}
        ?required=${field.required} ?disabled=${field.disabled} ?autofocus=${field.autofocus}
        @input=${taken(field.onInput)} @blur=${field.onBlur ?? nothing}>`);

/** Lines of text.
 * @param {Field & {value: string, onInput: Take, rows?: number, mono?: boolean}} field */
export const textarea = (field) => around(field, html`
    <textarea class="in ${field.mono ? "mono" : ""}" id=${field.id} rows=${field.rows ?? 3}
        .value=${live(field.value)} spellcheck="false" dir="auto"
        aria-invalid=${field.error ? "true" : nothing} aria-describedby=${told(field)}
        ?disabled=${field.disabled} @input=${taken(field.onInput)}></textarea>`);

/** One of some.
 * @param {Field & {value: string, onChange: Take, options: [string, string][]}} field */
export const select = (field) => around(field, html`
    <select class="in" id=${field.id} ?disabled=${field.disabled} aria-describedby=${told(field)}
        aria-invalid=${field.error ? "true" : nothing} @change=${taken(field.onChange)}>
        ${field.options.map(([value, text]) => html`
            <option value=${value} .selected=${live(value === field.value)}>${text}</option>`)}
    </select>`);

/**
 * A box to tick, with a word and a smaller explanation.
 * @param {{id?: string, label: unknown, hint?: unknown, checked: boolean, disabled?: boolean,
 *   onChange: (checked: boolean) => unknown, look?: "chk" | "switch" | "rad", name?: string}} box
 */
export const checkbox = ({ id, label, hint, checked, disabled, onChange, look = "chk", name }) =>
    html`
    <label class="check"><input type=${look === "rad" ? "radio" : "checkbox"} class=${look}
        id=${id ?? nothing} name=${name ?? nothing} role=${look === "switch" ? "switch" : nothing}
        .checked=${live(checked)} ?disabled=${disabled}
        @change=${(/** @type {Event} */ event) =>
            onChange(/** @type {HTMLInputElement} */ (event.target).checked)}>
        <span>${label}${hint ? html`<small>${hint}</small>` : ""}</span></label>`;

/** The faults of a problem by their pointer or parameter: {"/email": "write an address ..."}.
 * @param {import("../api.js").Problem} problem @returns {Record<string, string>} */
export function faultsOf(problem) {
    const faults = /** @type {Record<string, string>} */ ({});
    for (const { pointer, parameter, column, detail } of problem.errors) {
        const at = pointer ?? parameter ?? column ?? "";
        faults[at] ??= detail.charAt(0).toUpperCase() + detail.slice(1);
    }
    return faults;
}

/** Show and focus a field. @param {string} id */
export function focusField(id) {
    const input = document.getElementById(id);
    input?.scrollIntoView({ block: "center" });
    input?.focus({ preventScroll: true });
}
