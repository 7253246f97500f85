// The groups of a user: its own, and those that have it by another group.
import { html } from "../vendor/lit-html/lit-html.js";
import { del, get, put } from "../api.js";
import { can } from "../caller.js";
import { here, to, toast } from "../page.js";
import { attempt, foot, pages, reading } from "../ui/data.js";
import { dialog } from "../ui/dialog.js";
import { icon } from "../ui/icons.js";
import { listView } from "../ui/list.js";
import { once } from "../ui/parts.js";

/** The groups of the user that is shown, also after an older message was undone. */
let shown;

export function userGroups(id) {
    const { tenant } = here();
    const writes = can("users:write");
    const list = shown = reading(async (signal) => {
        const [direct, all] = await Promise.all([undefined, true].map(async (nested) =>
            (await get(`/users/${id}/groups`, { signal, query: { limit: 1000, nested,
                fields: "display_name" } })).data.items));
        const own = direct.map((group) => group.id);
        return [...direct, ...all.filter((group) => !own.includes(group.id))]
            .map((group) => ({ ...group, own: own.includes(group.id) }));
    });
    async function change(group, joins) {
        const member = `/groups/${group.id}/members/${id}`;
        if (await attempt(() => (joins ? put(member, undefined, { tenant })
            : del(member, { tenant })))) {
            toast(`${joins ? "Added to" : "Removed from"} ${group.display_name}`,
                { undo: () => change(group, !joins) });
        }
        shown.load();
    }
    async function add() {
        let q = "";
        const found = pages("/groups", () => ({ q, fields: "display_name", sort: "display_name" }));
        found.load();
        const group = await dialog({ title: "Add to a group",
            body: (close) => html`<input class="in" aria-label="Search groups"
                placeholder="Name of the group" autofocus @input=${(event) => {
                    q = event.target.value;
                    found.load();
                }}><ul class="list">${found.items?.map((one) => line(html`<bdi>${one.display_name
                }</bdi>`, list.value?.some(({ id, own }) => own && id === one.id) ? "is a member"
                    : html`<button type="button" class="btn" @click=${() => close(one)}>Add<span
                        class="sr"> to ${one.display_name}</span></button>`))}</ul>${foot(found)}`,
            actions: (close) => html`<button type="button" class="btn" @click=${() => close()}>
                Cancel</button>` });
        return group && change(group, true);
    }
    const link = (group) => html`<a class="pill" href=${to("groups", group.id)}>${icon("groups")
        }<bdi>${group.display_name}</bdi></a>`;
    const line = (name, end) => html`<li class="row line">${name}<span class="sp muted">${end}
        </span></li>`;
    const button = () => (writes ? html`<div><button class="btn" @click=${add}>${icon("plus")
        }Add to a group</button></div>` : "");
    const view = () => listView(list, list.value, () => ({ icon: "groups", title: "In no group",
        action: button() }), (all) => html`<div class="sections"><ul class="card list">${
        all.map((one) => line(link(one), !one.own ? "by another group" : writes ? html`<button
            class="btn ghost" @click=${once(() => change(one, false))}>Remove</button>` : ""))}</ul>
        ${button()}</div>`);
    return { view, close: list.close, count: () => list.value?.length,
        pills: () => html`<div class="pills">${list.value?.map(link)}</div>` };
}
