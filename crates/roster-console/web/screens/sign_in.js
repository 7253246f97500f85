// Sign in with a key or a token: on an empty page, or over the page after a session has ended.
import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { asProblem, base } from "../api.js";
import { here, loadStyles, refresh } from "../page.js";
import { openSession } from "../session.js";
import { dialog } from "../ui/dialog.js";
import { field } from "../ui/fields.js";
import { icon } from "../ui/icons.js";

/** State and fields of both forms. @param {() => unknown} done */
function signInForm(done) {
    const tenant = here().tenant;
    const state = { credential: "", tenant, asksTenant: Boolean(tenant), show: false, busy: false,
        error: /** @type {any} */ (null) };

    async function submit() {
        if (!state.credential.trim() || state.busy) {
            return;
        }
        Object.assign(state, { busy: true, error: null });
        refresh();
        try {
            await openSession(state.credential, state.asksTenant ? state.tenant.trim() : "");
            state.credential = "";
            await done();
        } catch (error) {
            state.error = asProblem(error);
            state.asksTenant ||= state.error.code === "wrong-tenant";
        }
        state.busy = false;
        refresh();
    }

    const words = () => {
        const { status, code, detail, title, retryAfter } = state.error;
        if (code === "wrong-tenant" || code === "tenant-not-found") {
            return state.tenant ? "This credential is not for a tenant of this name."
                : "This credential is for one tenant. Write its name below.";
        }
        if (status === 429) {
            return `Too many tries. Wait ${retryAfter || 60} s, then try again.`;
        }
        return status === 401 ? "This key or token is not valid. It may be revoked, expired, "
            + "or not copied as a whole." : detail || title;
    };

    // The name of the service is the user name, so that a password manager keeps one key for each.
    const fields = () => html`
        <input class="sr" type="text" name="username" autocomplete="username" tabindex="-1"
            aria-hidden="true" readonly .value=${location.host + base}>
        ${field({ id: "credential", label: "Key or access token", 
            type: state.show ? "text" : "password",
            autocomplete: "current-password", value: state.credential, mono: true, required: true,
            autofocus: true, error: state.error ? words() : undefined,
            hint: "A key begins with rst_. An administrator makes one under Keys.",
            onInput: (value) => {
                state.credential = value;
                state.error = null;
                refresh();
            } })}
        ${state.asksTenant ? field({ id: "tenant", label: "Tenant", value: state.tenant, mono: true,
            hint: "The part after /tenants/ in your base URL. Empty for a key of the whole service.",
            onInput: (value) => {
                state.tenant = value;
                state.error = null;
                refresh();
            } }) : nothing}
        <label class="check"><input type="checkbox" class="chk" .checked=${state.show}
            @change=${() => {
                state.show = !state.show;
                refresh();
            }}><span>Show it</span></label>`;
    return { state, submit, fields };
}

/** The page before anybody is signed in. @param {{done: () => unknown}} options */
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
        <form @submit=${(/** @type {Event} */ event) => {
            event.preventDefault();
            submit();
        }}>${fields()}
            <button type="submit" class="btn primary" ?disabled=${state.busy}>${state.busy
                ? "Signing in…" : "Sign in"}</button></form>
        <div class="identity-provider"></div>
        <p class="muted">The key stays in this form only until you are signed in. A session ends
            after
            30 minutes without input, and after 12 hours.</p>
    </div></main>` };
}

/** Sign in over the page; what is typed there stays. Esc does not close it. */
export function signInOver() {
    return new Promise((resolve) => {
        /** @type {(answer?: unknown) => void} */
        let close = () => undefined;
        const { state, submit, fields } = signInForm(() => {
            close();
            resolve(undefined);
        });
        dialog({
            title: "Sign in to go on", stays: true,
            lead: () => "Your session has ended. Your changes are still on the page.",
            body: (end) => {
                close = end;
                return fields();
            },
            submit,
            actions: () => html`<div class="sp"><button type="button" class="btn"
                @click=${() => location.reload()}>Leave the page</button>
                <button type="submit" class="btn primary" ?disabled=${state.busy}>Sign in
                </button></div>`,
        });
    });
}
