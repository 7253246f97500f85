// The fields of a user, a new one or a stored one.
import { html } from "../vendor/lit-html/lit-html.js";
import { get } from "../api.js";
import { changedPointers, equal, listAt, valueAt } from "../merge.js";
import { refresh } from "../page.js";
import { pointerLabel } from "../texts.js";
import { checkbox, field, focusField, select, textarea } from "../ui/fields.js";
import { formDialog, inputId } from "../ui/form.js";
import { icon } from "../ui/icons.js";
import { safely } from "../ui/parts.js";
import { asJson, isTime, jsonOf, listOf, listText, timeOf, timeText, typed }
    from "./user_values.js";

/** Fields that are always shown, and those with a value or on request. */
const GROUPS = [
    ["Identity", "username name given_name family_name",
        "middle_name display_name nickname honorific_prefix honorific_suffix"],
    ["Contact", "email phone_number locale zoneinfo",
        "preferred_language profile picture addresses ims"],
    ["Work", "title department organization employee_number", "manager/display_name manager/id "
        + "manager/ref division cost_center user_type roles entitlements"],
    ["Account", "external_id expires_at", "x509_certificates"]];
const pointers = (text) => text.split(" ").map((name) => `/${name}`);
const LISTS = /^.(addresses|ims|roles|entitlements|x509_certificates)$/;

const button = (run, name, text) => html`<button type="button" class="btn ghost" @click=${run}>${
    icon(name)}${text}</button>`;
const NO_TEXT = "A number, true, false, […] or {…}, since it was no text before.";
const pointerOf = (name) => changedPointers({}, { attributes: { [name]: true } })[0];

/** `left` is called with the username or the address after the focus has left it. */
export function userFields(form, left = undefined) {
    const drafts = new Map();
    const declared = new Map();
    /** Attributes of no type that have another value than a text. */
    const strict = new Set();
    let all = false;
    const ready = get("/schema").then(({ data }) => data.attributes?.forEach((one) =>
        declared.set(one.name, one))).catch(() => undefined).finally(refresh);

    /** A field whose text stands for another value; what is typed stays as typed. */
    function parsed(pointer, read, write, more) {
        const draft = drafts.get(pointer) ?? "";
        const value = form.now(pointer);
        return form.props(pointer, { value: equal(read(draft), value) ? draft : write(value),
            onInput(text) {
                drafts.set(pointer, text);
                form.set(pointer, read(text));
            }, ...more });
    }

    function member(pointer) {
        const list = listAt(pointer);
        if (list && valueAt(form.base, list)?.length > 1) {
            return entries(list);
        }
        if (LISTS.test(pointer)) {
            return textarea(parsed(pointer, (text) => jsonOf(text) ?? text,
                (now) => asJson(now, 2), { wide: true, mono: true, rows: 5,
                    hint: "A JSON list of objects with a value." }));
        }
        if (pointer === "/expires_at") {
            const stored = valueAt(form.base, pointer);
            return field(parsed(pointer, (text) => (text === timeText(stored) ? stored
                : timeOf(text)), timeText, { type: "datetime-local",
                hint: "Roster suspends the user at this time." }));
        }
        const one = form.props(pointer, { mono: pointer === "/external_id",
            wide: ["/email", "/profile", "/picture"].includes(pointer),
            onBlur: /^.(username|email)$/.test(pointer) && left && (() => left(pointer)) });
        // The service names the zone that was meant.
        const [, zone] = one.error?.match(/ as `(.+)`/) ?? [];
        one.fix = zone && { text: "Use it", run() {
            form.set(pointer, zone);
            focusField(one.id);
        } };
        if (one.was && pointer === "/email") {
            one.was.more = "A new address is not verified.";
        }
        return field(one);
    }

    /** Several addresses or numbers, of which one is primary. */
    function entries(pointer) {
        const list = form.now(pointer) ?? [];
        const label = pointerLabel(pointer);
        const disabled = !form.writes;
        const set = (next) => form.set(pointer, next);
        const first = Math.max(0, list.findIndex(({ primary }) => primary));
        const entry = (one, at) => html`<div class="with entry">
            ${field({ id: inputId(`${pointer}/${at}/value`), disabled, value: one.value,
                label: html`<span class="sr">${label} ${at + 1}</span>`,
                error: form.faults[`${pointer}/${at}/value`] ?? form.faults[`${pointer}/${at}`],
                onInput: (value) => set(list.with(at, { ...one, value })) })}
            ${checkbox({ look: "rad", name: inputId(pointer), label: "primary", disabled,
                checked: at === first, onChange: () => set(list.map((other, i) =>
                    ({ ...other, primary: i === at || undefined }))) })}
            ${disabled ? "" : html`<button type="button" class="btn ghost icon"
                aria-label="Remove ${one.value}" @click=${() => set(list.toSpliced(at, 1))}>
                ${icon("x")}</button>`}</div>`;
        return html`<div class="f w ${form.edits.has(pointer) ? "ch" : ""}" role="group"
            aria-label=${label}><label>${label}</label>${list.map(entry)}${disabled ? ""
            : button(() => set([...list, { value: "" }]), "plus", "Add")}</div>`;
    }

    function attribute({ name, type, multi_valued: many, required, description: hint }) {
        const pointer = pointerOf(name);
        const stored = valueAt(form.base, pointer);
        const other = !type && !["string", "undefined"].includes(typeof stored);
        strict[other ? "add" : "delete"](pointer);
        const more = type ? { hint, mark: required && "required" } : { mono: true, label: name,
            hint: other ? NO_TEXT : stored === undefined
                && "A text, unless it is true, false, a number, […] or {…}." };
        if (many) {
            return textarea(parsed(pointer, (text) => listOf(text, type),
                (now) => listText(now, type), { ...more, rows: 3, hint: html`${hint}
                    One value in each line.` }));
        }
        if (type === "boolean") {
            const options = [["", "No value"], ["true", "Yes"], ["false", "No"]];
            // It was stored before its type was declared.
            const odd = [asJson(stored)].filter((text) => !options.some(([one]) => one === text));
            return select(form.props(pointer, { ...more, value: asJson(form.now(pointer)),
                onChange: (text) => form.set(pointer, odd.includes(text) ? stored : jsonOf(text)),
                options: [...options, ...odd.map((text) => [text, text])] }));
        }
        // A field of one line would drop line breaks.
        const lines = [stored, form.now(pointer)].some((value) =>
            typeof value === "string" && /[\r\n]/.test(value));
        return (lines ? textarea : field)(parsed(pointer,
            (text) => typed(text, type, stored), asJson, { ...more, rows: 3 }));
    }
    const add = () => formDialog({ title: "Add an attribute", action: "Add",
        fields: (one) => field(one.props("/name", { label: "Name",
            hint: "Letters, digits, - and _, so that filters find it." })),
        write: async ({ name }) => declared.set(name, { name }) });

    function view() {
        const used = (pointer) => all || form.edits.has(pointer) || form.faults[pointer]
            || valueAt(form.base, pointer) !== undefined;
        const names = new Set([...declared.keys(), ...Object.keys(form.base.attributes ?? {})]);
        return html`${form.problemView()}${GROUPS.map(([name, always, more]) => html`<fieldset>
            <legend>${name}</legend><div class="fs">${[...pointers(always),
                ...pointers(more).filter(used)].map(member)}</div></fieldset>`)}
            <fieldset><legend>Your attributes</legend><div class="fs">${[...names].map((name) =>
                safely(() => attribute(declared.get(name) ?? { name })))}${form.writes
                ? html`<div class="f w">${button(add, "plus", "Add an attribute")}${
                all ? "" : button(() => {
                    all = true;
                    refresh();
                }, "down", "Show all fields")}</div>` : ""}</div></fieldset>`;
    }
    /** What is typed, but is no value yet, or one of another kind. */
    function check() {
        const end = form.now("/expires_at");
        const wrong = [...form.edits].filter(([pointer, value]) => strict.has(pointer) && value
            && typeof value === "string").map(([pointer]) => [pointer, NO_TEXT]);
        // The text of a field that is filled in half is empty.
        const part = document.querySelector(`#${inputId("/expires_at")}:invalid`);
        return Object.fromEntries(!part && (!end || isTime(end)) ? wrong : [...wrong,
            ["/expires_at", "Write a whole date and time, of the years 1970 to 9999."]]);
    }
    return { view, ready, check };
}
