// What every part of the page may ask of the page: draw again, go elsewhere, say something.
import { formatRoute, parseRoute } from "./route.js";

/** Functions that draw: the page itself and each open dialog. */
const layers = new Set();
let asked = null;

/** Draw the page again, after each change of the state. */
export function refresh() {
    // Not requestAnimationFrame: a page in the background draws too, for its title.
    asked ??= Promise.resolve().then(() => {
        asked = null;
        layers.forEach((draw) => draw());
    });
}

/** Draw a further part with each refresh; returns what stops that. */
export function addLayer(draw) {
    layers.add(draw);
    return () => layers.delete(draw);
}

export const here = () => parseRoute(location.hash);

/** The fragment of a place in the current tenant: to("users", id, { q: "ada" }). The screen of all
 * tenants is in none. */
export function to(screen, ...rest) {
    const query = rest.find((part) => typeof part === "object");
    return formatRoute({ tenant: screen === "tenants" ? "" : here().tenant, screen, query,
        parts: rest.filter((part) => typeof part === "string") });
}

export function go(screen, ...rest) {
    location.hash = to(screen, ...rest);
}

/** Put other values into the query of this place, without a step for Back. */
export const setQuery = (query) => history.replaceState(history.state, "",
    formatRoute({ ...here(), query: { ...here().query, ...query } }));

/** Open a screen anew after a write from elsewhere, if it is the one that is shown. */
export const reopen = (screen) => here().screen === screen && dispatchEvent(new Event("reopen"));

/** Open the command palette. */
export const openPalette = () => dispatchEvent(new Event("palette"));

export const nav = { open: false };
export function showNav(open) {
    nav.open = open;
    refresh();
}

export const toasts = new Set();
/** Say what happened, for 6 s, or 10 s with an undo (a button and the key Z); `stays` until it is
 * closed. */
export function toast(text, { undo = undefined, kind = "ok", label = "Undo", stays = false } = {}) {
    const one = { text, undo, kind, label };
    toasts.delete([...toasts].at(-3));
    toasts.add(one);
    if (!stays) {
        setTimeout(closeToast, undo || kind === "bad" ? 10000 : 6000, one);
    }
    topDialog() && say(text);
    refresh();
}

export const closeToast = (one) => toasts.delete(one) && refresh();

/** Undo the action of a message, or the newest that can be undone. */
export function undo(one = [...toasts].findLast((each) => each.undo && each.label === "Undo")) {
    closeToast(one);
    one?.undo();
}

/** The dialog on top. */
export const topDialog = () => [...document.querySelectorAll("dialog[open]")].at(-1);

/** Say a sentence to screen readers only. They hear nothing from outside of an open dialog. */
export function say(text) {
    (topDialog()?.querySelector(".heard") ?? document.getElementById("live")).textContent = text;
}
const sheets = {};
/** Load a further style sheet of the web folder once. After a failure the next one tries again. */
export const loadStyles = (name) => (sheets[name] ??= new Promise((done) => {
    const link = Object.assign(document.createElement("link"), { rel: "stylesheet",
        href: new URL(name, import.meta.url).href, onload: done, onerror() {
            sheets[name] = null;
            link.remove();
            done();
        } });
    document.head.append(link);
}));
