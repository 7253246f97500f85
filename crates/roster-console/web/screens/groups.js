// The list of groups, and a new group.
import { html } from "../vendor/lit-html/lit-html.js";
import { post } from "../api.js";
import { go, to, toast } from "../page.js";
import { number, total } from "../texts.js";
import { pages } from "../ui/data.js";
import { field } from "../ui/fields.js";
import { formDialog } from "../ui/form.js";
import { listScreen } from "../ui/list.js";
import { cut, mark, shortAgo } from "../ui/parts.js";

const columns = () => [
    { head: "Name", cell: (group) => html`<a class="nm" href=${to("groups", group.id)}>${
        mark("groups")}${cut(group.display_name)}</a>` },
    { head: "External id", type: "muted mono d", cell: (group) => cut(group.external_id) },
    { head: "Members", type: "end", cell: ({ member_count: size }) => html`${number(size)}<span
        class="m">&nbsp;${size === 1 ? "member" : "members"}</span>` },
    { head: "Updated", type: "end", cell: (group) => shortAgo(group.updated_at) }];

export default (route) => listScreen({ route, title: "Groups", scope: "users:read",
    may: "read groups", columns,
    search: { label: "Search groups", placeholder: "Name of the group" },
    sorts: [["display_name", "Name, A to Z"], ["-display_name", "Name, Z to A"],
        ["-id", "Newest"], ["id", "Oldest"]],
    list: (search) => pages("/groups", () => ({ q: search.q, sort: search.sort || "display_name",
        count: true })),
    sub: ({ total: all }, { q }) => html`${total(all)}${q ? " match" : ""}`,
    none: () => ({ icon: "groups", title: "There are no groups yet",
        text: "A group has users and other groups as members." }),
    noMatch: { icon: "search", title: "No group matches" },
    add: { text: "New group", run: add, scope: "users:write" } });

async function add() {
    const group = await formDialog({ title: "New group", action: "Create group",
        fields: groupFields,
        write: async (body, _, key) => (await post("/groups", body,
            { headers: { "Idempotency-Key": key } })).data });
    if (group) {
        toast(`Group ${group.display_name} created`);
        go("groups", group.id);
    }
}

export const groupFields = (form) => html`
    ${field(form.props("/display_name", { label: "Name", required: true, wide: true }))}
    ${field(form.props("/external_id", { mono: true, mark: "optional", wide: true }))}`;
