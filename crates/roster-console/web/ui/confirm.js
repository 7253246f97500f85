// Ask before what cannot be taken back easily, show a secret, and save a file.
import { html } from "../vendor/lit-html/lit-html.js";
import { refresh } from "../page.js";
import { dialog } from "./dialog.js";
import { field } from "./fields.js";
import { copyLine, note } from "./parts.js";

/** Ask; true if the user agrees. `text` says what happens, what is lost, and how to undo it. With
 * `type`, such as the name of the record, the user types it first. The others as in `dialog`. */
export async function confirm(question) {
    const { text, type = "" } = question;
    let typed = "";
    // As it is shown and typed: without what cannot be seen.
    const plain = (name) => name.replace(/[\u200b-\u200f\u2060\ufeff]/g, "")
        .replace(/\s+/g, " ").trim();
    return await dialog({ ...question, ready: () => plain(typed) === plain(type),
        body: () => html`<div class="say">${text}</div>${type ? field({ id: "confirm-type",
            label: html`Type <bdi class="mono strong">${type}</bdi> to confirm`, value: typed,
            autofocus: true, onInput(value) {
                typed = value;
                refresh();
            } }) : ""}`,
        submit: (close) => close(true) }) === true;
}

/** Whether a screen may be left: asks if something on it is not saved, and only once. */
export async function mayLeave(screen) {
    if (screen?.unsaved?.() && !await confirm({ title: "Leave without saving?", danger: true,
        action: "Leave", cancel: "Stay",
        text: "Your changes are not saved. If you leave, they are lost." })) {
        return false;
    }
    Object.assign(screen ?? {}, { unsaved: undefined });
    return true;
}

/** Show a secret, once; Esc does not close it. `typeEnd`: losing it would lock people out. */
export function showSecret({ title, secret, text = undefined, more = undefined, typeEnd = false }) {
    let end = "";
    return dialog({ title, stays: true, action: typeEnd ? "Done" : "I have kept it",
        ready: () => !typeEnd || end.trim() === secret.slice(-4),
        body: () => html`<div class="say">${text}</div>${copyLine(secret, "Copy the secret")}
            ${note("warn", "It is shown only now. Keep it in a password manager. If you lose it, "
                + "make a new one.")}${more}${typeEnd ? field({ id: "secret-end", value: end,
            label: "Its last 4 characters", mono: true, onInput(value) {
                end = value;
                refresh();
            } }) : ""}`,
        submit: (close) => close() });
}

/** Save parts of a file. */
export function download(name, parts, type) {
    const href = URL.createObjectURL(new Blob(parts, { type }));
    Object.assign(document.createElement("a"), { href, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(href), 60000);
}
