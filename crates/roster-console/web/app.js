// Start, sign-in, and the screen that the fragment names.
import { html, render } from "./vendor/lit-html/lit-html.js";
import { asProblem, get, getSession, onSessionEnd, setSession } from "./api.js";
import { isKnown, setCaller } from "./caller.js";
import { addLayer, here, loadStyles, nav, refresh } from "./page.js";
import { formatRoute, samePlace } from "./route.js";
import { errorPanel, pageHead, skeleton } from "./ui/parts.js";
import { onKey, shell } from "./ui/shell.js";

/**
 * @typedef {object} Screen
 * @property {string | (() => string)} title            for the tab of the browser
 * @property {() => unknown} view                       the template of the screen
 * @property {(route: import("./route.js").Route) => unknown} [changed]  same place, other query
 * @property {(route: import("./route.js").Route) => boolean} [owns]     stays open at this route
 * @property {() => void} [close]                       stop timers and requests
 * @property {() => boolean} [unsaved]                  whether leaving would lose edits
 * @property {Record<string, (event: KeyboardEvent) => unknown>} [keys]
 * @property {() => unknown} [drawn]                    after each draw, for sizes and scrolling
 */

/** Modules of the screens. A list and one record of it are two modules.
 * @type {Record<string, (parts: string[]) => Promise<any>>} */
const SCREENS = {
    users: ([first]) => (first === "new" ? import("./screens/user_new.js")
        : first ? import("./screens/user.js") : import("./screens/users.js")),
    groups: ([id]) => (id ? import("./screens/group.js") : import("./screens/groups.js")),
    deleted: ([id]) => (id ? import("./screens/deleted_user.js") : import("./screens/deleted.js")),
    import: () => import("./screens/import.js"),
    activity: () => import("./screens/activity.js"),
    keys: ([id]) => (id ? import("./screens/key.js") : import("./screens/keys.js")),
    webhooks: ([id]) => (id ? import("./screens/webhook.js") : import("./screens/webhooks.js")),
    scim: () => import("./screens/scim.js"),
    tenants: ([id]) => (id ? import("./screens/tenant.js") : import("./screens/tenants.js")),
};

/** @type {{gate: "wait" | "sign-in" | "in" | "fault", error: any, screen: Screen | null,
 *   signIn: null | {view: () => unknown}, over: null | Promise<void>}} */
const state = { gate: "wait", error: null, screen: null, signIn: null, over: null };
let shown = here();
let shownHash = location.hash;
let opening = 0;
let moveFocus = false;

const root = /** @type {HTMLElement} */ (document.getElementById("app"));

function mainView() {
    if (state.error) {
        return html`${pageHead({ title: "This cannot be shown" })}
            ${errorPanel(state.error, () => openScreen())}`;
    }
    return state.screen ? state.screen.view() : html`${pageHead({ title: "" })}${skeleton(10)}`;
}

function draw() {
    if (state.gate === "in") {
        render(shell(mainView()), root);
        state.screen?.drawn?.();
        focusHeading();
    } else if (state.gate === "sign-in") {
        render(state.signIn?.view(), root);
    } else if (state.gate === "fault") {
        render(html`<main class="alone">${errorPanel(state.error, start)}</main>`, root);
    }
    const title = state.gate === "in" ? state.screen?.title : "Sign in";
    const text = typeof title === "function" ? title() : title;
    document.title = text ? `${text} · Roster` : "Roster";
}

/** After a navigation, focus the heading, so that a screen reader says where it is. */
function focusHeading() {
    if (moveFocus && state.screen && !document.querySelector("dialog[open]")) {
        moveFocus = false;
        const wanted = root.querySelector("main [autofocus], main h1");
        /** @type {HTMLElement | null} */ (wanted)?.focus({ preventScroll: true });
    }
}

/** Open the screen of the fragment. */
async function openScreen() {
    const route = here();
    const mine = ++opening;
    state.screen?.close?.();
    state.screen = null;
    state.error = null;
    shown = route;
    shownHash = location.hash;
    refresh();
    try {
        const load = SCREENS[route.screen];
        if (!load) {
            throw new Error(`There is no screen “${route.screen}”. Choose one in the navigation.`);
        }
        const [module] = await Promise.all([load(route.parts), styles(route)]);
        if (mine === opening) {
            state.screen = module.default(route);
        }
    } catch (error) {
        if (mine === opening) {
            state.error = /import|module/i.test(String(error)) ? asProblem(error) : error;
        }
    }
    refresh();
}

/** The list of users needs app.css only; other screens have a second sheet.
 * @param {import("./route.js").Route} route */
const styles = (route) =>
    (route.screen === "users" && !route.parts.length ? null : loadStyles("screens.css"));

async function moved() {
    const route = here();
    const screen = state.screen;
    const stays = screen && (screen.owns ? screen.owns(route) : samePlace(shown, route));
    if (!stays && screen?.unsaved?.() && location.hash !== shownHash) {
        const wanted = location.hash;
        history.pushState(null, "", shownHash);
        const { confirm } = await import("./ui/confirm.js");
        if (await confirm({ title: "Leave without saving?", danger: true,
            text: "Your changes on this page are not saved yet. If you leave, they are lost.",
            action: "Leave", cancel: "Stay" })) {
            screen.unsaved = undefined;
            location.hash = wanted;
        }
        return;
    }
    nav.open = false;
    moveFocus = true;
    if (stays && screen.changed) {
        shown = route;
        shownHash = location.hash;
        await screen.changed(route);
        refresh();
    } else {
        await openScreen();
    }
}

/** Ask for a credential on an empty page. */
async function askSignIn() {
    const { signIn } = await import("./screens/sign_in.js");
    state.signIn = signIn({ done: start });
    state.gate = "sign-in";
    refresh();
}

/** Ask for a credential over the page; edits stay. All waiting requests share one question. */
function askAgain() {
    state.over ??= import("./screens/sign_in.js")
        .then(({ signInOver }) => signInOver())
        .then(async () => setCaller((await get("/caller", { quiet: true })).data))
        .finally(() => {
            state.over = null;
            refresh();
        });
    return state.over;
}

/** Find out who calls, then show the screen or the sign-in. */
export async function start() {
    try {
        setCaller((await get("/caller", { quiet: true })).data);
        state.gate = "in";
        state.error = null;
        await openScreen();
    } catch (error) {
        const problem = asProblem(error);
        if (problem.status === 401) {
            setSession(null);
            await askSignIn();
            return;
        }
        state.gate = "fault";
        state.error = problem;
        refresh();
    }
}

/** User input keeps a session alive; polling does not. */
let renewed = Date.now();
function onInput() {
    if (getSession() && !state.over && Date.now() - renewed > 60_000) {
        renewed = Date.now();
        import("./session.js").then((session) => session.renew());
    }
}

addLayer(draw);
onSessionEnd(askAgain);
addEventListener("hashchange", moved);
addEventListener("keydown", (event) => {
    onInput();
    if (isKnown() && state.gate === "in") {
        onKey(event, state.screen);
    }
});
addEventListener("pointerdown", onInput);
addEventListener("beforeunload", (event) => {
    if (state.screen?.unsaved?.()) {
        event.preventDefault();
    }
});
if (!location.hash) {
    history.replaceState(null, "", formatRoute({ screen: "users" }));
    shown = here();
}
// Both are needed by most visits; the first answer of the service then has its screen at once.
if (here().screen === "users" && !here().parts.length) {
    import("./screens/users.js");
}
start();
