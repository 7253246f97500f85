// Ask before something that cannot be taken back easily.
import { html } from "../vendor/lit-html/lit-html.js";
import { refresh } from "../page.js";
import { dialog } from "./dialog.js";

/**
 * Ask; true if the user agrees. With `type`, the user types this text first.
 * @param {object} question
 * @param {string} question.title
 * @param {unknown} question.text     what happens, what is lost, and how to undo it
 * @param {string} question.action    the words of the button
 * @param {string} [question.cancel]
 * @param {boolean} [question.danger]
 * @param {string} [question.type]    what must be typed, such as the name of the record
 * @returns {Promise<boolean>}
 */
export async function confirm({ title, text, action, cancel = "Cancel", danger = false, type }) {
    const state = { typed: "" };
    const ready = () => !type || state.typed.trim() === type.trim();
    const answer = await dialog({
        title,
        body: () => html`<div class="say">${text}</div>
            ${type ? html`<div class="f"><label for="confirm-type">Type
                <bdi class="mono strong">${type}</bdi> to confirm</label>
                <input class="in" id="confirm-type" autocomplete="off" spellcheck="false" autofocus
                    @input=${(/** @type {InputEvent} */ event) => {
                        state.typed = /** @type {HTMLInputElement} */ (event.target).value;
                        refresh();
                    }}></div>` : ""}`,
        submit: (close) => ready() && close(true),
        actions: (close) => html`<div class="sp">
            <button type="button" class="btn" @click=${() => close(false)}>${cancel}</button>
            <button type="submit" class="btn primary ${danger ? "bad" : ""}" ?disabled=${!ready()}
                ?autofocus=${!type}>${action}</button></div>`,
    });
    return answer === true;
}
