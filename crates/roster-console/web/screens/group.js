// One group: its members, its details, its history.
import { html } from "../vendor/lit-html/lit-html.js";
import { del, get, patch } from "../api.js";
import { can } from "../caller.js";
import { go, to, toast } from "../page.js";
import { count, dateTime, number } from "../texts.js";
import { confirm } from "../ui/confirm.js";
import { attempt } from "../ui/data.js";
import { form, formView } from "../ui/form.js";
import { icon } from "../ui/icons.js";
import { ago, copy, mark, readsOnly } from "../ui/parts.js";
import { facts, recordScreen } from "../ui/record.js";
import { groupHistory } from "./activity.js";
import { groupFields } from "./groups.js";
import { groupMembers } from "./group_members.js";

/** @param {import("../route.js").Route} route */
export default function group(route) {
    const [id] = route.parts;
    const path = `/groups/${id}`;
    const writes = can("users:write");
    const stored = async (signal) => (await get(path, { signal })).data;
    const details = form({ writes, read: stored, name: (one) => one.display_name,
        write: async (body, version) => (await patch(path, body, { version })).data,
        saved(record, _, pointers) {
            screen.take({ ...record, parents: screen.record().parents });
            toast(pointers[0] ? "Saved" : "Your changes are discarded");
        } });
    const members = groupMembers(id, () => screen.record(), () => screen.load());
    const history = groupHistory(id);

    async function remove(one) {
        if (!await confirm({ title: "Delete this group?", danger: true, action: "Delete group",
            type: one.display_name, text: html`<p>The group and its list of
                ${count(one.member_count, "member")} are lost. <strong>This cannot be
                undone.</strong></p><p>The members themselves are kept. ${details.unsaved()
                    ? "Your unsaved changes are lost." : ""} ${one.parents.length
                    ? `${count(one.parents.length, "group")} that contained it no longer
                    ${one.parents.length === 1 ? "does" : "do"}.` : ""} The change log keeps who was
                in it, as long as it keeps events.</p>` })) {
            return;
        }
        if (!await attempt(() => del(path, { version: one.version }), "Not deleted")) {
            return screen.load();
        }
        details.discard();
        toast(`Group ${one.display_name} deleted`);
        go("groups");
    }

    const screen = recordScreen({ route, kind: "Group", list: "Groups", scope: "users:read",
        may: "read groups", form: details, formTab: "details", closes: [members, history],
        async read(signal) {
            const [record, parents] = await Promise.all([stored(signal), get("/groups",
                { signal, query: { member_id: id, limit: 100, fields: "display_name" } })]);
            return { ...record, parents: parents.data.items };
        },
        name: (one) => one.display_name, picture: () => mark("groups"),
        sub: (one) => html`<span>${count(one.member_count, "member")}</span>`,
        actions: () => (writes ? html`<button class="btn primary" @click=${members.add}>${
            icon("plus")}Add members</button>` : readsOnly()),
        menu: (one) => [
            { text: "Copy the id", icon: "copy", run: async () =>
                await copy(id) && toast("The id is copied") },
            ...(writes ? [null, ({ text: "Delete group", icon: "trash",
                danger: true, run: () => remove(one) })] : [])],
        tabs: [["", "Members", members.view, (one) => number(one.member_count)],
            ["details", "Details", () => formView(details, "Details", html`<fieldset>
                <legend>Details</legend><div class="fs">${groupFields(details)}</div></fieldset>`)],
            ["history", "History", history.view]],
        rail: (one) => html`<section><h2>In these groups</h2>${one.parents.length
            ? html`<div class="pills">${one.parents.map((parent) => html`<a class="pill"
                href=${to("groups", parent.id)}>${icon("groups")}<bdi>${parent.display_name}</bdi>
                </a>`)}</div><p class="note">Its members are members of these too.</p>`
            : html`<p class="muted">No group contains this one.</p>`}</section>
            ${facts([["External id", one.external_id && html`<bdi class="mono">${one.external_id}
                </bdi>`], ["Version", number(one.version)], ["Created", dateTime(one.created_at)],
            ["Updated", ago(one.updated_at)]])}`,
        gone: () => ({ icon: "groups", title: "There is no group with this id", text: "It may have "
            + "been deleted; deleted groups cannot be restored. Or the link belongs to another "
            + "tenant." }),
        keys: { "/": () => document.getElementById("member-search")?.focus(),
            a: () => (writes && screen.record() ? members.add() : false) } });
    return screen;
}
