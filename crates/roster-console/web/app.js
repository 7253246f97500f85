// Start, sign-in, and the screen that the fragment names.
import { html, render } from "./vendor/lit-html/lit-html.js";
import { asProblem, get, getSession, problemOf, sessionEnd, setSession } from "./api.js";
import { setCaller } from "./caller.js";
import { addLayer, closeToast, here, loadStyles, nav, refresh, toasts } from "./page.js";
import { formatRoute, samePlace } from "./route.js";
import { attempt } from "./ui/data.js";
import { errorPanel, pageHead, safely, skeleton } from "./ui/parts.js";
import { onKey, shell } from "./ui/shell.js";

/** The screens, and the modules of one record of their list. A screen has `title`, `view`, perhaps
 * `changed` (another query), `owns` (stays at a route), `close`, `unsaved`, `keys`, `drawn`, and
 * `acts`: what the command palette offers besides the buttons, a text, an icon and a function. */
const SCREENS = { users: "user", groups: "group", deleted: "deleted", import: "import",
    activity: "activity", keys: "key", webhooks: "webhooks", scim: "scim", tenants: "tenants" };

const root = document.getElementById("app");
/** What is shown: one of these; without any the page waits. @type {any} */
let [screen, signIn, error, inside, over] = [];
let [shown, shownHash, opening, moveFocus, renewed] = [here(), location.hash, 0, false, 0];

const failed = (why) => html`${pageHead({ title: "This cannot be shown" })}${
    errorPanel(why, openScreen)}`;

function draw() {
    render(!inside ? (signIn ? signIn.view()
        : error && html`<main class="alone">${errorPanel(error, start)}<div class="row">${
            here().tenant && !getSession()?.tenant ? html`<a class="btn" href="#/users">Go to the
            default tenant</a>` : ""}${getSession() ? html`<button class="btn" @click=${() =>
            import("./session.js").then((session) => session.signOut())}>Sign out</button>`
            : ""}</div></main>`)
        : shell(screen, screen ? safely(() => screen.view(), failed) : error ? failed(error)
            : html`${pageHead({ title: "" })}${skeleton(10)}`), root);
    screen?.drawn?.();
    const title = inside ? screen?.title : "Sign in";
    document.title = `${(title?.call ? title() : title) ?? ""} · Roster`.replace(/^ · /, "");
    if (moveFocus && screen && !document.querySelector("dialog[open]")) {
        // After a navigation, so that a screen reader says where it is.
        moveFocus = false;
        /** @type {HTMLElement} */
        const heading = root.querySelector("main [autofocus], main h1");
        heading?.focus({ preventScroll: true });
    }
}

function arrive() {
    [shown, shownHash] = [here(), location.hash];
}

async function openScreen() {
    const mine = ++opening;
    const route = here();
    const { screen: name, parts: [id] } = route;
    screen?.close?.();
    screen = error = null;
    arrive();
    refresh();
    try {
        if (!Object.hasOwn(SCREENS, name)) {
            throw new Error(`There is no screen “${name}”. Choose one in the navigation.`);
        }
        const file = id ? SCREENS[name] : name;
        // The list of users needs app.css only.
        const [module] = await Promise.all([import(`./screens/${file}.js`),
            file !== "users" && loadStyles("screens.css")]);
        screen = mine === opening ? module.default(route) : screen;
    } catch (failure) {
        const problem = await problemOf(failure);
        error = mine === opening ? problem : error;
    }
    refresh();
}

async function moved() {
    const route = here();
    if (!inside) {
        return !signIn && error && start();
    }
    const stays = screen && (screen.owns ? screen.owns(route) : samePlace(shown, route));
    if (!stays && screen?.unsaved?.() && location.hash !== shownHash) {
        const wanted = location.hash;
        history.pushState(null, "", shownHash);
        const { mayLeave } = await import("./ui/confirm.js");
        if (await mayLeave(screen)) {
            location.hash = wanted;
        }
        return;
    }
    [nav.open, moveFocus] = [false, true];
    // In another tenant Undo would undo something else.
    toasts.forEach((one) => route.tenant !== shown.tenant && one.undo && closeToast(one));
    if (!stays || !screen.changed) {
        return openScreen();
    }
    arrive();
    await screen.changed(route);
    refresh();
}

const readCaller = async () => setCaller((await get("/caller", { quiet: true })).data);

// Ask for a credential over the page; edits stay. All waiting requests share one question.
sessionEnd.ask = () => (over ??= import("./screens/sign_in.js")
    .then((module) => module.signInOver()).then(readCaller).finally(() => {
        over = null;
        refresh();
    }));
sessionEnd.taken = () => readCaller().catch(() => undefined);

async function start() {
    try {
        await readCaller();
        inside = true;
        await openScreen();
    } catch (failure) {
        error = asProblem(failure);
        signIn = null;
        if (error.status === 401) {
            setSession(null);
            signIn = (await import("./screens/sign_in.js")).signIn({ done: start });
        }
        refresh();
    }
}

/** User input keeps a session alive; polling does not. */
function onInput() {
    if (getSession() && !over && Date.now() - renewed > 60_000) {
        renewed = Date.now();
        import("./session.js").then((session) => session.renew(), () => undefined);
    }
}
addLayer(draw);
addEventListener("hashchange", moved);
addEventListener("reopen", openScreen);
addEventListener("pointerdown", onInput);
addEventListener("keydown", onInput);
addEventListener("keydown", (event) => inside && onKey(event));
// A key that is held down would press what is in the place of a row that is gone.
addEventListener("keydown", (/** @type {any} */ event) => event.repeat && event.key === "Enter"
    && event.target.matches?.("button, input") && event.preventDefault(), true);
// What nothing else has said, such as that a part of the page could not be loaded.
addEventListener("unhandledrejection", (event) => attempt(() => Promise.reject(event.reason)));
addEventListener("beforeunload", (event) =>
    (screen?.unsaved?.() || document.querySelector("dialog .secret")) && event.preventDefault());
if (!location.hash) {
    history.replaceState(null, "", formatRoute({ screen: "users" }));
    arrive();
}
// Both are needed by most visits; the first answer of the service then has its screen at once.
if (here().screen === "users" && !here().parts[0]) {
    import("./screens/users.js");
}
start();
