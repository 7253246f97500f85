// A new webhook: the form, from where it begins, and then its secret.
import { html } from "../vendor/lit-html/lit-html.js";
import { asProblem, post } from "../api.js";
import { can } from "../caller.js";
import { go, refresh, to } from "../page.js";
import { faultsOf, field, focusField } from "../ui/fields.js";
import { noScope, note, pageHead } from "../ui/parts.js";
import { showSecret } from "../ui/secret.js";
import { readEnds, secretUse } from "./webhook_actions.js";
import { bodyOf, differing, fieldsView, firstFault, mayBeSent,
    radio } from "./webhook_form.js";
import { USUAL_TYPES, parts } from "./webhook_text.js";

/** @returns {import("./webhook_form.js").Draft} */
const empty = () => ({ name: "", url: "", types: USUAL_TYPES, all: false, payload: "full",
    batch: "1" });

export function newWebhook() {
    const draft = empty();
    const state = { faults: /** @type {Record<string, string>} */ ({}), way: "now", after: "",
        error: /** @type {any} */ (null), busy: false, done: false };

    async function create() {
        if (state.busy) {
            return;
        }
        const position = state.way === "position" && !parts(state.after)
            ? { "/after": "Write a position such as 263955ceb1fcf401-2." } : {};
        if (!mayBeSent(state, draft, /** @type {Record<string, string>} */ (position))) {
            return;
        }
        state.busy = true;
        refresh();
        try {
            const body = bodyOf(draft, ["name", "url", "types", "payload", "batch",
                ...(draft.all ? /** @type {const} */ (["all"]) : [])]);
            if (state.way === "begin") {
                body.after = (await readEnds()).begin;
            } else if (state.way === "position") {
                body.after = state.after.trim();
            }
            const { data } = await post("/webhooks", body);
            state.done = true;
            await showSecret({ title: `The secret of ${data.name}`, secret: data.secret,
                text: secretUse() });
            history.replaceState(null, "", to("webhooks"));
            go("webhooks", data.id);
        } catch (error) {
            const problem = asProblem(error);
            state.faults = faultsOf(problem);
            if (problem.code === "position-outlived") {
                state.faults["/after"] = "The log does not have the events after this position.";
                state.way = "position";
            }
            const shown = Object.keys(state.faults).some((pointer) =>
                /^\/(name|url|types|batch_max|after|tenants)$/
                .test(pointer));
            state.error = shown ? null : problem;
            refresh();
            focusField(firstFault(state.faults));
        }
        state.busy = false;
        refresh();
    }

    /** @param {string} way @param {string} label @param {string} hint */
    const way = (way, label, hint) => radio("hook-way", label, state.way === way, false, () => {
        state.way = way;
        delete state.faults["/after"];
    }, hint);

    const begin = () => html`<fieldset><legend>Begin</legend><div class="fs">
        <div class="w f choice" role="radiogroup" aria-label="From where it sends">
            ${way("now", "Now", "Sends what changes from now on. If the receiver needs the "
                + "users of "
                + "today too, it reads them once, with GET /bulk/users.")}
            ${way("begin", "At the beginning of the log",
                "Sends all events that are still kept, the "
                + "oldest first.")}
            ${way("position", "After a position",
                "For example that of an export which the receiver "
                + "has already read.")}</div>
        ${state.way === "position"
            ? field({ id: "hook-after", label: "Position", value: state.after,
            mono: true, wide: true, error: state.faults["/after"],
                placeholder: "263955ceb1fcf401-2",
            hint: "The Roster-Position of a response, or the id of an event.", onInput: (value) => {
                state.after = value;
                delete state.faults["/after"];
                refresh();
            } }) : ""}</div></fieldset>`;

    const back = { href: to("webhooks"), text: "Webhooks" };
    if (!can("webhooks:admin", "events:read")) {
        const missing = can("webhooks:admin") ? "events:read" : "webhooks:admin";
        return { title: "New webhook", view: () => html`${pageHead({ title: "New webhook", back })}
            ${noScope(missing, "create webhooks")}` };
    }
    return {
        title: "New webhook",
        view: () => html`${pageHead({ title: "New webhook", back })}
            <div class="page hook-form"><form class="form" novalidate @submit=${(
                /** @type {Event} */ event) => {
                event.preventDefault();
                create();
            }}>
                ${fieldsView(draft, state.faults)}${begin()}
                ${state.error ? note("bad", html`${state.error.title}. ${state.error.detail}${
                    state.error.requestId ? html` Request id <span class="mono">${
                        state.error.requestId}</span>.` : ""}`) : ""}
                <div class="row hook-end"><div class="sp"><a class="btn"
                    href=${to("webhooks")}>Cancel</a>
                    <button type="submit" class="btn primary" ?disabled=${state.busy}>Create webhook
                    </button></div></div>
            </form></div>`,
        unsaved: () => !state.done && (differing(draft, empty()).length > 0 || state.after !== ""),
        keys: { "ctrl-enter": () => create() },
    };
}
