// What every part of the page may ask of the page: draw again, go elsewhere, say something.
import { formatRoute, parseRoute } from "./route.js";

/** @typedef {import("./route.js").Route} Route */
/** @typedef {{id: number, text: string, kind: string, undo?: () => unknown, label: string}} Toast
 * */

/** Functions that draw: the page itself and each open dialog. @type {Set<() => void>} */
const layers = new Set();
let asked = false;

/** Draw the page again before the next frame. Call it after each change of the state. */
export function refresh() {
    if (!asked) {
        asked = true;
        // Not requestAnimationFrame: a page in the background draws too, for its title.
        queueMicrotask(() => {
            asked = false;
            layers.forEach((draw) => draw());
        });
    }
}

/** Draw a further part with each refresh. @param {() => void} draw @returns {() => void} stop it */
export function addLayer(draw) {
    layers.add(draw);
    return () => layers.delete(draw);
}

/** The route that is shown. */
export const here = () => parseRoute(location.hash);

/** The fragment of a place in the current tenant. A name with "/" is split: to("users", id).
 * @param {string} screen @param {...(string | Record<string, string | undefined>)} rest */
export function to(screen, ...rest) {
    const last = rest.at(-1);
    const query = typeof last === "object" ? last : {};
    const parts = /** @type {string[]} */ (rest.filter((part) => typeof part === "string"));
    return formatRoute({ tenant: here().tenant, screen, parts, query });
}

/** Go to a place; Back returns. @param {Parameters<typeof to>} place */
export function go(...place) {
    location.hash = to(...place);
}

/** Put other values into the query of this place, without a step for Back.
 * @param {Record<string, string | undefined>} query */
export function setQuery(query) {
    const route = here();
    const next = formatRoute({ ...route, query: { ...route.query, ...query } });
    if (next !== location.hash) {
        history.replaceState(history.state, "", next);
    }
}

/** The navigation is a drawer on a phone. */
export const nav = { open: false };

/** Open or close the drawer. @param {boolean} [open] */
export function showNav(open = !nav.open) {
    nav.open = open;
    refresh();
}

/** @type {Toast[]} */
export const toasts = [];
let lastToast = 0;

/**
 * Say what happened, for 6 s, or 10 s with an undo (a button and the key Z).
 * @param {string} text
 * @param {{undo?: () => unknown, kind?: "ok" | "bad", label?: string}} [options]
 */
export function toast(text, { undo, kind = "ok", label = "Undo" } = {}) {
    const id = ++lastToast;
    if (toasts.length > 2) {
        toasts.shift();
    }
    toasts.push({ id, text, undo, kind, label });
    setTimeout(() => closeToast(id), undo || kind === "bad" ? 10000 : 6000);
    refresh();
}

/** @param {number} id */
export function closeToast(id) {
    const at = toasts.findIndex((one) => one.id === id);
    if (at >= 0) {
        toasts.splice(at, 1);
        refresh();
    }
}

/** Undo the newest action that can be undone. */
export function undoNewest() {
    const one = toasts.findLast(({ undo }) => undo);
    if (one) {
        closeToast(one.id);
        one.undo?.();
    }
}

/** Say a sentence to screen readers only. @param {string} text */
export function say(text) {
    const live = document.getElementById("live");
    if (live) {
        live.textContent = text;
    }
}

const sheets = new Map();

/** Load a further style sheet once. @param {string} name relative to the web folder */
export function loadStyles(name) {
    if (!sheets.has(name)) {
        sheets.set(name, new Promise((done) => {
            const link = document.createElement("link");
            link.rel = "stylesheet";
            link.href = new URL(name, import.meta.url).href;
            link.onload = link.onerror = done;
            document.head.append(link);
        }));
    }
    return sheets.get(name);
}
