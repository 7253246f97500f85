// The first key closes an open service. Who loses it is locked out, so its end is asked for.
import { html } from "../vendor/lit-html/lit-html.js";
import { asProblem, post } from "../api.js";
import { caller } from "../caller.js";
import { refresh, toast } from "../page.js";
import { openSession } from "../session.js";
import { dialog } from "../ui/dialog.js";
import { checkbox, faultsOf, field } from "../ui/fields.js";
import { note } from "../ui/parts.js";
import { showSecret } from "../ui/secret.js";

/** What each scope allows, in a sentence. */
export const SCOPES = /** @type {Record<string, string>} */ ({
    "users:read": "See users and groups",
    "users:write": "Create, change, delete and restore users and groups",
    "users:purge": "Erase deleted users for ever", "events:read": "Read the history of users",
    "audit:read": "Read who changed keys, webhooks and tenants",
    "keys:admin": "Make and revoke every key", "webhooks:admin": "Manage webhooks",
    "schema:write": "Declare attributes", "tenants:admin": "Manage tenants",
    "users:restore-ids": "Create users with chosen ids", "metrics:read": "Read metrics",
    scim: "Serve an identity provider over SCIM",
});
const NEEDED = "keys:admin";

/** Make the first key, show it, and sign in with it. */
export async function makeFirstKey() {
    const state = { name: "admin", scopes: new Set(caller().scopes), busy: false,
        error: /** @type {any} */ (null) };
    const made = await dialog({
        title: "Make the first key",
        lead: () => "From then on every request needs a key or a token, also those of programs "
            + "that use the service now. This cannot be undone from here.",
        body: () => html`
            ${field({ id: "key-name", label: "Name", value: state.name, required: true,
                error: state.error ? faultsOf(state.error)["/name"] ?? state.error.detail
                    : undefined,
                onInput: (name) => {
                    state.name = name;
                    state.error = null;
                    refresh();
                } })}
            <div class="choice" role="group"
                aria-label="What it may do">${caller().scopes.map((scope) =>
                checkbox({ label: SCOPES[scope] ?? scope, 
                    hint: html`<span class="mono">${scope}</span>`,
                    checked: state.scopes.has(scope), disabled: scope === NEEDED,
                    onChange: (on) => {
                        on ? state.scopes.add(scope) : state.scopes.delete(scope);
                        refresh();
                    } }))}</div>
            ${note("info", "It may make further keys, so that you can give others less.")}`,
        submit: async (close) => {
            if (state.busy || !state.name.trim()) {
                return;
            }
            state.busy = true;
            try {
                close((await post("/keys", { name: state.name.trim(), scopes: [...state.scopes],
                    tenants: "all" },
                    { service: true })).data);
            } catch (error) {
                state.error = asProblem(error);
            }
            state.busy = false;
            refresh();
        },
        actions: (close) => html`<div class="sp"><button type="button" class="btn"
            @click=${() => close()}>Cancel</button><button type="submit" class="btn primary"
            ?disabled=${state.busy}>Make the key</button></div>`,
    });
    if (made) {
        const secret = /** @type {any} */ (made).key ?? /** @type {any} */ (made).secret;
        await showSecret({ title: "Keep the first key", secret, typeEnd: true,
            text: "The service is closed now: only this key opens it." });
        try {
            await openSession(secret);
            location.reload();
        } catch (error) {
            toast(asProblem(error).detail, { kind: "bad" });
            location.reload();
        }
    }
}
