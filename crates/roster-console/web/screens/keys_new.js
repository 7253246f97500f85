// Make a key: a dialog, then its secret, once.
import { html } from "../vendor/lit-html/lit-html.js";
import { asProblem, post } from "../api.js";
import { caller } from "../caller.js";
import { loadStyles, refresh, toast } from "../page.js";
import { dialog } from "../ui/dialog.js";
import { checkbox, faultsOf, field, focusField, select } from "../ui/fields.js";
import { copyButton, note } from "../ui/parts.js";
import { showSecret } from "../ui/secret.js";
import { dateTime } from "../texts.js";
import { service, shownTenant } from "./keys_service.js";
import { ENDS, endTime, NAME_MAX, PRESETS, presetScopes, scopeAdvice, SCOPES, tryLine }
    from "./keys_scopes.js";

/** @typedef {{id: string, name: string, status: "active" | "expired" | "revoked",
 *   scopes: string[], tenants?: "all", created_at: string, created_by: string, expires_at?: string,
 *   rotated_at?: string, former_secret_until?: string, revoked_at?: string,
 *   last_used_at?: string, key?: string}} Key */

/**
 * Ask for a key's name, scopes and end; make it and show its secret.
 * @param {object} [wish]
 * @param {string} [wish.name]
 * @param {string} [wish.preset]      a name of PRESETS; only this one is offered with `only`
 * @param {boolean} [wish.only]
 * @param {string[]} [wish.scopes]    scopes of their own, as those of a key that ends
 * @param {boolean} [wish.all]        for all tenants at first
 * @param {string} [wish.end]         a value of ENDS
 * @param {{name: string, base_url: string}} [wish.tenant]   another tenant than the shown one
 * @param {unknown} [wish.more]       values shown beside the secret
 * @returns {Promise<Key | undefined>}
 */
export async function newKey(wish = {}) {
    await loadStyles("screens/keys_access.css");
    const tenant = wish.tenant?.name ?? shownTenant();
    const state = { name: wish.name ?? "", preset: wish.preset ?? (wish.scopes ? "" : "read"),
        scopes: wish.scopes ?? [], all: wish.all ?? false, end: wish.end ?? "90", day: "",
            busy: false,
        faults: /** @type {Record<string, string>} */ ({}), fault: "" };
    const chosen = () => (state.preset ? presetScopes(state.preset, state.all) : state.scopes);
    const mayAll = caller().tenants === "all" && !tenant;

    /** @param {Partial<typeof state>} next */
    const set = (next) => {
        Object.assign(state, next);
        refresh();
    };

    /** Check what can be checked here. @param {string | null} end */
    function check(end) {
        const faults = /** @type {Record<string, string>} */ ({});
        if (!state.name.trim()) {
            faults["/name"] = "Say what the key is for.";
        } else if ([...state.name.trim()].length > NAME_MAX) {
            faults["/name"] = `At most ${NAME_MAX} characters.`;
        }
        if (!chosen().length) {
            faults["/scopes"] = "Choose at least one scope.";
        }
        if (end === "" || (end !== null && new Date(end) <= new Date())) {
            faults["/expires_at"] = "Choose a day that is not over.";
        }
        return faults;
    }

    function showFaults() {
        const first = [["/name", "key-name"], ["/expires_at", state.end === "day" ? "key-day"
            : "key-end"]].find(([pointer]) => state.faults[pointer]);
        refresh();
        queueMicrotask(() => first && focusField(first[1]));
    }

    /** @param {(key?: Key) => void} close */
    async function submit(close) {
        if (state.busy) {
            return;
        }
        const end = endTime(state.end, state.day);
        set({ faults: check(end), fault: "" });
        if (Object.keys(state.faults).length) {
            showFaults();
            return;
        }
        set({ busy: true });
        try {
            const body = { name: state.name.trim(), scopes: chosen(), expires_at: end,
                ...(state.all ? { tenants: "all" } : {}) };
            const { data } = wish.tenant
                ? await post(`/tenants/${wish.tenant.name}/keys`, body, { service: true })
                : await post("/keys", body);
            close(data);
        } catch (error) {
            const problem = asProblem(error);
            state.faults = faultsOf(problem);
            state.busy = false;
            state.fault = problem.errors.length ? "" : problem.detail || problem.title;
            showFaults();
        }
    }

    const presetView = () => html`
        <fieldset class="choice flat"><legend>What may it do?</legend>
            ${[...PRESETS, { name: "", label: "Choose each scope", hint: "" }]
        .map(({ name, label, hint }) => checkbox({ look: "rad", name: "key-preset", label, hint,
            checked: state.preset === name,
            onChange: () => set({ preset: name, scopes: name ? state.scopes : chosen() }) }))}
        </fieldset>`;

    const scopesView = () => html`
        <fieldset class="choice flat scopes"><legend class="sr">Scopes</legend>
            ${SCOPES.filter(({ name }) => state.all
                || name !== "tenants:admin").map((scope) => checkbox({
        label: html`<span class="mono">${scope.name}</span>`, hint: scope.text,
        checked: state.scopes.includes(scope.name),
        onChange: (on) => set({ scopes: on ? [...state.scopes, scope.name]
            : state.scopes.filter((name) => name !== scope.name) }) }))}
        </fieldset>`;

    const body = () => html`
        ${field({ id: "key-name", label: "Name", value: state.name, error: state.faults["/name"],
        autofocus: true, hint: "What it is for. The change log names it.",
        onInput: (name) => set({ name }) })}
        ${wish.only ? html`<p
            class="muted">${PRESETS.find(({ name }) => name === state.preset)?.hint}</p>`
        : html`${presetView()}${state.preset ? "" : scopesView()}`}
        ${state.faults["/scopes"] ? note("bad", state.faults["/scopes"]) : ""}
        ${scopeAdvice(chosen(), state.all) ? note("warn", scopeAdvice(chosen(), state.all)) : ""}
        ${mayAll && !wish.only ? checkbox({ label: "For all tenants", checked: state.all,
        hint: "It has these scopes in every tenant. Only for you, the operator, and your programs; "
            + "give a customer a key of their own tenant.",
        onChange: (all) => set({ all, scopes: all ? state.scopes
            : state.scopes.filter((name) => name !== "tenants:admin") }) }) : ""}
        <div class="fs ends">${select({ id: "key-end", label: "Ends", value: state.end,
            options: ENDS,
        error: state.end === "day" ? "" : state.faults["/expires_at"],
        hint: state.end === "never" ? "A key that leaks then works until you revoke it." : "",
        onChange: (end) => set({ end }) })}
        ${state.end === "day" ? field({ id: "key-day", label: "Last day", type: "date",
            value: state.day,
        error: state.faults["/expires_at"], onInput: (day) => set({ day }) }) : ""}</div>
        ${state.fault ? note("bad", state.fault) : ""}`;

    const made = await dialog({
        title: wish.only ? "New key for SCIM" : "New key",
        lead: () => (tenant ? html`For the tenant <b><bdi>${tenant}</bdi></b>.`
            : mayAll || wish.tenant ? "For the default tenant, or for all." : "A program sends it "
                + "with each request."),
        body, submit,
        actions: (close) => html`<div class="sp">
            <button type="button" class="btn" @click=${() => close()}>Cancel</button>
            <button type="submit" class="btn primary" ?disabled=${state.busy}>Make the key</button>
            </div>`,
    });
    if (made) {
        await reveal(made, "The new key", wish.tenant?.base_url, wish.more);
        const { key: _, ...rest } = made;
        toast(`Key ${rest.name} made`);
        return rest;
    }
}

/** Show the secret of a key that was made or rotated, and how to try it.
 * @param {Key} key @param {string} title @param {string} [base] @param {unknown} [more] */
export async function reveal(key, title, base, more) {
    // A failure must not hide the secret: the line is then left out.
    const root = base ?? await service().then((one) => one.base, () => "");
    const line = root && tryLine(root, key.scopes);
    await showSecret({ title, secret: key.key ?? "",
        text: html`<p><b><bdi>${key.name}</bdi></b>. ${key.expires_at
            ? `It ends on ${dateTime(key.expires_at)}.` : "It does not end."}</p>`,
        more: html`${more ?? ""}${line ? html`<div class="try"><b>Try it</b>
            <div class="secret"><code>${line}</code>${copyButton(line, "Copy the command")}</div>
            <p class="muted">It waits for the key: paste it and press Enter. So the history of your
                shell does not have it.</p></div>` : ""}` });
}
