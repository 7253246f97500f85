// The form of a webhook, for a new one and for changes.
import { html } from "../vendor/lit-html/lit-html.js";
import { getSession } from "../api.js";
import { allTenants, can } from "../caller.js";
import { here, refresh } from "../page.js";
import { checkbox, field, focusField } from "../ui/fields.js";
import { icon } from "../ui/icons.js";
import { SUBJECTS, hasAll, urlFault, withType } from "./webhook_text.js";

/** @typedef {import("./webhook_text.js").Webhook} Webhook */
/** @typedef {{name: string, url: string, types: string[], all: boolean, payload: string,
 *   batch: string}} Draft */

/** @param {Webhook} webhook @returns {Draft} */
export const draftOf = (webhook) => ({ name: webhook.name, url: webhook.url, types: webhook.types,
    all: webhook.tenants === "all", payload: webhook.payload, batch: String(webhook.batch_max) });

const MEMBERS = /** @type {Record<keyof Draft, string>}
 * */ ({ name: "name", url: "url", types: "types",
    all: "tenants", payload: "payload", batch: "batch_max" });

/** @param {any} a @param {any} b */
const same = (a, b) => (Array.isArray(a) ? [...a].sort().join() === [...b].sort().join() : a === b);

/** The names of what differs. @param {Draft} a @param {Draft} b @returns {(keyof Draft)[]} */
export const differing = (a, b) => /** @type {(keyof Draft)[]} */ (Object.keys(MEMBERS))
    .filter((name) => !same(a[name], b[name]));

/** The members for the API. @param {Draft} draft @param {(keyof Draft)[]} names */
export function bodyOf(draft, names) {
    const value = { name: draft.name.trim(), url: draft.url.trim(), types: draft.types,
        all: draft.all ? "all" : null, payload: draft.payload,
        batch: /^\d+$/.test(draft.batch.trim()) ? Number(draft.batch) : draft.batch };
    return Object.fromEntries(names.map((name) => [MEMBERS[name], value[name]]));
}

/** What the page itself finds. @param {Draft} draft @returns {Record<string, string>} */
export function faultsIn(draft) {
    const faults = /** @type {Record<string, string>} */ ({});
    if (!draft.name.trim()) {
        faults["/name"] = "Say in a few words what it is for.";
    }
    const url = urlFault(draft.url);
    if (url) {
        faults["/url"] = url;
    }
    if (!draft.types.length) {
        faults["/types"] = "Choose at least one type of events.";
    }
    const batch = Number(draft.batch);
    if (!/^\d+$/.test(draft.batch.trim()) || batch < 1 || batch > 100) {
        faults["/batch_max"] = "Write a whole number from 1 to 100.";
    }
    return faults;
}

/** The id of the field with a fault. @param {Record<string, string>} faults */
export const firstFault = (faults) => ({ "/name": "hook-name", "/url": "hook-url",
    "/types": "hook-types", "/batch_max": "hook-batch", "/after": "hook-after" })[
    Object.keys(faults)[0]] ?? "hook-name";

/** Whether a draft may be sent; otherwise its faults are shown, and the first has the focus.
 * @param {{faults: Record<string, string>, error: any}} state @param {Draft} draft
 * @param {Record<string, string>} [more] */
export function mayBeSent(state, draft, more) {
    state.faults = { ...faultsIn(draft), ...more };
    state.error = null;
    if (Object.keys(state.faults).length) {
        refresh();
        focusField(firstFault(state.faults));
        return false;
    }
    return true;
}

/** @param {string} title @param {unknown} body */
const part = (title, body) => html`<fieldset><legend>${title}</legend><div class="fs">${body}</div>
    </fieldset>`;

/**
 * The fields. `base` is the stored state, which marks changes.
 * @param {Draft} draft @param {Record<string, string>} faults @param {Draft} [base]
 * @param {boolean} [off]
 */
export function fieldsView(draft, faults, base, off = false) {
    /** @param {"name" | "url" | "batch"} name */
    const was = (name) => (base && base[name] !== draft[name] ? { value: base[name], undo: () => {
        draft[name] = base[name];
        refresh();
    } } : undefined);
    /** @param {"name" | "url" | "batch"} name */
    const take = (name) => (/** @type {string} */ value) => {
        draft[name] = value;
        delete faults[`/${MEMBERS[name]}`];
        refresh();
    };
    const atService = allTenants() && !here().tenant && !getSession()?.tenant;
    return html`
        ${part("Where to", html`
            ${field({ id: "hook-name", label: "Name", value: draft.name, onInput: take("name"),
                error: faults["/name"], was: was("name"), wide: true, disabled: off,
                hint: "What it is for, up to 64 characters." })}
            ${field({ id: "hook-url", label: "URL", value: draft.url, onInput: take("url"),
                type: "url",
                error: faults["/url"], was: was("url"), wide: true, mono: true, disabled: off,
                hint: html`<span class="mono">https</span> to the public Internet, port 443 or one
                    from
                    1024. Private addresses and <span class="mono">http</span> only into the
                        networks of
                    the setting <span class="mono">webhook_networks</span>.` })}`)}
        ${part("Events", html`<div class="w f">${typesView(draft, faults, off)}</div>
            ${atService || draft.all ? html`<div class="w f choice" role="radiogroup"
                aria-label="Tenants">
                ${radio("hook-tenants", "Events of this tenant", !draft.all, off, () => {
                    draft.all = false;
                })}
                ${radio("hook-tenants", "Events of all tenants", draft.all, off || !atService,
                    () => {
                    draft.all = true;
                }, "Each event names its tenant.")}
                ${fault("/tenants", faults)}</div>` : ""}`)}
        ${part("Content", html`
            <div class="w f choice" role="radiogroup" aria-label="Payload">
                ${radio("hook-payload", "Full", draft.payload === "full", off, () => {
                    draft.payload = "full";
                }, "Each event has the whole record after the change. The receiver needs no key.")}
                ${radio("hook-payload", "Thin", draft.payload === "thin", off, () => {
                    draft.payload = "thin";
                }, "Only ids, version and the names of what changed, no personal data. The "
                    + "receiver "
                    + "reads the record with a key of its own.")}</div>
            ${field({ id: "hook-batch", label: "Events a request", value: draft.batch,
                onInput: take("batch"), error: faults["/batch_max"], was: was("batch"),
                    disabled: off,
                hint: "1 to 100. With 1 the content is one event, above it is an array. "
                    + "More is faster "
                    + "for many changes." })}`)}`;
}

/** @param {string} name @param {string} label @param {boolean} checked @param {boolean} disabled
 * @param {() => void} set @param {string} [hint] */
export const radio = (name, label, checked, disabled, set, hint) => checkbox({ look: "rad", name,
    label, hint, checked, disabled, onChange: () => {
        set();
        refresh();
    } });

/** @param {string} pointer @param {Record<string, string>} faults */
const fault = (pointer, faults) => (faults[pointer] ? html`<div class="note bad" role="alert">${
    icon("alert")}<span>${faults[pointer]}</span></div>` : "");

/** The checklist of types. @param {Draft} draft @param {Record<string, string>} faults
 * @param {boolean} off */
function typesView(draft, faults, off) {
    const audit = can("audit:read");
    /** @param {string} type @param {boolean} on */
    const set = (type, on) => {
        draft.types = withType(draft.types, type, on);
        delete faults["/types"];
        refresh();
    };
    /** @param {import("./webhook_text.js").Subject} subject */
    const group = (subject) => {
        const all = hasAll(draft.types, subject);
        const shut = off || (subject.audit && !audit) || (subject.operator && !allTenants());
        const single = subject.types.length === 1;
        const name = `${subject.name}.*`;
        return html`<div class="hook-types">
            ${checkbox({ label: html`<b>${subject.title}</b>`, checked: all, disabled: shut,
                hint: subject.hint, onChange: (on) => {
                    if (single) {
                        draft.types = withType(draft.types, `${subject.name}.${subject.types[0]}`,
                            false);
                    }
                    set(name, on);
                } })}
            ${single ? "" : html`<div class="some">${subject.types.map((type) => {
                const one = `${subject.name}.${type}`;
                return checkbox({ label: type, checked: all || draft.types.includes(one),
                    disabled: shut || all, onChange: (on) => set(one, on) });
            })}</div>`}</div>`;
    };
    return html`<div id="hook-types" tabindex="-1" role="group" aria-label="Types of events"
        class=${faults["/types"] ? "er" : ""}>
        ${SUBJECTS.filter((one) => !one.audit).map(group)}
        <div class="hook-audit">Audit events${audit ? "" : html`: they need a key with
            <span class="mono">audit:read</span>`}</div>
        ${SUBJECTS.filter((one) => one.audit && (!one.operator || allTenants())).map(group)}
        ${fault("/types", faults)}</div>`;
}
