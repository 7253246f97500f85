// One key: what it may do, when it ends, rotate and revoke.
import { html } from "../vendor/lit-html/lit-html.js";
import { del, get } from "../api.js";
import { caller, can } from "../caller.js";
import { go, to, toast } from "../page.js";
import { signOut } from "../session.js";
import { agoTime, dateTime } from "../texts.js";
import { confirm } from "../ui/confirm.js";
import { attempt } from "../ui/data.js";
import { icon } from "../ui/icons.js";
import { table } from "../ui/list.js";
import { ago, cut, mark, note } from "../ui/parts.js";
import { facts, recordScreen } from "../ui/record.js";
import { keyBadge, marks } from "./keys.js";
import { isOwn, newKey, rotate } from "./keys_new.js";
import { endsSoon, scopeWords, SCOPES } from "./keys_scopes.js";

/** Revoke a key after a question; false if it was not done. */
async function revoke(key) {
    const own = isOwn(key);
    const manages = (one) => one.status === "active" && one.scopes.includes("keys:admin");
    // A caller with another key manages keys, or could not ask this.
    const last = manages(key) && (own || caller().kind !== "key") && !(await get("/keys")).data
        .items.some((one) => one.id !== key.id && manages(one));
    if (!await confirm({ title: "Revoke this key?", danger: true, action: "Revoke",
        type: own || last ? key.name : undefined, text: html`<p>From now on every request with <b>
            <bdi>${key.name}</bdi></b> gets 401, and its imports and exports stop.</p><p>This cannot
            be undone: the program needs a new key then. Nothing that it wrote is lost.</p>${own
            ? note("bad", "You are signed in with this key: revoking it signs you out.") : ""}${last
            ? note("bad", html`No other active key manages keys here. After this, only <span
                class="mono">roster keys create</span> on the server can make one.`) : ""}` })) {
        return false;
    }
    await del(`/keys/${key.id}`);
    if (own) {
        // The cookie ended with the key; the page starts again.
        await signOut().catch(() => {});
    }
    toast(`Key ${key.name} revoked`);
}

const stateNote = (key) => (key.status !== "active" ? note("bad",
    "Requests with it get 401. It cannot be brought back.") : endsSoon(key) ? note("warn",
    `Ends ${agoTime(key.expires_at)}. Rotating does not put that off: make one like it, give it to `
    + "the program, then revoke this one.") : "");

export default function key(route) {
    const button = (text, name, run, kind = "") => html`<button class="btn ${kind}" @click=${
        async () => await run() && screen.load()}>${icon(name)}${text}</button>`;

    /** Another key like this one, since a rotation does not put the end off. */
    async function renew({ name, scopes, tenants }) {
        const made = await newKey({ name, scopes, all: tenants === "all" });
        if (made) {
            go("keys", made.id);
        }
    }
    const main = (one) => html`<div class="sections">${stateNote(one)}<section class="card">
        <h2>What it may do</h2>${table([{ head: "Scope", type: "mono", cell: (name) => name },
            { head: "Allows", type: "muted", cell: (name) => SCOPES.find((scope) =>
                scope.name === name)?.text }], one.scopes)}</section></div>`;

    const screen = recordScreen({ route, kind: "Key", list: "Keys", scope: "keys:admin",
        may: "manage keys", name: (one) => one.name, picture: () => mark("key"),
        read: async (signal) => (await get(`/keys/${encodeURIComponent(route.parts[0])}`,
            { signal })).data,
        badge: (one) => html`${keyBadge(one)}${marks(one)}`,
        sub: (one) => html`<span>${scopeWords(one.scopes)}</span>${can("events:read") ? html`<a
            class="link" href=${to("activity", { actor: `key:${one.id}` })}>What it changed</a>`
            : ""}`,
        actions: (one) => html`${one.status !== "active" || endsSoon(one)
            ? button("Make one like it", "plus", () => renew(one)) : ""}${one.status === "active"
            ? html`${button("Rotate", "rotate", () => rotate(one))}${button("Revoke", "lock", () =>
                attempt(() => revoke(one), "Not revoked"), "danger")}` : ""}`,
        tabs: [["", "Key", main]],
        rail: (one) => facts([
            ["Last used", one.last_used_at ? ago(one.last_used_at) : "Never"],
            ["Ends", dateTime(one.expires_at) || "Never"], ["Created", dateTime(one.created_at)],
            ["Created by", one.created_by.startsWith("key:") ? html`<a class="link" href=${
                to("keys", one.created_by.slice(4))}>${cut(one.created_by)}</a>`
                : cut(one.created_by)],
            ["Rotated", dateTime(one.rotated_at)],
            ["Old secret ends", dateTime(one.former_secret_until)],
            ["Revoked", dateTime(one.revoked_at)]], "Facts"),
        gone: () => ({ icon: "key", title: "No key has this id",
            text: "It may be a key of another tenant." }) });
    return screen;
}
