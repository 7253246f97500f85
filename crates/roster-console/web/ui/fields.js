// Fields of forms: a label, the input, and below it what is wrong, what was before, or a hint.
import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { live } from "../vendor/lit-html/directives/live.js";
import { icon } from "./icons.js";

/** The service writes names and values between backticks. */
const marked = (text) => (typeof text === "string"
    ? text.split("`").map((part, at) => (at % 2 ? html`<b>${part}</b>` : part)) : text);

/** `fix` is a button, `{ text, run }`; `was` of a changed field is `{ value, undo, more }`. */
const around = ({ id, label, mark, hint, error, fix, was, wide }, input) => html`
    <div class="f ${wide ? "w" : ""} ${error ? "er" : ""} ${was ? "ch" : ""}">
        <label for=${id}>${label}${mark ? html`<span class="x">${mark}</span>` : ""}</label>
        ${input}
        ${error ? html`<div class="note bad" id="${id}-about">${icon("alert")}<span>${marked(error)}
            </span>${fix ? html`<button type="button" @click=${fix.run}>${fix.text}</button>` : ""}
            </div>` : ""}
        ${was ? html`<div class="note"><span>${was.value ? html`Was <s><bdi>${was.value}</bdi></s>.`
            : "Was empty."} ${was.more}</span><button type="button" @click=${was.undo}
            aria-label="Undo the change of ${label}">Undo</button></div>` : ""}
        ${hint && !error ? html`<div class="hint" id="${id}-about">${hint}</div>` : ""}</div>`;

const about = ({ id, error, hint }) => (error || hint ? `${id}-about` : nothing);
const invalid = ({ error }) => (error ? "true" : nothing);

export const field = (one) => around(one, html`
    <input class="in ${one.mono ? "mono" : ""}" id=${one.id} type=${one.type ?? "text"}
        name=${one.id} .value=${live(one.value)} dir=${one.type ? nothing : "auto"}
        autocomplete=${one.autocomplete ?? "off"} spellcheck="false" aria-invalid=${invalid(one)}
        aria-describedby=${about(one)} ?required=${one.required} ?disabled=${one.disabled}
        ?autofocus=${one.autofocus} @input=${(event) => one.onInput(event.target.value)}
        @blur=${one.onBlur || nothing}>`);

export const textarea = (one) => around(one, html`
    <textarea class="in ${one.mono ? "mono" : ""}" id=${one.id} rows=${one.rows}
        .value=${live(one.value)} spellcheck="false" dir="auto" aria-invalid=${invalid(one)}
        aria-describedby=${about(one)} ?disabled=${one.disabled}
        @input=${(event) => one.onInput(event.target.value)}></textarea>`);

/** One of some: `options` are pairs of a value and its words. */
export const select = (one) => around(one, html`
    <select class="in" id=${one.id} ?disabled=${one.disabled} aria-describedby=${about(one)}
        aria-invalid=${invalid(one)} @change=${(event) => one.onChange(event.target.value)}>
        ${one.options.map(([value, text]) => html`
            <option value=${value} .selected=${live(value === one.value)}>${text}</option>`)}
    </select>`);

/** A box to tick, or a radio button (`look` is "rad"), with a word and a smaller hint. */
export const checkbox = ({ look = "chk", ...one }) => html`
    <label class="check"><input type=${look === "rad" ? "radio" : "checkbox"} class=${look}
        name=${one.name ?? nothing} .checked=${live(one.checked)} ?disabled=${one.disabled}
        @change=${(event) => one.onChange(event.target.checked)}>
        <span>${one.label}${one.hint ? html`<small>${one.hint}</small>` : ""}</span></label>`;

export function focusField(id) {
    const input = document.getElementById(id);
    input?.scrollIntoView({ block: "center" });
    input?.focus({ preventScroll: true });
}
