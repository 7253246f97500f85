// Make a key, or give one a new secret: a dialog, then the secret, once.
import { html } from "../vendor/lit-html/lit-html.js";
import { post, url } from "../api.js";
import { caller } from "../caller.js";
import { here, toast } from "../page.js";
import { openSession } from "../session.js";
import { dateTime } from "../texts.js";
import { showSecret } from "../ui/confirm.js";
import { checkbox, field, select } from "../ui/fields.js";
import { formDialog, inputId } from "../ui/form.js";
import { copyLine, note } from "../ui/parts.js";
import { ENDS, endTime, PRESETS, presetScopes, scopeAdvice, SCOPES, tryLine }
    from "./keys_scopes.js";

export const isOwn = (key) => caller().actor === `key:${key.id}`;

function scopesView(one, chosen, all) {
    const fault = one.faults["/scopes"];
    const odd = fault ?? scopeAdvice(chosen, all);
    return html`<div class="choice" role="group" aria-label="Scopes" tabindex="-1"
        id=${inputId("/scopes")}>${odd && note(fault ? "bad" : "warn", odd)}${SCOPES.map(
        ({ name, text }) => checkbox({ label: html`<span class="mono">${name}</span>`, hint: text,
            checked: chosen.includes(name), onChange: (on) => one.set("/scopes",
                on ? [...chosen, name] : chosen.filter((other) => other !== name)) }))}</div>`;
}

let asked = null;
/** Not twice, by the two clicks of a double one. @param {any} [wish] */
export const newKey = (wish) => (asked ??= askKey(wish).finally(() => {
    asked = null;
}));

/** Ask for a key's name, scopes and end; make it, show its secret, return it. The first key of an
 * open service closes it. `only`: the preset is no choice; `more` is shown beside the secret.
 * @param {any} [wish] */
async function askKey(wish = {}) {
    const first = caller().open && !wish.tenant;
    const { name, only, tenant, more, scopes = ["users:read"], end = "90", all = false,
        preset = wish.scopes ? "" : "read" } = first
        ? { name: "admin", preset: "all", only: true, all: true, end: "never" } : wish;
    const place = tenant?.name ?? here().tenant;
    const made = await formDialog({ action: "Make the key",
        title: first ? "Make the first key" : only ? "New key for SCIM" : "New key",
        lead: () => (first ? "It may do everything. From then on every request needs a key or a "
            + "token, also of programs that use the service now. This cannot be undone from here."
            : place ? html`For the tenant <b><bdi>${place}</bdi></b>.`
                : "A program sends it with each request."),
        start: { "/name": name, "/preset": preset, "/scopes": scopes, "/all": all,
            "/expires_at": end },
        fields: (one) => html`${field(one.props("/name", { label: "Name",
                hint: "The change log names it." }))}
            ${only ? "" : select(one.props("/preset", { label: "What may it do?",
                options: [...PRESETS.map((some) => [some.name, some.label]),
                    ["", "Choose each scope"]],
                hint: PRESETS.find((some) => some.name === one.now("/preset"))?.hint }))}
            ${one.now("/preset") ? "" : scopesView(one, one.now("/scopes") ?? [], one.now("/all"))}
            ${caller().tenants === "all" && !place && !only ? checkbox({ label: "For all tenants",
                checked: one.now("/all"), onChange: (on) => one.set("/all", on),
                hint: "For you, the operator: it has these scopes in every tenant." }) : ""}
            ${select(one.props("/expires_at", { label: "Ends", options: ENDS }))}
            ${one.now("/expires_at") === "day"
                ? field(one.props("/day", { label: "Last day", type: "date" })) : ""}`,
        async write(body) {
            const { data } = await post(tenant ? `/tenants/${place}/keys` : "/keys", {
                name: body.name, expires_at: endTime(body.expires_at, body.day),
                scopes: body.preset ? presetScopes(body.preset, body.all) : body.scopes,
                ...(body.all ? { tenants: "all" } : {}) },
            { service: Boolean(tenant) || first });
            // At once: what the page reads meanwhile needs it.
            await (first && openSession(data.key).catch(() => undefined));
            return data;
        } });
    if (made && first) {
        // Who loses the first key is locked out: its end is asked for.
        await showSecret({ title: "Keep the first key", secret: made.key, typeEnd: true,
            text: "The service is closed now: only this key opens it." });
        location.reload();
    } else if (made) {
        await reveal(made, "The new key", more, tenant?.base_url);
        toast(`Key ${made.name} made`);
    }
    return made;
}

/** A key for an identity provider, with the URL to enter there. */
export const newScimKey = (name = "", scim = `${location.origin}${url("/scim/v2")}`) => newKey({
    name, preset: "scim", only: true, end: "365",
    more: html`<p>URL for the provider</p>${copyLine(scim, "Copy the URL")}` });

/** Show the secret of a key that was made or rotated, and how to try it; then forget it. */
async function reveal(key, title, more, base = location.origin + url("")) {
    await showSecret({ title, secret: key.key, text: html`<b><bdi>${key.name}</bdi></b>. ${
        key.expires_at ? `It ends on ${dateTime(key.expires_at)}.` : "It does not end."}`,
    more: html`${more}<p>To try it, run this, paste the key and press Enter. A key that works gets
        a 200.</p>${copyLine(tryLine(base, key.scopes), "Copy the command")}` });
    delete key.key;
}

/** How long the old secret works beside the new one, in seconds. */
const OVERLAPS = [["0", "Not at all: it stops at once"], ["3600", "1 hour"], ["86400", "1 day"],
    ["604800", "7 days"], ["2592000", "30 days, the longest"]];

/** Give a key a new secret, and show it. Returns the rotated key, if done. */
export async function rotate(key) {
    const rotated = await formDialog({ title: "Rotate this key", action: "Rotate",
        lead: () => html`<bdi>${key.name}</bdi> gets a new secret. Name, scopes and end stay.`,
        start: { "/overlap": "86400" },
        fields: (one) => html`${select(one.props("/overlap", { label: "The old secret works for",
            options: OVERLAPS }))}
            ${new Date(key.former_secret_until) > new Date() ? note("warn",
                "It has two secrets now: the older one stops at once.") : ""}
            ${isOwn(key) ? note("warn", "You are signed in with this key. When the old secret "
                + "stops, sign in with the new one.") : ""}`,
        write: async ({ overlap }) => (await post(`/keys/${key.id}/rotate`, undefined,
            { query: { overlap_s: overlap } })).data });
    if (rotated) {
        const end = rotated.former_secret_until;
        await reveal(rotated, "The new secret", note("info", end
            ? `The old secret works until ${dateTime(end)}.` : "The old secret stopped working."));
    }
    return rotated;
}
