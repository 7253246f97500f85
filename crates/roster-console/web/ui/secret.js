// A secret that the service shows once: copy it, say that it is kept, and only then close.
import { html } from "../vendor/lit-html/lit-html.js";
import { refresh } from "../page.js";
import { dialog } from "./dialog.js";
import { field } from "./fields.js";
import { copyButton, note } from "./parts.js";

/**
 * Show a secret. Esc does not close it: nobody can show it again.
 * @param {object} parts
 * @param {string} parts.title
 * @param {string} parts.secret
 * @param {unknown} [parts.text]      what it is for
 * @param {unknown} [parts.more]      further values to copy
 * @param {boolean} [parts.typeEnd]   ask for its last 4 characters, if losing it locks people out
 */
export async function showSecret({ title, secret, text, more, typeEnd = false }) {
    const state = { end: "" };
    const ready = () => !typeEnd || state.end.trim() === secret.slice(-4);
    await dialog({
        title, stays: true,
        body: () => html`
            ${text ? html`<div class="say">${text}</div>` : ""}
            <div class="secret"><code>${secret}</code>${copyButton(secret, "Copy the secret")}</div>
            ${note("warn", "It is shown only now. Keep it in a password manager. If you lose it, "
                + "make a new one.")}
            ${more ?? ""}
            ${typeEnd ? field({ id: "secret-end", label: "Its last 4 characters", value: state.end,
                mono: true, hint: "Type them from the place where you kept it.",
                onInput: (value) => {
                    state.end = value;
                    refresh();
                } }) : ""}`,
        submit: (close) => ready() && close(),
        actions: () => html`<div class="sp"><button type="submit" class="btn primary"
            ?disabled=${!ready()}>${typeEnd ? "Done" : "I have kept it"}</button></div>`,
    });
}
