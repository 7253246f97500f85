// Dialogs, on the platform's <dialog>: it keeps the focus inside, closes with Esc, and returns the
// focus to where it was.
import { html, render } from "../vendor/lit-html/lit-html.js";
import { addLayer, loadStyles, refresh } from "../page.js";

let last = 0;

/**
 * Show a dialog until `close(answer)` is called. Esc and the veil close it with undefined, unless
 * `stays`. The functions are called with each refresh, so they may read changing state.
 * @template T
 * @param {object} parts
 * @param {string | (() => string)} parts.title
 * @param {(close: (answer?: T) => void) => unknown} parts.body
 * @param {(close: (answer?: T) => void) => unknown} [parts.actions]  buttons at the end
 * @param {() => unknown} [parts.lead]                 a sentence below the title
 * @param {(close: (answer?: T) => void) => unknown} [parts.submit]   Enter and the primary button
 * @param {"narrow" | "wide"} [parts.size]
 * @param {boolean} [parts.stays]                      Esc does not close it
 * @returns {Promise<T | undefined>}
 */
export async function dialog({ title, body, actions, lead, submit, size = "narrow", stays }) {
    await loadStyles("screens.css");
    const element = document.createElement("dialog");
    const id = `dialog-${++last}`;
    element.className = `dlg ${size}`;
    element.setAttribute("aria-labelledby", id);
    document.body.append(element);
    return new Promise((resolve) => {
        const close = (/** @type {T} */ answer) => {
            stop();
            element.close();
            element.remove();
            resolve(answer);
            refresh();
        };
        const draw = () => render(html`
            <form method="dialog" novalidate @submit=${(/** @type {Event} */ event) => {
                event.preventDefault();
                submit?.(/** @type {any} */ (close));
            }}>
                <header><h2 id=${id}>${typeof title === "function" ? title() : title}</h2>
                    ${lead ? html`<p>${lead()}</p>` : ""}</header>
                <div class="body">${body(/** @type {any} */ (close))}</div>
                ${actions ? html`<footer>${actions(/** @type {any} */ (close))}</footer>` : ""}
            </form>`, element);
        const stop = addLayer(draw);
        element.addEventListener("cancel", (event) => {
            event.preventDefault();
            if (!stays) {
                close(/** @type {any} */ (undefined));
            }
        });
        element.addEventListener("pointerdown", (event) => {
            if (event.target === element && !stays && outside(element, event)) {
                close(/** @type {any} */ (undefined));
            }
        });
        draw();
        element.showModal();
        const first = element.querySelector("[autofocus]")
            ?? element.querySelector(".body :is(input, select, textarea):not(.sr)");
        /** @type {HTMLElement | null} */ (first)?.focus();
    });
}

/** @param {HTMLElement} element @param {PointerEvent} event */
function outside(element, event) {
    const box = element.getBoundingClientRect();
    return event.clientX < box.left || event.clientX > box.right
        || event.clientY < box.top || event.clientY > box.bottom;
}
