// A menu below a button, on the platform's popover: it closes by itself on Esc and outside.
import { html, nothing, render } from "../vendor/lit-html/lit-html.js";
import { loadStyles } from "../page.js";
import { icon } from "./icons.js";

/** Open a menu at a button, or that of an event. Items have `text`, `run` or `href`, and perhaps
 * `icon`, `checked` and `danger`; null draws a line. @param {any} at @param {any[]} items */
export async function openMenu(at, name, items) {
    const button = at.currentTarget ?? at;
    await loadStyles("screens.css");
    const menu = Object.assign(document.createElement("div"), { className: "menu", role: "menu",
        ariaLabel: name, popover: "auto" });
    // Inside the dialog of the button, which makes all else inert, or inside a landmark.
    (button.closest("dialog, main") ?? document.body).append(menu);
    render(items.map((item) => itemView(item, () => {
        menu.hidePopover();
        button.focus();
        item.run?.();
    })), menu);
    menu.addEventListener("toggle", (/** @type {any} */ { newState }) => {
        button.setAttribute("aria-expanded", String(newState === "open"));
        return newState === "open" || menu.remove();
    });
    menu.addEventListener("keydown", (event) => move(menu, event));
    menu.showPopover();
    place(menu, button);
    move(menu, new KeyboardEvent("keydown", { key: "Home" }));
}

function itemView(item, run) {
    const { href, text, icon: sign, danger, checked } = item ?? {};
    const type = danger ? "danger" : "";
    const inner = html`${sign ? icon(sign) : html`<span class="i">${checked ? icon("check") : ""}
        </span>`}<span>${text}</span>`;
    return !item ? html`<hr>` : href ? html`<a role="menuitem" tabindex="-1" class=${type}
        href=${href} @click=${run}>${inner}</a>` : html`<button tabindex="-1" class=${type}
        role=${checked === undefined ? "menuitem" : "menuitemradio"} @click=${run}
        aria-checked=${checked ?? nothing}>${inner}</button>`;
}

function move(menu, event) {
    const all = [...menu.querySelectorAll("a, button")];
    const at = all.indexOf(document.activeElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
    if (next !== undefined) {
        event.preventDefault();
        all.at(next % all.length).focus();
    } else if (event.key === "Tab") {
        menu.hidePopover();
    }
    event.stopPropagation();
}

/** Put a popover below a button, inside the window. */
export function place(box, button) {
    const at = button.getBoundingClientRect();
    const { width, height } = box.getBoundingClientRect();
    const left = Math.min(at.right - width, innerWidth - width - 8);
    const below = at.bottom + 4 + height <= innerHeight - 8;
    box.style.left = `${Math.max(8, left)}px`;
    box.style.top = `${below ? at.bottom + 4 : Math.max(8, at.top - 4 - height)}px`;
}
