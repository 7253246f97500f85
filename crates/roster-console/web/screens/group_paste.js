// A pasted list of usernames, addresses or ids: find the users, show who is missing, then add all.
import { html } from "../vendor/lit-html/lit-html.js";
import { asProblem, del, get, put } from "../api.js";
import { refresh, say } from "../page.js";
import { isId } from "../route.js";
import { count, number, userName } from "../texts.js";
import { textarea } from "../ui/fields.js";
import { icon } from "../ui/icons.js";
import { note } from "../ui/parts.js";
import { membersAmong } from "./group_add.js";
import { FIELDS } from "./group_members.js";
import { each } from "./groups_pages.js";

const MAX = 1000;

/** The entries of a pasted text, each once. @param {string} text */
export const entriesOf = (text) => [...new Set(text.split(/[\n\r,;\t]+/)
    .map((one) => one.trim().replace(/^.*<([^<>]+@[^<>]+)>$/, "$1").replace(/^["']|["']$/g, ""))
    .filter(Boolean))];

/** @param {string} id @param {() => void} changed */
export function pasteList(id, changed) {
    const state = { text: "", step:
        /** @type {"write" | "find" | "found" | "add" | "done"} */ ("write"),
        done: 0, all: 0, error: "", found: /** @type {any[]} */ ([]), missing:
            /** @type {string[]} */ ([]),
        already: 0, added: /** @type {any[]} */ ([]), failed:
            /** @type {[string, string][]} */ ([]) };

    /** @param {string} entry */
    async function lookUp(entry) {
        const ask = async (/** @type {object} */ query) =>
            (await get("/users", { query: { ...query, limit: 1, fields: FIELDS } })).data.items[0];
        if (isId(entry)) {
            return ask({ id: entry.trim() });
        }
        return (entry.includes("@") ? await ask({ email: entry }) : undefined)
            ?? ask({ username: entry });
    }

    async function find() {
        const entries = entriesOf(state.text);
        if (entries.length > MAX) {
            state.error = `At most ${number(MAX)} at a time; these are ${number(entries.length)}.`;
            refresh();
            return;
        }
        Object.assign(state, { step: "find", done: 0, all: entries.length, error: "", missing:
            [] });
        refresh();
        const users = new Map();
        const missing = new Set();
        try {
            await each(entries, 4, async (entry) => {
                let user;
                try {
                    user = await lookUp(entry);
                } catch (error) {
                    if (asProblem(error).status !== 400) { // 400: it can be no username
                        throw error;
                    }
                }
                user ? users.set(user.id, user) : missing.add(entry);
                state.done += 1;
                refresh();
            });
            const members = await membersAmong(id, [...users.keys()]);
            Object.assign(state, { step: "found", already: members.size,
                found: [...users.values()].filter((user) => !members.has(user.id)),
                missing: entries.filter((entry) => missing.has(entry)) });
            say(`${count(state.found.length, "user")} found, ${number(missing.size)} not found`);
        } catch (error) {
            Object.assign(state, { step: "write", error: asProblem(error).detail ||
                asProblem(error).title });
        }
        refresh();
    }

    async function addAll() {
        Object.assign(state, { step: "add", done: 0, all: state.found.length, added: [], failed:
            [] });
        refresh();
        await each(state.found, 2, async (user) => {
            try {
                await put(`/groups/${id}/members/${user.id}`);
                state.added.push(user);
                changed();
            } catch (error) {
                state.failed.push([userName(user), asProblem(error).detail ||
                    asProblem(error).title]);
            }
            state.done += 1;
            refresh();
        });
        state.step = "done";
        // What is left in the field is what could not be found.
        state.text = state.missing.join("\n");
        say(`${count(state.added.length, "user")} added`);
        refresh();
    }

    async function takeBack() {
        const some = state.added;
        Object.assign(state, { step: "add", done: 0, all: some.length });
        await each(some, 2, async (user) => {
            try {
                await del(`/groups/${id}/members/${user.id}`);
            } catch {
                // Somebody removed it already.
            }
            state.done += 1;
            refresh();
        });
        Object.assign(state, { step: "write", added: [], found: [], failed: [] });
        refresh();
    }

    const missingView = () => (state.missing.length ? html`<div>
        <p class="strong">${count(state.missing.length, "entry", "entries")} not found</p>
        <div class="glist" tabindex="0" role="group" aria-label="Not found">${
    state.missing.map((one) => html`<div><bdi>${one}</bdi></div>`)}</div></div>` : "");

    function result() {
        if (state.step === "find" || state.step === "add") {
            return html`<p role="status">${state.step === "find" ? "Looking up" : "Working on"}
                ${number(state.done)} of ${number(state.all)}</p><progress class="gbar"
                    max=${state.all || 1}
                .value=${state.done} aria-label="Progress"></progress>`;
        }
        if (state.step === "found") {
            return html`<p>${count(state.found.length, "user")} can be added${state.already
                ? `; ${number(state.already)} ${state.already === 1 ? "is a member" :
                    "are members"} already`
                : ""}.</p>
                ${state.found.length ? html`<div class="glist" tabindex="0" role="group"
                aria-label="Found">${state.found.map((user) => html`<div>
                <bdi>${userName(user)}</bdi>
                <span class="muted"><bdi>${user.email ?? user.username}</bdi></span></div>`)}</div>`
                    : ""}
                ${missingView()}`;
        }
        if (state.step === "done") {
            return html`${note("info", html`${count(state.added.length, "user")} added.
                ${state.added.length ? html`<button type="button" class="link"
                    @click=${takeBack}>Undo
                </button>` : ""}`)}
                ${state.failed.length ? note("bad", state.failed.map(([name, why]) =>
        html`<div><bdi>${name}</bdi>: ${why}</div>`)) : ""}${missingView()}`;
        }
        return "";
    }

    const view = () => html`${textarea({ id: "paste-list", label:
        "Usernames, e-mail addresses or ids",
        value: state.text, rows: 6, error: state.error, disabled: state.step === "find"
            || state.step === "add",
        hint: "One a line, or with commas between them. You see who is found before any is added.",
        onInput: (text) => {
            Object.assign(state, { text, step: "write", error: "" });
            refresh();
        } })}${result()}`;

    const ready = () => state.step === "found" && state.found.length > 0;
    const go = () => (ready() ? addAll()
        : state.step === "write" && entriesOf(state.text).length ? find() : undefined);
    const buttons = () => (state.step === "found" && !ready() ? "" : html`<button type="submit"
        class="btn primary" ?disabled=${!ready() && (state.step !== "write"
        || !entriesOf(state.text).length)}>${icon(ready() ? "plus" : "search")}${ready()
        ? `Add ${number(state.found.length)}` : "Find"}</button>`);
    return { view, go, buttons };
}
