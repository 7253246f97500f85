// The settings of a webhook: changes with its version, and what to do if somebody else was faster.
import { html } from "../vendor/lit-html/lit-html.js";
import { asProblem, get, patch } from "../api.js";
import { can } from "../caller.js";
import { refresh, toast } from "../page.js";
import { count } from "../texts.js";
import { faultsOf, focusField } from "../ui/fields.js";
import { note } from "../ui/parts.js";
import { bodyOf, differing, draftOf, fieldsView, firstFault, mayBeSent } from "./webhook_form.js";

/** @typedef {import("./webhook_text.js").Webhook} Webhook */
/** @typedef {import("./webhook_form.js").Draft} Draft */

const WORDS = /** @type {Record<string, string>} */ ({ name: "name", url: "URL", types: "events",
    all: "tenants", payload: "payload", batch: "events a request" });

/** @param {() => Webhook} current @param {(webhook: Webhook) => void} take */
export function settingsTab(current, take) {
    const state = { base: /** @type {Webhook | null} */ (null), draft: /** @type {Draft | null}
     * */ (null),
        faults: /** @type {Record<string, string>} */ ({}), theirs: "", error: /** @type {any}
         * */ (null),
        busy: false };

    function discard() {
        Object.assign(state, { base: null, draft: null, faults: {}, theirs: "", error: null });
        refresh();
    }

    /** The names of what the user changed. */
    const edits = () => (state.base && state.draft ? differing(draftOf(state.base), state.draft)
        : []);

    /** Take what is stored now, and keep the user's edits. @param {Webhook} now */
    function rebase(now) {
        const [base, draft] = [/** @type {Webhook} */ (state.base), /** @type {Draft}
         * */ (state.draft)];
        const mine = edits();
        const others = differing(draftOf(base), draftOf(now));
        state.base = now;
        state.draft = { ...draftOf(now),
            ...Object.fromEntries(mine.map((name) => [name, draft[name]])) };
        const both = others.filter((name) => mine.includes(name));
        const text = (/** @type {string[]} */ names) => names.map((name) => WORDS[name]).join(", ");
        state.theirs = others.length
            ? `Somebody else changed ${text(others)} meanwhile.${both.length
            ? ` Saving now replaces their ${text(both)} by yours.` : ""}`
            : now.version !== base.version
                ? "Somebody else paused, resumed, replayed or rotated it "
                + "meanwhile. Your changes still fit." : "";
    }

    async function save() {
        const { base, draft } = state;
        const names = edits();
        if (!base || !draft || !names.length || state.busy) {
            return;
        }
        if (!mayBeSent(state, draft)) {
            return;
        }
        state.busy = true;
        refresh();
        try {
            const { data } = await patch(`/webhooks/${base.id}`, bodyOf(draft, names),
                { version: base.version });
            discard();
            take(data);
            toast(`${data.name} is saved.`);
        } catch (error) {
            await failed(error);
        }
        state.busy = false;
        refresh();
    }

    /** @param {any} error */
    async function failed(error) {
        const problem = asProblem(error);
        if (problem.status === 412) {
            try {
                rebase((await get(`/webhooks/${state.base?.id}`)).data);
                refresh();
                queueMicrotask(() => document.querySelector(".hook-form .form > .box")
                    ?.scrollIntoView({ block: "center" }));
                return;
            } catch (again) {
                state.error = asProblem(again);
                return;
            }
        }
        state.faults = faultsOf(problem);
        state.error = Object.keys(state.faults).length ? null : problem;
        if (!state.error) {
            refresh();
            focusField(firstFault(state.faults));
        }
    }

    function view() {
        const stored = current();
        // Edits keep the version with which they began; without edits the form follows the service.
        if (!state.draft || (!edits().length && state.base?.version !== stored.version)) {
            state.base = stored;
            state.draft = draftOf(stored);
            state.theirs = "";
        }
        const base = draftOf(/** @type {Webhook} */ (state.base));
        const changes = edits().length;
        const off = !can("events:read");
        const others = changes && !state.theirs && state.base?.version !== stored.version;
        return html`<form class="form" novalidate @submit=${(/** @type {Event} */ event) => {
            event.preventDefault();
            save();
        }}>
            ${off ? note("info", html`Changes need the scope <span class="mono">events:read</span>.
                You may pause or delete this webhook.`) : ""}
            ${state.theirs ? note("warn", html`<span role="alert">${state.theirs} Look and save
                again.
                </span>`) : others ? note("warn", "Somebody else changed this webhook just now.")
                    : ""}
            ${state.error ? note("bad", html`<span role="alert">${state.error.title}. ${
                state.error.detail}</span>`) : ""}
            ${fieldsView(state.draft, state.faults, base, off)}
            ${changes ? html`<div class="savebar" role="region" aria-label="Unsaved changes">
                <b>${Object.keys(state.faults).length ? html`<span class="bad">${count(
                    Object.keys(state.faults).length, "field needs", "fields need")}
                        attention</span>`
                    : count(changes, "change")}</b>
                <div class="sp"><button type="button" class="btn ghost"
                    @click=${discard}>Discard</button>
                    <button type="submit" class="btn primary"
                        ?disabled=${state.busy}>Save</button></div>
            </div>` : ""}
        </form>`;
    }

    return { view, save, unsaved: () => edits().length > 0 };
}
