// Rotate and revoke a key.
import { html } from "../vendor/lit-html/lit-html.js";
import { asProblem, del, get, post } from "../api.js";
import { caller } from "../caller.js";
import { refresh, toast } from "../page.js";
import { dateTime } from "../texts.js";
import { confirm } from "../ui/confirm.js";
import { dialog } from "../ui/dialog.js";
import { select } from "../ui/fields.js";
import { note } from "../ui/parts.js";
import { isOwn } from "./keys.js";
import { reveal } from "./keys_new.js";
import { OVERLAPS } from "./keys_scopes.js";

/** @typedef {import("./keys_new.js").Key} Key */

/** Give a key a new secret. The rotated key, or undefined. @param {Key} key
 * @returns {Promise<Key | undefined>} */
export async function rotate(key) {
    const state = { overlap: "86400", busy: false, fault: "" };
    const until = () => new Date(Date.now() + Number(state.overlap) * 1000).toISOString();

    /** @param {(key?: Key) => void} close */
    async function submit(close) {
        if (state.busy) {
            return;
        }
        Object.assign(state, { busy: true, fault: "" });
        refresh();
        try {
            close((await post(`/keys/${key.id}/rotate`, undefined,
                { query: { overlap_s: state.overlap } })).data);
        } catch (error) {
            const problem = asProblem(error);
            state.busy = false;
            state.fault = problem.detail || problem.title;
            refresh();
        }
    }

    const body = () => html`
        <p>It gets a new secret at once. Name, scopes and end stay as they are.</p>
        ${select({ id: "key-overlap", label: "The old secret works for", value: state.overlap,
        options: OVERLAPS, onChange: (overlap) => {
            state.overlap = overlap;
            refresh();
        }, hint: state.overlap === "0" ? ""
            : `Until ${dateTime(until())}. Give the program the new `
            + "secret before." })}
        ${state.overlap === "0" ? note("warn", "Every request with the old secret gets 401 "
            + "from now on, until the program has the new one.") : ""}
        ${key.former_secret_until && new Date(key.former_secret_until) > new Date() ? note("warn",
        `An older secret works until ${dateTime(key.former_secret_until)}. A key has two `
            + "secrets at most: the older one stops now.") : ""}
        ${isOwn(key) ? note("warn", "You are signed in with this key. When the old secret "
            + "stops, sign in with the new one.") : ""}
        ${state.fault ? note("bad", state.fault) : ""}`;

    const rotated = await dialog({
        title: "Rotate this key", lead: () => html`<bdi>${key.name}</bdi>`, body, submit,
        actions: (close) => html`<div class="sp">
            <button type="button" class="btn" @click=${() => close()}>Cancel</button>
            <button type="submit" class="btn primary"
                ?disabled=${state.busy}>Rotate</button></div>`,
    });
    if (rotated) {
        const until = rotated.former_secret_until;
        await reveal(rotated, "The new secret", undefined, note("info", until
            ? `The old secret works until ${dateTime(until)}.` : "The old secret "
                + "stopped working."));
        const { key: _, ...rest } = rotated;
        return rest;
    }
}

/** What a revocation stops. @param {Key} key @param {boolean} last no other key manages keys */
const revokeText = (key, last) => html`
    <p>From now on every request with <b><bdi>${key.name}</bdi></b> gets 401. Its imports and
        exports that run stop within a second.${key.scopes.includes("scim")
        ? " An identity provider that uses it stops provisioning." : ""}</p>
    <p>This cannot be undone. To let the program in again, make a new key and give it to the
        program. Nothing that it wrote is lost.</p>
    ${isOwn(key) ? note("bad", "You are signed in with this key: revoking it signs you "
        + "out, here and wherever else it is used.") : ""}
    ${last ? note("bad", html`No other active key manages keys here. After this, only the command
        <span class="mono">roster keys create</span> on the server can make one.`) : ""}`;

/** Whether this is the only key that may make another one. @param {Key} key */
async function isLast(key) {
    // A caller with another key manages keys, or could not ask this.
    if (!key.scopes.includes("keys:admin") || (caller().kind === "key" && !isOwn(key))) {
        return false;
    }
    const { items } = (await get("/keys")).data;
    return !items.some((/** @type {Key} */ one) => one.id !== key.id && one.status === "active"
        && one.scopes.includes("keys:admin"));
}

/** Revoke a key after a question; whether it was done. @param {Key} key */
export async function revoke(key) {
    try {
        const last = await isLast(key);
        if (!await confirm({ title: "Revoke this key?", danger: true, action: "Revoke",
            text: revokeText(key, last), type: isOwn(key) || last ? key.name : undefined })) {
            return false;
        }
        await del(`/keys/${key.id}`);
    } catch (error) {
        toast(`Not revoked: ${asProblem(error).detail || asProblem(error).title}`, { kind: "bad" });
        return false;
    }
    if (isOwn(key)) {
        const { signOut } = await import("../session.js");
        await signOut().catch(() => {}); // the cookie ended with the key; the page starts again
        return true;
    }
    toast(`Key ${key.name} revoked`);
    return true;
}
