// Forms of webhooks: the fields, a new one, a replay, a new secret.
import { html } from "../vendor/lit-html/lit-html.js";
import { get, getSession, post } from "../api.js";
import { allTenants, can } from "../caller.js";
import { go, here, to, toast } from "../page.js";
import { label } from "../texts.js";
import { showSecret } from "../ui/confirm.js";
import { reading } from "../ui/data.js";
import { checkbox, field, select } from "../ui/fields.js";
import { form, formDialog, formView, inputId } from "../ui/form.js";
import { refusedScreen } from "../ui/list.js";
import { noScope, note, pageHead } from "../ui/parts.js";
import { AUDIT, TYPES, parts, positionBefore, replayText, withType } from "./webhook_text.js";

/** What the service would take as null, which has another meaning. */
export const faultsIn = (now) => Object.fromEntries(["/name", "/url", "/types"].filter(
    (pointer) => !now(pointer)?.length).map((pointer) => [pointer, "This is needed."]));

const tellSecret = (title, { name, secret }) => showSecret({ title: `${title} of ${name}`, secret,
    text: html`The receiver verifies each request with it, for example with a library of <a
        class="link" href="https://www.standardwebhooks.com" target="_blank"
        rel="noreferrer">Standard Webhooks</a>.` });

const group = (one, pointer, name, role, boxes) => html`<div class="choice" role=${role}
    id=${inputId(pointer)} tabindex="-1" aria-label=${name}>${one.faults[pointer]
    ? note("bad", one.faults[pointer]) : ""}${boxes}</div>`;

/** One of some: [value, text, hint, off]. */
const choices = (one, pointer, name, options) => group(one, pointer, name, "radiogroup",
    options.map(([value, label, hint, off]) => checkbox({ look: "rad", name: pointer, label, hint,
        checked: (one.now(pointer) ?? null) === value, disabled: !one.writes || off,
        onChange: () => one.set(pointer, value) })));

function typesView(one) {
    const chosen = one.now("/types") ?? [];
    const box = (type, text, checked, disabled) => checkbox({ label: text, disabled, checked,
        onChange: (on) => one.set("/types", withType(chosen, type, on)) });
    const subjects = (all, off) => Object.entries(all).map(([name, words]) => {
        const types = words.split(" ").map((word) => `${name}.${word}`);
        const whole = chosen.includes(types[1] ? `${name}.*` : types[0])
            || chosen.includes(`${name}.*`);
        return name === "tenant" && !allTenants() ? "" : html`<div class="hook-types">${
            box(`${name}.*`, html`<span class="strong">${label(name)}</span>`, whole, off)}${
            types[1] ? html`<div class="pills">${types.map((type) => box(type, type.split(".")[1],
                whole || chosen.includes(type), whole || off))}</div>` : ""}</div>`;
    });
    return group(one, "/types", "Types of events", "group", html`${subjects(TYPES, !one.writes)}
        <div class="muted">Audit events${can("audit:read") ? "" : ": they need audit:read"}</div>${
        subjects(AUDIT, !one.writes || !can("audit:read"))}`);
}

const part = (title, body) => html`<fieldset><legend>${title}</legend><div class="fs">${body}</div>
    </fieldset>`;

export function webhookFields(one) {
    const atService = allTenants() && !here().tenant && !getSession()?.tenant;
    return html`${part("Where to", html`
        ${field(one.props("/name", { label: "Name", wide: true }))}
        ${field(one.props("/url", { type: "url", wide: true, mono: true, hint: "https to the "
            + "public Internet; http and private addresses as webhook_networks allows.",
        onInput: (text) => one.set("/url", text.trim()) }))}`)}
    ${part("Events", html`${typesView(one)}${atService || one.now("/tenants")
        ? choices(one, "/tenants", "Tenants", [[null, "Events of this tenant"],
            ["all", "Events of all tenants", "", !atService]]) : ""}`)}
    ${part("Content", html`${choices(one, "/payload", "Payload", [
        ["full", "Full", "Each event has the whole record."],
        ["thin", "Thin", "Only ids, versions and the names of what changed: no personal data."]])}
        ${field(one.props("/batch_max", { type: "number", hint: "Above 1 the content is an array.",
            onInput: (text) => one.set("/batch_max", text && Number(text)) }))}`)}`;
}

/** Where the log begins and ends. */
async function readEnds(tenants) {
    const [first, end] = await Promise.all(["", "latest"].map((after) =>
        get("/events", { query: { after, limit: 1, tenants } })));
    return { begin: positionBefore(first.data.items[0]?.id) || first.position, end: end.position };
}

/** The position that was chosen. */
const goal = ({ way, after }, ends) => (way === "position" ? after : ends?.[way]) ?? "";

const BEGIN = ["begin", "At the beginning of the log", "All events that are still kept."];
const AFTER = ["position", "After a position"];
const positionField = (one) => (one.now("/way") !== "position" ? ""
    : field(one.props("/after", { label: "Position", mono: true, wide: true,
        hint: "The Roster-Position of a response, or the id of an event." })));

export function newWebhook() {
    const title = "New webhook";
    const back = { href: to("webhooks"), text: "Webhooks" };
    const missing = ["webhooks:admin", "events:read"].find((scope) => !can(scope));
    if (missing) {
        return refusedScreen(title, noScope(missing, "create webhooks"), back);
    }
    const one = form({ title, action: "Create webhook", text: "", check: faultsIn,
        cancel: html`<a class="btn ghost" href=${back.href}>Cancel</a>`,
        async write(edits) {
            const { way, ...body } = { ...one.base, ...edits };
            return (await post("/webhooks", { ...body, after: goal({ way, ...body },
                { end: "latest", begin: way === "begin" && (await readEnds(body.tenants)).begin }) })).data;
        },
        async saved(webhook) {
            await tellSecret("The secret", webhook);
            history.replaceState(null, "", back.href);
            go("webhooks", webhook.id);
        } });
    one.show({ types: ["group.*", "log.*", "schema.*", "user.*"], payload: "full", batch_max: 1,
        way: "end" });
    return { title, unsaved: one.unsaved, keys: { "ctrl-enter": one.save },
        view: () => html`${pageHead({ title, back })}<div class="page" @beforeinput=${(event) =>
            one.busy && event.preventDefault()}>${formView(one, title, html`
            ${webhookFields(one)}${part("Begin", html`${choices(one, "/way",
                "From where it sends", [["end", "Now", "A receiver that needs the users of today "
                    + "reads them once, with GET /bulk/users."], BEGIN, AFTER])}
                ${positionField(one)}`)}`)}</div>${one.bar()}` };
}

/** Ask from where the webhook goes on; `from` is the id of a delivery. */
export async function replay({ id, name, status, position, tenants }, from) {
    const ends = reading(async () => ({ ...await readEnds(tenants), delivery: positionBefore(from) }));
    const done = await formDialog({ title: `Replay ${name}`, action: "Replay",
        lead: () => `The webhook goes on after another position${status === "stale"
            ? ", and is active again" : ""}.`,
        start: { "/way": from ? "delivery" : "position" },
        write: (body) => post(`/webhooks/${id}/replay`, { after: goal(body, ends.value) }),
        fields: (one) => html`${choices(one, "/way", "From where", [...(from
            ? [["delivery", "From this delivery, which is sent again"]] : []),
        AFTER, BEGIN, ["end", "From now on", "Skips everything that waits."]])}${positionField(one)}
            <p class="muted" role="status">${replayText({ position },
                goal({ way: one.now("/way"), after: one.now("/after") }, ends.value))}</p>` });
    if (done) {
        toast(`${name} goes on after position ${parts(done.data.position).first}.`);
    }
}

/** Make a new secret and show it. */
export async function rotate({ id, name, former_secret_until: two }) {
    const done = await formDialog({ title: `New secret for ${name}`, action: "Make a new secret",
        lead: () => "Until the time is over, both secrets sign each request.",
        start: { "/overlap_s": "86400" },
        write: async (query) => (await post(`/webhooks/${id}/rotate`, undefined, { query })).data,
        fields: (one) => html`${select(one.props("/overlap_s", {
            label: "The secret of now signs too", options: [["86400", "for 24 hours"],
                ["3600", "for 1 hour"], ["604800", "for 7 days"], ["2592000", "for 30 days"],
                ["0", "no longer: the receiver rejects requests until it has the new one"]] }))}
            ${two ? note("warn", "Two secrets sign at present. The older one ends at once.")
                : ""}` });
    if (done) {
        await tellSecret("The new secret", done);
    }
}
