// The frame of the page: navigation, bar of an open service, toasts and the keys.
import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { base, getSession } from "../api.js";
import { allTenants, caller, callerText, can } from "../caller.js";
import { closeToast, go, here, nav, showNav, to, toast, toasts, topDialog, undo }
    from "../page.js";
import { icon } from "./icons.js";
import { avatar, modifier, once } from "./parts.js";

/** The screens: name, words, icon, the key after G, and who may see it. @type {any[][]} */
const PLACES = [
    ["users", "Users", "users", "u", () => can("users:read")],
    ["groups", "Groups", "groups", "g", () => can("users:read")],
    ["deleted", "Deleted users", "trash", "d", () => can("users:read", "users:write")],
    ["activity", "Activity", "activity", "a", () => can("events:read")],
    ["import", "Import", "upload", "i", () => can("users:write")],
    ["keys", "Keys", "key", "k", () => can("keys:admin")],
    ["scim", "SCIM: Okta, Entra", "rotate", "s", () => can("users:read")],
    ["webhooks", "Webhooks", "webhook", "w", () => can("webhooks:admin")],
    ["tenants", "Tenants", "building", "t", () => can("tenants:admin") && allTenants()]];

export const places = () => PLACES.filter(([, , , , shown]) => shown());
const links = (some) => places().filter((place) => some.includes(place)).map(
    ([screen, text, name]) => html`<a href=${to(screen)}
        aria-current=${here().screen === screen ? "page" : nothing}>${icon(name)}${text}</a>`);

let [screen, opening] = [null, null];
const openPalette = () => (opening ??= import("./palette.js")
    .then((palette) => palette.openPalette(screen)).finally(() => {
        opening = null;
    }));
addEventListener("palette", openPalette);
async function signOut() {
    const [{ mayLeave }, session] = await Promise.all([import("./confirm.js"),
        import("../session.js")]);
    return await mayLeave(screen) && session.signOut();
}
const firstKey = () => import("../screens/keys_new.js").then((keys) => keys.newKey());

function sideView() {
    const { open, name = open ? "Open service" : caller().actor } = caller();
    const tenant = getSession()?.tenant ?? here().tenant;
    const access = links(PLACES.slice(5));
    return html`<aside class="side ${nav.open ? "open" : ""}" aria-label="Navigation">
        <div class="brand"><div class="logo">${icon("logo")}</div><div><b>Roster</b>${tenant
            ? html`<span>Tenant <bdi>${tenant}</bdi></span>`
            : html`<span class="cut">${location.host}${base}</span>`}</div>
            <button class="btn ghost icon m" aria-label="Close the menu"
                @click=${() => showNav(false)}>${icon("x")}</button></div>
        <button class="find" @click=${openPalette}>${icon("search")}Find or do…
            <kbd>${modifier}K</kbd></button>
        <nav class="nav" aria-label="Main" @click=${() => showNav(false)}>
            ${links(PLACES.slice(0, 5))}${access.length ? html`<h2>Access</h2>` : ""}${access}</nav>
        <div class="who">${avatar(name)}<div><b class="cut"><bdi>${name}</bdi></b>
            <span>${callerText()}</span></div>${open ? "" : html`<button class="btn ghost icon"
            aria-label="Sign out" title="Sign out" @click=${once(signOut)}>${icon("signOut")}
            </button>`}</div></aside>`;
}

const toastView = (one) => html`<div class="toast ${one.kind}">
    ${icon(one.kind === "bad" ? "alert" : "check")}<span>${one.text}</span>${one.undo
    ? html`<button class="link" @click=${() => undo(one)}>${one.label}${one.label === "Undo"
    ? html`<kbd class="d">Z</kbd>` : ""}
        </button>` : ""}<button class="btn ghost icon" aria-label="Close"
        @click=${() => closeToast(one)}>${icon("x")}</button></div>`;

/** For whom has all tenants: in which one this is, and the way out. */
const tenantBar = () => (here().tenant && !getSession()?.tenant ? html`<div class="openbar info"
    role="region" aria-label="Tenant">${icon("building")}<span>You are in the tenant
    <b><bdi>${here().tenant}</bdi></b>.</span><a class="btn" href="#/users">Back to the default
    tenant</a></div>` : "");

export function shell(now, main) {
    screen = now;
    return html`<a class="skip" href="#main" @click=${(event) => {
        event.preventDefault();
        document.getElementById("main").focus();
    }}>Go to the content</a><div class="app">${sideView()}
        ${nav.open ? html`<div class="shade" @click=${() => showNav(false)}></div>` : ""}
        <main class="main" id="main" tabindex="-1" ?inert=${nav.open}>${tenantBar()}${
            caller().open ? html`<div class="openbar" role="region" aria-label="Open service">${
                icon("warn")}<span>This service is open: every program on this machine may change
            it.</span><button class="btn" @click=${firstKey}>Make the first key</button></div>`
                : ""}${main}</main></div>
        <div class="toasts" role="status" aria-live="polite">${[...toasts].map(toastView)}</div>
        <div class="sr" id="live" aria-live="polite"></div>`;
}

const COMMON = {
    "?": () => import("./palette.js").then((palette) => palette.showKeys()),
    z: () => undo(),
    c: () => (can("users:write") ? go("users", "new") : toast("Your credential only reads.")),
};
let afterG = 0;
/** Keys of the whole page, and those of the screen. G and then a letter goes to a screen. */
export function onKey(event) {
    const { key, altKey, target } = event;
    const strong = event.ctrlKey || event.metaKey;
    const name = strong && key === "Enter" ? "ctrl-enter"
        : key.length > 1 ? key : key.toLowerCase();
    const writes = target.matches?.("textarea, select, input:not([type=checkbox], [type=radio])");
    if (strong && !altKey && name === "k") {
        event.preventDefault();
        openPalette();
    } else if (name === "ctrl-enter" && topDialog()) {
        // Also where Enter alone means something else.
        event.preventDefault();
        /** @type {HTMLElement} */
        const main = topDialog().querySelector("footer .primary");
        main?.click();
    } else if (name === "Escape" && nav.open) {
        showNav(false);
    } else if (!opening && !topDialog() && !event.defaultPrevented
        && (name === "ctrl-enter" || !(strong || altKey || writes))) {
        const second = Date.now() - afterG < 1200;
        afterG = name === "g" && !second ? Date.now() : 0;
        const place = second && places().find(([, , , letter]) => letter === name);
        const action = place ? () => go(place[0]) : screen?.keys?.[name] ?? COMMON[name];
        // A key that is held down moves, and does nothing else again and again.
        const may = !event.repeat || /^(j|k|arrow.*|home|end)$/i.test(name);
        if (action && may && action(event) !== false) {
            event.preventDefault();
        }
    }
}
