// Dialogs, on the platform's <dialog>: it keeps the focus inside, closes with Esc, and returns the
// focus to where it was.
import { html, render } from "../vendor/lit-html/lit-html.js";
import { addLayer, loadStyles, refresh, topDialog } from "../page.js";

let last = 0;

/** Show a dialog until `close(answer)`; returns the answer. Esc and the veil close it with
 * undefined, unless it `stays` or is `busy()`. Functions are called with each refresh. `lead` is
 * below the title. `actions` are the buttons; without them `action`, a word, gives Cancel and the
 * primary button, which is on while `ready()`. It and Enter call `submit(close)`. */
export async function dialog({ title, body, actions = undefined, lead = undefined,
    submit = undefined, size = "narrow", stays = false, action = undefined, ready = () => true,
    danger = false, cancel = "Cancel", busy = () => false }) {
    await loadStyles("screens.css");
    const id = `dialog-${++last}`;
    const element = Object.assign(document.createElement("dialog"), { className: `dlg ${size}` });
    element.setAttribute("aria-labelledby", id);
    document.body.append(element);
    return new Promise((resolve) => {
        let done = false;
        const locked = () => stays || busy();
        const close = (answer = undefined) => {
            done = true;
            removeEventListener("keydown", onEscape, true);
            removeEventListener("hashchange", leave);
            stop();
            element.close();
            element.remove();
            resolve(answer);
            refresh();
        };
        const leave = () => !locked() && close();
        // A second Esc closes a dialog even if its event `cancel` is prevented.
        const onEscape = (event) => event.key === "Escape" && locked()
            && topDialog() === element && event.preventDefault();
        const text = (words) => (words?.call ? words() : words);
        const usual = () => html`<div class="sp">${stays ? "" : html`<button type="button"
            class="btn" ?disabled=${busy()} @click=${leave}>${cancel}</button>`}<button
            type="submit" class="btn primary ${danger ? "bad" : ""}" ?disabled=${!ready()}
            ?autofocus=${danger}>${text(action)}</button></div>`;
        const draw = () => render(html`<form method="dialog" novalidate @submit=${(event) => {
            event.preventDefault();
            return ready() && submit?.(close);
        }} @beforeinput=${(event) => busy() && event.preventDefault()}><header><h2 id=${id}>${
            text(title)}</h2>${lead ? html`<p>${lead()}</p>` : ""}</header><div class="body">${
            body(close)}</div>${actions || action ? html`<footer>${actions ? actions(close)
            : usual()}</footer>` : ""}</form><div class="sr heard" aria-live="polite"></div>`,
        element);
        const stop = addLayer(draw);
        element.addEventListener("cancel", (event) => {
            event.preventDefault();
            leave();
        });
        // By other ways to close it, such as the gesture for Back.
        element.addEventListener("close", () => done || (locked() ? element.showModal() : close()));
        const opened = performance.now();
        element.addEventListener("pointerdown", ({ target, clientX: left, clientY: top,
            timeStamp }) => {
            const box = element.getBoundingClientRect();
            // Not the second of two clicks that opened it.
            return target === element && timeStamp - opened > 500 && (left < box.left
                || left > box.right || top < box.top || top > box.bottom) && leave();
        });
        addEventListener("keydown", onEscape, true);
        // It is about the place that was left, perhaps another tenant.
        addEventListener("hashchange", leave);
        draw();
        element.showModal();
        /** @type {HTMLElement} */
        const first = element.querySelector("[autofocus]")
            ?? element.querySelector(".body :is(input, select, textarea):not(.sr)");
        first?.focus();
    });
}
