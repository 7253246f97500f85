// The frame of the page: navigation, bar of an open service, toasts and the keys.
import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { base, getSession } from "../api.js";
import { allTenants, caller, callerText, can } from "../caller.js";
import { closeToast, go, here, nav, refresh, showNav, to, toast, toasts, undoNewest }
    from "../page.js";
import { icon } from "./icons.js";
import { avatar, modifier } from "./parts.js";

/** Numbers beside the words of the navigation; a screen sets its own. */
const counts = /** @type {Record<string, string>} */ ({});

/** @param {string} screen @param {string} text */
export function setCount(screen, text) {
    if (counts[screen] !== text) {
        counts[screen] = text;
        refresh();
    }
}

/** @type {[string, string, import("./icons.js").IconName, () => boolean][]} */
const PLACES = [
    ["users", "Users", "users", () => can("users:read")],
    ["groups", "Groups", "groups", () => can("users:read")],
    ["deleted", "Deleted users", "trash", () => can("users:read", "users:write")],
    ["activity", "Activity", "activity", () => can("events:read")],
    ["import", "Import", "upload", () => can("users:write")],
    ["keys", "Keys", "key", () => can("keys:admin")],
    ["scim", "SCIM", "sync", () => can("users:read")],
    ["webhooks", "Webhooks", "webhook", () => can("webhooks:admin")],
    ["tenants", "Tenants", "building", () => can("tenants:admin") && allTenants()],
];

const link = (/** @type {typeof PLACES[number]} */ [screen, text, name, shown]) => (shown() ? html`
    <a href=${to(screen)} aria-current=${here().screen === screen ? "page" : nothing}>
        ${icon(name)}${text}<span class="n">${counts[screen] ?? ""}</span></a>` : "");

const tenantLine = () => {
    const tenant = getSession()?.tenant ?? here().tenant;
    return tenant ? html`<span>Tenant <bdi>${tenant}</bdi></span>`
        : html`<span class="cut">${location.host}${base}</span>`;
};

const openJump = () => import("./jump.js").then((jump) => jump.openJump());

const signOut = () => import("../session.js").then((session) => session.signOut());

function whoView() {
    const one = caller();
    const name = one.open ? "Open service" : one.name ?? one.actor;
    return html`
        <div class="who">${avatar(name)}
            <div><b class="cut"><bdi>${name}</bdi></b><span>${callerText()}</span></div>
            ${one.open ? "" : html`<button class="btn ghost icon" aria-label="Sign out"
                title="Sign out"
                @click=${signOut}>${icon("signOut")}</button>`}
        </div>`;
}

/** The bar that says that anybody may change the service. */
const openBar = () => html`
    <div class="openbar" role="region" aria-label="Open service">${icon("warn")}
        <span>This service is open: every program on this machine may change it.</span>
        <button class="btn" @click=${() => import("../screens/first_key.js")
        .then((first) => first.makeFirstKey())}>Make the first key</button>
    </div>`;

const toastsView = () => html`
    <div class="toasts" role="status" aria-live="polite">${toasts.map((one) => html`
        <div class="toast ${one.kind}">${icon(one.kind === "bad" ? "alert" : "check")}
            <span>${one.text}</span>
            ${one.undo ? html`<button class="link" @click=${() => {
                closeToast(one.id);
                one.undo?.();
            }}>${one.label}<kbd class="d">Z</kbd></button>` : ""}
            <button class="btn ghost icon" aria-label="Close" @click=${() => closeToast(one.id)}>
                ${icon("x")}</button>
        </div>`)}</div>`;

/** The page around a screen. @param {unknown} main */
export const shell = (main) => html`
    <a class="skip" href="#main" @click=${(/** @type {Event} */ event) => {
        event.preventDefault();
        document.getElementById("main")?.focus();
    }}>Go to the content</a>
    <div class="app">
        <aside class="side ${nav.open ? "open" : ""}" aria-label="Navigation">
            <div class="brand"><div class="logo">${icon("logo")}</div>
                <div><b>Roster</b>${tenantLine()}</div>
                <button class="btn ghost icon m" aria-label="Close the menu"
                    @click=${() => showNav(false)}>${icon("x")}</button></div>
            <button class="jump" @click=${openJump}>${icon("search")}Jump to…
                <kbd>${modifier}K</kbd></button>
            <nav class="nav" aria-label="Main" @click=${() => showNav(false)}>
                ${PLACES.slice(0, 5).map(link)}
                ${PLACES.slice(5).some((place) => place[3]()) ? html`<h2>Access</h2>` : ""}
                ${PLACES.slice(5).map(link)}
            </nav>
            ${whoView()}
        </aside>
        ${nav.open ? html`<div class="shade" @click=${() => showNav(false)}></div>` : ""}
        <main class="main" id="main" tabindex="-1" ?inert=${nav.open}>
            ${caller().open ? openBar() : ""}${main}</main>
    </div>
    ${toastsView()}
    <div class="sr" id="live" aria-live="polite"></div>`;

/** @param {EventTarget | null} target */
const writes = (target) => target instanceof HTMLElement
    && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
    && !/^(checkbox|radio|button)$/.test(/** @type {HTMLInputElement} */ (target).type);

const GO = /** @type {Record<string, string>} */ ({
    u: "users", g: "groups", d: "deleted", a: "activity", k: "keys", w: "webhooks", i: "import",
    s: "scim", t: "tenants",
});
let afterG = 0;

/** Keys of the whole page; `screen` has those of the screen.
 * @param {KeyboardEvent} event @param {{keys?: Record<string, (event: KeyboardEvent) => unknown>}
 *   | null} screen */
export function onKey(event, screen) {
    const key = event.key;
    const strong = event.ctrlKey || event.metaKey;
    if (strong && !event.altKey && key.toLowerCase() === "k") {
        event.preventDefault();
        openJump();
        return;
    }
    if (document.querySelector("dialog[open]") || event.defaultPrevented) {
        return;
    }
    if (key === "Escape" && nav.open) {
        showNav(false);
        return;
    }
    const name = strong && key === "Enter" ? "ctrl-enter" : key.length === 1 ? key.toLowerCase() :
        key;
    if (name === "ctrl-enter" ? false : strong || event.altKey || writes(event.target)) {
        return;
    }
    const action = goKey(name) ?? screen?.keys?.[name] ?? COMMON[name];
    if (action && action(event) !== false) {
        event.preventDefault();
    }
}

/** G and then a letter goes to a screen.
 * @param {string} name @returns {(() => unknown) | undefined} */
function goKey(name) {
    const second = Date.now() - afterG < 1200;
    afterG = name === "g" && !second ? Date.now() : 0;
    const place = second ? PLACES.find(([screen]) => screen === GO[name]) : undefined;
    return place?.[3]() ? () => go(place[0]) : undefined;
}

const COMMON = /** @type {Record<string, (event: KeyboardEvent) => unknown>} */ ({
    "?": () => import("./keys_help.js").then((help) => help.showKeys()),
    z: () => undoNewest(),
    c: () => (can("users:write") ? go("users", "new") : toast("Your credential only reads.")),
});
