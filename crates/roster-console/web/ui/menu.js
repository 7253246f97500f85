// A menu below a button, on the platform's popover: it closes by itself on Esc and outside.
import { html, render } from "../vendor/lit-html/lit-html.js";
import { loadStyles } from "../page.js";
import { icon } from "./icons.js";

/** @typedef {{text: unknown, icon?: import("./icons.js").IconName, run?: () => unknown,
 *   href?: string, danger?: boolean, checked?: boolean, key?: string}} Item */

/** Open a menu at a button, or at that of the event; after an await an event has none any more, so
 * then give the button. Null in the list draws a line.
 * @param {Event | HTMLElement} at @param {string} name @param {(Item | null)[]} items */
export async function openMenu(at, name, items) {
    const button = /** @type {HTMLElement} */ (at instanceof Event ? at.currentTarget : at);
    await loadStyles("screens.css");
    const menu = document.createElement("div");
    menu.className = "menu";
    menu.setAttribute("role", "menu");
    menu.setAttribute("aria-label", name);
    menu.popover = "auto";
    // Inside the dialog of the button, which makes all else inert, or inside a landmark.
    (button.closest("dialog, main") ?? document.body).append(menu);
    const close = () => {
        menu.hidePopover();
        button.focus();
    };
    render(items.map((item) => itemView(item, close)), menu);
    menu.addEventListener("toggle", (toggle) => {
        const open = /** @type {ToggleEvent} */ (toggle).newState === "open";
        button.setAttribute("aria-expanded", String(open));
        if (!open) {
            menu.remove();
        }
    });
    menu.addEventListener("keydown", (key) => move(menu, key));
    menu.showPopover();
    place(menu, button);
    /** @type {HTMLElement | null} */ (menu.querySelector("[role^=menuitem]"))?.focus();
}

/** @param {Item | null} item @param {() => void} close */
function itemView(item, close) {
    if (!item) {
        return html`<hr>`;
    }
    const inner = html`${item.icon ? icon(item.icon) : html`<span class="i">${
        item.checked ? icon("check") : ""}</span>`}<span>${item.text}</span>${
        item.key ? html`<kbd>${item.key}</kbd>` : ""}`;
    const run = () => {
        close();
        item.run?.();
    };
    const kind = item.danger ? "danger" : "";
    if (item.href) {
        return html`<a role="menuitem" tabindex="-1" class=${kind} href=${item.href}
            @click=${run}>${inner}</a>`;
    }
    return item.checked === undefined
        ? html`<button role="menuitem" tabindex="-1" class=${kind} @click=${run}>${inner}</button>`
        : html`<button role="menuitemradio" tabindex="-1" aria-checked=${item.checked}
            @click=${run}>${inner}</button>`;
}

/** Arrows move in the menu. @param {HTMLElement} menu @param {KeyboardEvent} event */
function move(menu, event) {
    const all = /** @type {HTMLElement[]} */ ([...menu.querySelectorAll("[role^=menuitem]")]);
    const at = all.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (next !== undefined) {
        event.preventDefault();
        all[(next + all.length) % all.length]?.focus();
    } else if (event.key === "Tab") {
        menu.hidePopover();
    }
    event.stopPropagation();
}

/** Put a popover below a button, inside the window. CSSOM is allowed by the policy.
 * @param {HTMLElement} box @param {HTMLElement} button */
export function place(box, button) {
    const at = button.getBoundingClientRect();
    const { width, height } = box.getBoundingClientRect();
    const left = Math.min(Math.max(8, at.right - width), innerWidth - width - 8);
    const below = at.bottom + 4 + height <= innerHeight - 8;
    box.style.left = `${Math.max(8, left)}px`;
    box.style.top = `${below ? at.bottom + 4 : Math.max(8, at.top - 4 - height)}px`;
}
