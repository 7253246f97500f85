// Forms over a record: what was edited, what is wrong, saving, and the merge when somebody else
// saved first.
import { html } from "../vendor/lit-html/lit-html.js";
import { asProblem, faultsOf, newKey, problemOf } from "../api.js";
import { equal, laterEdits, patchOf, realEdits, valueAt } from "../merge.js";
import { refresh, say } from "../page.js";
import { count, pointerLabel, valueText } from "../texts.js";
import { reason } from "./data.js";
import { dialog } from "./dialog.js";
import { focusField } from "./fields.js";
import { modifier, note } from "./parts.js";

export const inputId = (pointer) => `f${pointer.replaceAll("/", "-")}`;

/** `write(body, version, key)` sends a merge patch, or all of a new record, and returns the record;
 * then `saved(record, before, pointers)`. After a 412 `read` reads the stored one, `name` names it,
 * and `actor` says who changed it. `check(now)` returns own faults, `start` has edits of a new
 * record. Of the bar: `title`, `action`; `text` and `cancel` replace number and Discard. */
export function form(spec) {
    const { writes = true, action = "Save" } = spec;
    // One key for one new record: a second try after a lost answer makes no second one.
    let key = newKey();
    const labels = {};
    const self = { base: {}, edits: new Map(Object.entries(spec.start ?? {})), faults: {},
        problem: null, busy: false, writes, action, set, props, save, bar, problemView,
        now: (pointer) => (self.edits.has(pointer) ? self.edits.get(pointer)
            : valueAt(self.base, pointer)),
        unsaved: () => changes().size > 0,
        discard() {
            odd().forEach((pointer) => Object.assign(inputOf(pointer), { value: "" }));
            tell({ edits: new Map(), faults: {}, problem: null });
        },
        // Edits keep the version on which they began.
        show: (record) => (!self.base.version || !changes().size) && !self.busy
            && tell({ base: record }) };

    const tell = (next) => {
        Object.assign(self, next);
        refresh();
    };
    const changes = () => realEdits(self.base, self.edits);
    const inputOf = (pointer) => /** @type {any} */ (document.getElementById(inputId(pointer)));
    /** The fields whose text is no number or no date: they have no value. */
    const odd = () => Object.keys(labels).filter((at) => inputOf(at)?.validity?.badInput);
    const faultsAt = (pointer) =>
        Object.keys(self.faults).filter((at) => `${at}/`.startsWith(`${pointer}/`));

    function set(pointer, value) {
        const same = equal(valueAt(self.base, pointer), value);
        self.edits[same ? "delete" : "set"](pointer, value);
        faultsAt(pointer).forEach((at) => delete self.faults[at]);
        tell({ problem: null });
    }
    /** What a field of a member needs; `more` overrides. @returns {any} */
    function props(pointer, more = {}) {
        const stored = valueAt(self.base, pointer);
        const take = (value) => set(pointer, value);
        const one = { id: inputId(pointer), label: pointerLabel(pointer), disabled: !writes,
            value: valueText(self.now(pointer)), error: self.faults[faultsAt(pointer)[0]],
            was: self.base.version && self.edits.has(pointer)
                && { value: valueText(stored), undo: () => take(stored) },
            onInput: take, onChange: take, ...more };
        labels[pointer] = one.label;
        return one;
    }
    async function fail(faults, problem = null) {
        tell({ faults, problem, busy: false });
        await Promise.resolve();
        const [[pointer, text] = ["", ""]] = Object.entries(faults);
        focusField(inputId(pointer));
        say(problem ? reason(problem) : text);
    }
    /** Returns the saved record, if it was. @returns {Promise<any>} */
    async function save() {
        if (self.busy || !writes || (self.base.version && !changes().size)) {
            return;
        }
        const faults = { ...Object.fromEntries(odd().map((pointer) => [pointer,
            "Write a whole number."])), ...spec.check?.(self.now) };
        if (Object.keys(faults)[0]) {
            return fail(faults);
        }
        tell({ busy: true, problem: null, faults });
        const [before, sent, pointers] = [self.base, new Map(self.edits), [...changes().keys()]];
        try {
            const record = await spec.write(patchOf(before, sent), before.version, key);
            tell({ busy: false, edits: laterEdits(before, sent, self.edits), base: record });
            spec.saved?.(record, before, pointers);
            return record;
        } catch (error) {
            const problem = asProblem(error);
            // After an answer another body is another request.
            key = problem.status && problem.status !== 503 ? newKey() : key;
            return spec.read && [412, 428].includes(problem.status)
                ? conflict().catch((other) => problemOf(other).then((why) => fail({}, why)))
                : fail(faultsOf(problem), problem);
        }
    }
    async function conflict() {
        const { resolveConflict } = await import("./conflict.js");
        const [stored, actor] = await Promise.all([spec.read(), spec.actor?.()]);
        const edits = await resolveConflict({ base: self.base, now: stored, edits: changes(),
            actor, name: spec.name(stored),
            label: (pointer) => labels[pointer] ?? pointerLabel(pointer) });
        tell({ busy: false, ...(edits && { base: stored, edits: realEdits(stored, edits) }) });
        return edits && (changes().size ? save() : spec.saved(stored, stored, []));
    }

    /** What is wrong that no field shows. */
    function problemView() {
        const shown = Object.keys(self.faults).some(inputOf);
        return self.problem && !shown ? note("bad", html`<span role="alert">${
            reason(self.problem)}</span>`) : "";
    }

    /** The bar below the form; the number of faults goes to the first of them. */
    function bar() {
        const { length, 0: first } = Object.keys(self.faults);
        const { size } = changes();
        return self.base.version && !size && !first ? "" : html`<div class="savebar" role="region"
            aria-label=${spec.title ?? "Unsaved changes"}>${first ? html`<button type="button"
                class="link bad" @click=${() => focusField(inputId(first))}>${
                count(length, "field needs", "fields need")} attention</button>` : ""}${
            self.problem && !first ? html`<span class="bad" role="alert">${reason(self.problem)}
                </span>` : html`<span class="muted ${first ? "d" : ""}">${
                spec.text ?? count(size, "change")}</span>`}<div class="sp">${spec.cancel
            ?? html`<button type="button" class="btn ghost" ?disabled=${self.busy}
                @click=${self.discard}>Discard</button>`
            }<button type="button" class="btn primary" ?disabled=${self.busy || !size}
                @click=${save}>${action}<kbd class="d">${modifier}↵</kbd></button></div></div>`;
    }
    return self;
}

/** A form around fields: Enter saves. */
export const formView = (one, name, fields) => html`<form class="form" novalidate aria-label=${name}
    @submit=${(event) => {
        event.preventDefault();
        one.save();
    }}>${fields}${one.writes ? html`<button type="submit" class="sr" tabindex="-1">${one.action}
        </button>` : ""}</form>`;

/** Ask for a new record in a dialog, and make it; returns the record. The spec is that of `form`,
 * with `lead` and `fields(form)`. @returns {Promise<any>} */
export function formDialog(spec) {
    const one = form(spec);
    return dialog({ ...spec, busy: () => one.busy, ready: () => !one.busy && one.edits.size > 0,
        body: () => html`${spec.fields(one)}${one.problemView()}`,
        submit: async (close) => {
            const record = await one.save();
            return record && close(record);
        } });
}
