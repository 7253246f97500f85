// A new user. A dry run after leaving the username or the address says early what is taken.
import { html } from "../vendor/lit-html/lit-html.js";
import { asProblem, get, newKey, post } from "../api.js";
import { can } from "../caller.js";
import { withEdits } from "../merge.js";
import { go, refresh, to, toast } from "../page.js";
import { userName } from "../texts.js";
import { faultsOf, focusField } from "../ui/fields.js";
import { crumb, navButton, noScope, note } from "../ui/parts.js";
import { inputId, userFields } from "./user_form.js";
import { saveBar } from "./user_parts.js";

export default function newUser() {
    if (!can("users:write")) {
        return { title: "New user", view: () => html`<h1 class="sr" tabindex="-1">New user</h1>
            ${noScope("users:write", "create users")}` };
    }
    const state = { saving: false, problem: /** @type {any} */ (null) };
    const form = { base: {}, edits: new Map(), faults: /** @type {Record<string, string>} */ ({}),
        declared: /** @type {any[]} */ ([]), writes: true, onLeave: check };
    // One key for this user: pressing Save again after a lost answer makes no second one.
    let key = newKey();
    get("/schema").then(({ data }) => {
        form.declared = data.attributes ?? [];
        refresh();
    }).catch(() => undefined);

    const record = () => withEdits({}, form.edits);

    /** @param {string} pointer */
    async function check(pointer) {
        if (!["/username", "/email"].includes(pointer) || !form.edits.get(pointer)) {
            return;
        }
        const asked = form.edits.get(pointer);
        try {
            await post("/users", record(), { query: { dry_run: true } });
        } catch (error) {
            const fault = faultsOf(asProblem(error))[pointer];
            if (fault && form.edits.get(pointer) === asked) {
                form.faults[pointer] = fault;
                refresh();
            }
        }
    }

    async function save() {
        if (state.saving || !form.edits.size) {
            return;
        }
        Object.assign(state, { saving: true, problem: null });
        refresh();
        try {
            const { data } = await post("/users", record(), { headers: { "Idempotency-Key": key }
                });
            form.edits = new Map();
            toast(`${userName(data)} is created`);
            go("users", data.id);
        } catch (error) {
            const problem = asProblem(error);
            // After an answer another body is another request.
            key = problem.status && problem.status !== 503 ? newKey() : key;
            state.problem = problem;
            form.faults = faultsOf(problem);
            refresh();
            await Promise.resolve();
            const [first] = Object.keys(form.faults);
            if (first) {
                focusField(inputId(first));
            }
        }
        state.saving = false;
        refresh();
    }

    const bar = () => saveBar({ name: "New user", faults: form.faults, problem: state.problem, save,
        text: html`<span class="d">A username or an e-mail address is enough.</span>`,
        off: state.saving || !form.edits.size, action: state.saving ? "Creating…" : "Create",
        other: html`<a class="btn ghost" href=${to("users")}>Cancel</a>` });

    return {
        title: "New user",
        view: () => html`${crumb({ links: [{ href: to("users"), text: "Users" }], name: "New user",
            end: navButton() })}
            <div class="page"><div class="who2"><h1 tabindex="-1">New user</h1></div>
                <form class="form" aria-label="New user" @submit=${(/** @type {Event} */ event) => {
                    event.preventDefault();
                    save();
                }}>${can("users:read") ? "" : note("info", "You will not see the user after this.")}
                    ${userFields(form)}<button type="submit" class="sr"
                        tabindex="-1">Create</button>
                </form></div>${bar()}`,
        unsaved: () => form.edits.size > 0,
        keys: { "ctrl-enter": save },
    };
}
