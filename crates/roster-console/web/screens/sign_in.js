// Sign in with a key or a token: on an empty page, or over the page after a session has ended.
import { html } from "../vendor/lit-html/lit-html.js";
import { asProblem, base, getSession } from "../api.js";
import { caller } from "../caller.js";
import { here, loadStyles, refresh } from "../page.js";
import { openSession } from "../session.js";
import { reason } from "../ui/data.js";
import { dialog } from "../ui/dialog.js";
import { checkbox, field } from "../ui/fields.js";
import { icon } from "../ui/icons.js";

const words = (error) => (error.code === "wrong-tenant"
    ? "This credential is for one tenant. Write its name below."
    : `${error.status === 401 ? "This key or token is not valid" : "Not signed in"}: ${reason(error)
        .replace(/\.$/, "")}. ${error.retryAfter ? `Wait ${error.retryAfter} s.` : ""}`);

/** State and fields of both forms. */
function signInForm(done, refuse = undefined) {
    const { tenant } = here();
    const state = { credential: "", tenant, asks: tenant !== "", show: false, busy: false,
        error: null };
    const set = (next) => {
        Object.assign(state, next);
        refresh();
    };
    async function submit() {
        set({ busy: true, error: null });
        try {
            await openSession(state.credential, state.asks ? state.tenant.trim() : "", refuse);
            state.credential = "";
            await done();
        } catch (failure) {
            const error = asProblem(failure);
            set({ error, asks: state.asks || error.code === "wrong-tenant" });
        }
        set({ busy: false });
    }
    const input = (id, more) => field({ id, value: state[id], mono: true, ...more,
        onInput: (text) => set({ [id]: text, error: null }) });
    // The name of the service is the user name, so that a password manager keeps one key for each.
    const fields = () => html`
        <input class="sr" type="text" name="username" autocomplete="username" tabindex="-1"
            aria-hidden="true" readonly .value=${location.host + base}>
        ${input("credential", { label: "Key or access token", required: true, autofocus: true,
            type: state.show ? "text" : "password", autocomplete: "current-password",
            error: state.error && words(state.error),
            hint: "A key begins with rst_. An administrator makes one under Keys." })}
        ${state.asks ? input("tenant", { label: "Tenant",
            hint: "Empty for a key of the whole service." }) : ""}
        ${checkbox({ label: "Show it", checked: state.show, onChange: (show) => set({ show }) })}`;
    return { state, submit, fields };
}

/** The page before anybody is signed in. */
export function signIn({ done }) {
    const { state, submit, fields } = signInForm(done);
    loadStyles("screens.css").then(() => {
        refresh();
        setTimeout(() => document.getElementById("credential")?.focus());
    });
    return { view: () => html`<main class="alone" id="main"><div class="signin">
        <div class="brand"><div class="logo">${icon("logo")}</div>
            <div><b>Roster</b><span>${location.host}${base}</span></div></div>
        <h1 tabindex="-1">Sign in</h1>
        <form @submit=${(event) => {
            event.preventDefault();
            submit();
        }}>${fields()}<button type="submit" class="btn primary" ?disabled=${state.busy}>Sign in
            </button></form>
        <p class="muted">A session ends after 30 minutes without input, and after 12 hours.</p>
        </div></main>` };
}

/** Sign in over the page; what is typed there stays. Esc does not close it. */
export async function signInOver() {
    let close;
    while (document.querySelector("dialog .secret")) {
        // It can be read only now, and perhaps is the key to sign in with.
        await new Promise((done) => setTimeout(done, 300));
    }
    const tenantOf = (session) => session?.tenant ?? here().tenant;
    const before = tenantOf(getSession());
    const { state, submit, fields } = signInForm(() => close(), (session) =>
        (tenantOf(session) === before ? "" : "What is on the page is of another tenant. Use a "
            + "credential for that one, or leave the page"));
    return dialog({ title: "Sign in to go on", stays: true, submit, action: "Sign in",
        ready: () => state.credential !== "" && !state.busy,
        lead: () => `${caller().open ? "Somebody made the first key"
            : "Your session has ended"}. Your changes are still on the page.`,
        body(end) {
            close = end;
            return html`${fields()}<button type="button" class="link" @click=${() =>
                location.reload()}>Leave the page</button>`;
        } });
}
