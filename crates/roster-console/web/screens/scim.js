// A guide for connecting an identity provider by SCIM: values to copy, a key, and whether it works.
import { html } from "../vendor/lit-html/lit-html.js";
import { get } from "../api.js";
import { caller, can } from "../caller.js";
import { here, to } from "../page.js";
import { reading } from "../ui/data.js";
import { icon } from "../ui/icons.js";
import { table } from "../ui/list.js";
import { ago, badge, copyButton, copyLine, errorPanel, note, pageHead, skeleton, tabs }
    from "../ui/parts.js";
import { endsText } from "./keys.js";
import { newScimKey } from "./keys_new.js";
import { guides, reachFault } from "./scim_guides.js";

const card = (title, body) => html`<section class="card"><h2>${title}</h2><div class="pad">${body}
    </div></section>`;
const muted = (text) => html`<p class="muted">${text}</p>`;

const VALUES = [{ head: "Field", type: "muted", cell: ({ field }) => field },
    { head: "Enter", cell: ({ field, copy, text }) => text ?? copyLine(copy, `Copy ${field}`) }];
const KEYS = [
    { head: "Key", cell: ({ id, name }) => html`<a class="link" href=${to("keys", id)}><bdi>${name}
        </bdi></a>` },
    { head: "Ends", cell: endsText },
    { head: "State", cell: ({ last_used_at: used }) => (used ? html`${badge("ok", "Connected")}
        <span class="muted">last request ${ago(used)}</span>` : badge("warn", "No request yet")) }];

const before = ({ base, unique, guarded }) => html`
    ${reachFault(base) ? note("warn", reachFault(base)) : ""}
    ${guarded ? note("warn", "Providers cannot meet the settings put_guard and delete_guard: "
        + "remove them.") : ""}
    ${unique ? html`<p>Two users cannot have the same primary address. If accounts of your
        provider share one, run this on the server first:</p>${copyLine(
        "roster policy set email-uniqueness none", "Copy the command")}` : ""}
    ${muted("If users are here already, make a backup first.")}`;

const steps = (guide) => html`<ol class="steps">${guide.steps.map((step) => html`<li><p>${
    step.split("*").map((part, at) => (at % 2 ? html`<b>${part}</b>` : part))}</p>${
    step.endsWith(":") ? table(VALUES, guide.values) : ""}${step.endsWith(":") && guide.code
    ? html`<pre class="secret" tabindex="0">${guide.code}</pre>${
    copyButton(guide.code, "Copy the template", "Copy the template")}` : ""}</li>`)}</ol>`;

export default function scim() {
    const makes = can("keys:admin");
    const one = reading(async (signal) => {
        const { links, capabilities } = (await get("/", { signal })).data;
        const base = links.users.replace(/\/users$/, "");
        const keys = makes ? (await get("/keys", { signal })).data.items : [];
        return { base, all: guides(`${base}/scim/v2`), unique: capabilities.unique_email,
            guarded: capabilities.precondition_required, keys: keys.filter((key) => key.tenants
                !== "all" && key.status === "active" && key.scopes.includes("scim")).reverse() };
    }, { every: makes ? 5000 : 0 });
    const guide = () => one.value.all.find(({ name }) => name === here().query.p)
        ?? one.value.all[0];

    async function add() {
        const { name, title, values } = guide();
        await newScimKey(name === "other" ? "" : title, values.find(({ copy }) => copy).copy);
        one.load();
    }
    const keyPart = () => (makes ? html`${muted(caller().open ? "Make a key for yourself first: it "
        + "closes the service." : "One for each provider. When it ends, provisioning stops.")}
        <div class="row"><button class="btn primary" @click=${add}>${icon("plus")}${caller().open
            ? "Make the first key" : "Make a key"}</button></div>`
        : muted("Your credential may not make keys: ask an administrator for one."));

    const body = (value) => html`${tabs("Identity provider", value.all.map((other) => ({
        text: other.title, href: to("scim", { p: other.name }), current: other === guide() })))}
        <div class="sections">${card("Before you start", before(value))}
        ${card("1. A key for the provider", keyPart())}
        ${card("2. Steps at the provider", html`${steps(guide())}${muted("From the provider's "
            + "documentation of November 2026; not tried with the provider.")}`)}
        ${makes ? card("3. Has it connected?", html`<div class="choice" aria-live="polite">${
            value.keys.length ? table(KEYS, value.keys) : ""}${muted("The first request with a key "
            + "shows here within about a minute.")}</div>`) : ""}
        ${card("If it fails", html`<p>The provider's log has a status, and a detail that says what
            to do. 401: the key is not entered whole, or has ended. 404 everywhere: the URL lacks
            /scim/v2. 409: match the user who is here already.</p>`)}</div>`;

    return {
        title: () => (one.value ? `SCIM for ${guide().title}` : "SCIM"), close: one.close,
        view: () => html`${pageHead({ title: "SCIM", sub: "An identity provider manages users" })}
            <div class="page">${one.error ? errorPanel(one.error, one.load)
            : one.value ? body(one.value) : skeleton(8)}</div>`,
        changed: () => undefined, keys: { c: () => (makes ? add() : false) },
    };
}
