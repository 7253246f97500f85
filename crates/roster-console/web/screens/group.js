// One group: its members, its details, its history.
import { html } from "../vendor/lit-html/lit-html.js";
import { asProblem, del, get, isAbort } from "../api.js";
import { can } from "../caller.js";
import { go, loadStyles, refresh, to, toast } from "../page.js";
import { count, dateTime, number, shortId } from "../texts.js";
import { confirm } from "../ui/confirm.js";
import { icon } from "../ui/icons.js";
import { openMenu } from "../ui/menu.js";
import { ago, copyButton, crumb, emptyState, errorPanel, noScope, pageHead, skeleton, tabs }
    from "../ui/parts.js";
import { groupDetails } from "./group_details.js";
import { groupHistory } from "./group_history.js";
import { groupMembers } from "./group_members.js";

await loadStyles("screens/groups.css");

/** @typedef {{id: string, version: number, display_name: string, external_id?: string,
 *   created_at: string, updated_at: string}} Group */

/** @param {import("../route.js").Route} route */
export default function group(route) {
    const id = route.parts[0];
    if (!can("users:read")) {
        return { title: "Group", view: () => html`${pageHead({ title: "Group" })}
            ${noScope("users:read", "read groups")}` };
    }
    const writes = can("users:write");
    const stop = new AbortController();
    const state = { tab: route.parts[1] ?? "", group: /** @type {Group | null} */ (null),
        error: /** @type {any} */ (null), parents: /** @type {Group[] | null} */ (null) };

    async function load() {
        state.error = null;
        try {
            const [own, parents] = await Promise.all([get(`/groups/${id}`, { signal: stop.signal }),
                get("/groups", { query: { member_id: id, limit: 100, fields: "display_name" },
                    signal: stop.signal })]);
            state.group = own.data;
            state.parents = parents.data.items;
        } catch (error) {
            if (isAbort(error)) {
                return;
            }
            state.error = error;
        }
        refresh();
    }
    load();

    /** @param {any} group */
    const take = (group) => {
        state.group = group;
        refresh();
    };
    const members = groupMembers(id, () => state.group, load);
    const details = groupDetails(() => /** @type {Group} */ (state.group), take, writes);
    /** @type {ReturnType<typeof groupHistory> | null} */
    let history = null;

    async function remove() {
        const group = /** @type {Group} */ (state.group);
        const size = members.total();
        const sure = await confirm({ title: "Delete this group?", danger: true, action:
            "Delete group",
            type: group.display_name,
            text: html`<p>The group and its list of ${size === undefined ? "members"
                : count(size, "member")} are lost. <strong>This cannot be undone.</strong></p>
                <p>The members themselves are kept${state.parents?.length
                    ? html`. It leaves the ${state.parents.length === 1 ? "group that contains it"
                        : `${number(state.parents.length)} groups that contain it`}` : ""}. The
                            change log
                keeps who was in it, as long as it keeps events.</p>` });
        if (!sure) {
            return;
        }
        try {
            await del(`/groups/${id}`, { version: group.version });
            details.discard();
            toast(`Group ${group.display_name} deleted`);
            go("groups");
        } catch (error) {
            const problem = asProblem(error);
            if (problem.status === 412) {
                toast("Not deleted: somebody changed the group just now. Look at it again first.",
                    { kind: "bad" });
                members.reload();
                load();
            } else {
                toast(`Not deleted: ${problem.detail || problem.title}`, { kind: "bad" });
            }
        }
    }

    const more = (/** @type {Event} */ event) => openMenu(event, "More", [
        { text: "Copy the id", icon: "copy", run: () => navigator.clipboard.writeText(id) },
        ...(writes ? [null, { text: "Delete group", icon: /** @type {"trash"} */ ("trash"), danger:
            true,
            run: remove }] : [])]);

    const head = (/** @type {Group} */ group) => html`
        ${crumb({ links: [{ href: to("groups"), text: "Groups" }], name: group.display_name })}
        <div class="who2"><span class="gicon">${icon("groups")}</span>
            <div><h1 tabindex="-1"><bdi>${group.display_name}</bdi></h1>
                <div class="sub"><span>${members.total() === undefined ? "Group"
                    : count(members.total(), "member")}</span>${copyButton(id, "Copy the id",
                    html`<span class="mono">${shortId(id)}</span>`)}</div></div>
            <div class="sp">${writes ? html`<button class="btn primary" @click=${members.add}>${
                icon("plus")}Add members</button>` : html`<span class="badge plain">Reads
                    only</span>`}
                <button class="btn icon" aria-label="More" aria-haspopup="menu" @click=${more}>
                ${icon("more")}</button></div>
        </div>
        ${tabs("Parts of the group", [
            { href: to("groups", id), text: "Members", current: !state.tab,
                count: members.total() === undefined ? undefined : number(members.total()) },
            { href: to("groups", id, "details"), text: "Details", current: state.tab ===
                "details" },
            { href: to("groups", id, "history"), text: "History", current: state.tab ===
                "history" }])}`;

    const rail = (/** @type {Group} */ group) => html`<div class="rail">
        <section><h2>In these groups</h2>${state.parents?.length
            ? html`<div class="pills">${state.parents.map((parent) => html`<a class="pill"
                href=${to("groups",
                    parent.id)}>${icon("groups")}<bdi>${parent.display_name}</bdi></a>`)}
                </div><p class="note">Its members are members of these too, one level up.</p>`
            : html`<p class="muted">No group contains this one.</p>`}</section>
        <section><h2>Record</h2><dl class="facts">
            <dt>External id</dt><dd class="mono">${group.external_id
                ? html`<bdi>${group.external_id}</bdi>` : "–"}</dd>
            <dt>Version</dt><dd>${number(group.version)}</dd>
            <dt>Created</dt><dd>${dateTime(group.created_at)}</dd>
            <dt>Updated</dt><dd>${ago(group.updated_at)}</dd></dl></section></div>`;

    function body() {
        if (state.tab === "details") {
            return details.view();
        }
        if (state.tab === "history") {
            history ??= groupHistory(id);
            return history.view();
        }
        return members.view();
    }

    function view() {
        if (state.error) {
            const gone = state.error.status === 404;
            return html`${pageHead({ title: "Group", back: { href: to("groups"), text:
                "Groups" } })}
                ${gone ? emptyState({ icon: "groups", title: "There is no group with this id",
                    text: "It may have been deleted; deleted groups cannot be restored. Or the "
                        + "link belongs to another tenant.",
                    action: html`<a class="btn" href=${to("groups")}>Show all groups</a>` })
                    : errorPanel(state.error, load)}`;
        }
        if (!state.group) {
            return html`${pageHead({ title: "", back: { href: to("groups"), text: "Groups" } })}
                ${skeleton(8)}`;
        }
        return html`<div class="page">${head(state.group)}<div class="gcols"><div
            class="gpart">${body()}
            </div>${rail(state.group)}</div></div>${state.tab === "details" ? details.bar() : ""}`;
    }

    return {
        title: () => state.group?.display_name ?? "Group",
        view,
        owns: (/** @type {import("../route.js").Route} */ next) => next.screen === "groups"
            && next.parts[0] === id && next.tenant === route.tenant,
        changed(/** @type {import("../route.js").Route} */ next) {
            state.tab = next.parts[1] ?? "";
            history = null;
        },
        close() {
            stop.abort();
            members.close();
        },
        unsaved: () => details.unsaved(),
        keys: { "/": () => document.getElementById("member-search")?.focus(),
            "ctrl-enter": () => (state.tab === "details" ? details.save() : false),
            a: () => (writes && state.group ? members.add() : false) },
    };
}
