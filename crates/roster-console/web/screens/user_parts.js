// Parts of the pages of a user: the bar with Save, and the facts of the record.
import { html } from "../vendor/lit-html/lit-html.js";
import { count, dateTime } from "../texts.js";
import { focusField } from "../ui/fields.js";
import { ago, modifier } from "../ui/parts.js";
import { inputId } from "./user_form.js";

/**
 * The bar below a form. The number of faults jumps to the first faulty field.
 * @param {{name: string, faults: Record<string, string>, problem: any, text: unknown, off: boolean,
 *   action: string, other: unknown, save: () => unknown}} bar
 */
export function saveBar({ name, faults, problem, text, off, action, other, save }) {
    const wrong = Object.keys(faults);
    const general = problem && !wrong.length ? problem.detail || problem.title : "";
    return html`<div class="savebar" role="region" aria-label=${name}>
        ${wrong.length ? html`<button type="button" class="link bad" @click=${() =>
            focusField(inputId(wrong[0]))}>${count(wrong.length, "field needs", "fields need")}
            attention</button>` : general ? html`<span class="bad">${general}</span>` : ""}
        ${general ? "" : html`<span class="muted ${wrong.length ? "d" : ""}">${text}</span>`}
        <div class="sp">${other}<button class="btn primary" ?disabled=${off}
            @click=${save}>${action}<kbd
            class="d">${modifier}↵</kbd></button></div></div>`;
}

/** @param {Record<string, any>} user */
export const recordFacts = (user) => html`<section aria-labelledby="rail-record">
    <h2 id="rail-record">Record</h2>
    <dl class="facts"><dt>Version</dt><dd class="num">${user.version}</dd>
        <dt>Created</dt><dd>${dateTime(user.created_at)}</dd>
        <dt>Updated</dt><dd>${ago(user.updated_at)}</dd>
        ${user.expires_at ? html`<dt>Ends</dt><dd>${ago(user.expires_at)}</dd>` : ""}
    </dl></section>`;
