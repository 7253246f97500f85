// The filter of the list of users: chips, the popup that adds one, and the filter as text.
import { html } from "../vendor/lit-html/lit-html.js";
import { get } from "../api.js";
import { byteToIndex, exact, formatChips, opWords, parseChips, suggestion }
    from "../filter_chips.js";
import { refresh } from "../page.js";
import { date, label, valueText } from "../texts.js";
import { field, select } from "../ui/fields.js";
import { icon } from "../ui/icons.js";
import { place } from "../ui/menu.js";
import { phone } from "./users.js";

const KINDS = { text: { ops: ["eq", "ne", "sw", "co", "pr", "none"] },
    status: { ops: ["eq", "ne"], options: [["active", "Active"], ["suspended", "Suspended"]] },
    boolean: { ops: ["eq"], options: [["true", "Yes"], ["false", "No"]], read: JSON.parse },
    time: { ops: ["gt", "lt", "pr", "none"], input: "date",
        // The day begins where the user is.
        read: (text) => new Date(`${text}T00:00`).toISOString() },
    number: { ops: ["eq", "gt", "lt", "pr", "none"], input: "number",
        read: (text) => exact(/^-?(0\d|\.)/.test(text) ? String(Number(text)) : text) } };
const TYPES = { status: "status", department: "", title: "", email: "", name: "", family_name: "",
    username: "", "groups.display": "", organization: "", external_id: "", locale: "",
    zoneinfo: "", email_verified: "boolean", updated_at: "time", created_at: "time",
    expires_at: "time" };

const nameText = (name) => (name === "groups.display" ? "Group" : label(name));
const element = (id) => document.getElementById(id);

export function usersFilter(list, apply, type, step) {
    const types = { ...TYPES };
    const kindOf = (name) => KINDS[types[name]] ?? KINDS.text;
    get("/schema").then(({ data }) => data.attributes?.forEach(({ name, type }) => {
        types[`attributes.${name}`] = { integer: "number", date_time: "time" }[type] ?? type;
    })).catch(() => undefined);
    const draft = { name: "department", op: "eq", value: "" };
    let asText = false;

    function set(next) {
        Object.assign(draft, next);
        refresh();
    }
    function open() {
        const pop = element("filter-pop");
        pop.showPopover();
        place(pop, element("filter-button"));
        // A field and a test are chosen already; a text field would open the keys of a phone.
        const value = phone.matches ? null : element("filter-value");
        (value ?? pop.querySelector("select")).focus();
    }
    function add(event) {
        event.preventDefault();
        element("filter-pop").hidePopover();
        const { name, op, value } = draft;
        const { read = String, options } = kindOf(name);
        const chip = op === "none" ? { name, op: "eq", values: [null] }
            : { name, op, values: op === "pr" ? [] : [read(value)] };
        const chips = parseChips(list.f);
        const same = op === "eq" && chips?.find((one) => one.name === name && one.op === op
            && one.values[0] !== null);
        same ? same.values.push(...chip.values) : chips?.push(chip);
        set({ value: options ? value : "" });
        step({ f: chips ? formatChips(chips) : `(${list.f}) and ${formatChips([chip])}` });
    }
    function popView() {
        const { name, op, value } = draft;
        const { ops, options, input } = kindOf(name);
        const part = { id: "filter-value",
            label: html`Value<span class="sr"> of ${nameText(name)}</span>`, value,
            required: true, type: input, options, onChange: (text) => set({ value: text }),
            onInput: (text) => set({ value: text }) };
        return html`<div class="pop" id="filter-pop" popover role="dialog"
            aria-label="Add a filter"><form @submit=${add}>
            ${select({ id: "filter-name", label: "Field", value: name,
                options: Object.keys(types).map((one) => [one, nameText(one)]),
                onChange: (one) => set({ name: one, op: kindOf(one).ops[0],
                    value: kindOf(one).options?.[0][0] ?? "" }) })}
            ${select({ id: "filter-op", label: "Test", value: op,
                options: ops.map((one) => [one,
                    opWords(one, one === "none" ? null : "")]),
                onChange: (one) => set({ op: one }) })}
            ${["pr", "none"].includes(op) ? "" : options ? select(part) : field(part)}
            <div class="row"><div class="sp"><button class="btn primary">Add</button></div></div>
            </form></div>`;
    }

    const chip = (inner, name, rest) => html`<div class="chip">${inner}<button
        aria-label="Remove the filter ${name}" @click=${() => step({ f: rest })}>${icon("x")}
        </button></div>`;
    function chips() {
        const all = parseChips(list.f);
        return html`${popView()}${all?.map((one) => {
            const name = nameText(one.name);
            const values = one.values.map((value) => (/^\d{4}-\d\d-\d\dT/.test(value)
                && Date.parse(value) ? date(value) : valueText(value))).join(", ");
            return chip(html`<span>${name}</span><span class="op">${opWords(one.op, one.values[0])}
                </span>${values ? html`<span class="v"><bdi class="cut">${values}</bdi></span>`
                : ""}`, name, formatChips(all.filter((other) => other !== one)));
        }) ?? chip(html`<span class="v"><span class="cut">${list.f}</span></span>`, "", "")}`;
    }

    async function text() {
        asText = !asText;
        refresh();
        await Promise.resolve();
        element("filter-text")?.focus();
    }
    function fault({ detail, position }) {
        const [f, at] = [list.f, byteToIndex(list.f, position)];
        const better = suggestion(detail);
        return [html`<div class="ed" aria-hidden="true">${f.slice(0, at)}<mark>${f.slice(at)
            || " "}</mark></div>`, html`<div class="say">${icon("alert")}<span>${detail}
            </span>${better ? html`<button class="link" @click=${() => apply({ f: f.slice(0, at)
                + f.slice(at).replace(/^[\w.]+/, better) })}>Use ${better}</button>` : ""}</div>`];
    }
    function editor() {
        const { f, error } = list;
        const wrong = error?.code === "invalid-filter";
        const [marked, said] = wrong ? fault(error.errors[0]) : ["", html`<div class="hint">
            Members, eq ne co sw ew gt ge lt le pr, and, or, not. Texts and times in double
            quotation marks.</div>`];
        return asText || wrong ? html`<div class="rawbox"><div class="raw ${wrong ? "er" : ""}">
            <div class="lay">${marked}<textarea id="filter-text" aria-label="Filter as text"
                spellcheck="false" .value=${f} rows=${Math.ceil((f.length + 1) / 110)}
                aria-invalid=${wrong ? "true" : "false"} aria-describedby="filter-say"
                placeholder='status eq "active" and family_name sw "Love"' @input=${({ target }) =>
                    type({ f: target.value.replaceAll("\n", " ") }, 400)}></textarea></div>
            <div id="filter-say" role="status">${said}</div></div></div>` : "";
    }
    return { open, text, chips, editor, asText: () => asText };
}
