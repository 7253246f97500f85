// The keys of the service or of a tenant.
import { html } from "../vendor/lit-html/lit-html.js";
import { get } from "../api.js";
import { caller } from "../caller.js";
import { to } from "../page.js";
import { agoTime, count, date, number } from "../texts.js";
import { reading } from "../ui/data.js";
import { listScreen } from "../ui/list.js";
import { ago, badge, cut, mark, tabs } from "../ui/parts.js";
import { isOwn, newKey, rotate } from "./keys_new.js";
import { endsSoon, findKeys, scopeWords } from "./keys_scopes.js";

export const keyBadge = ({ status }) => (status === "active" ? badge("ok", "Active")
    : status === "expired" ? badge("warn", "Expired") : badge("bad", "Revoked"));
/** When a key ends, with a warning in the last days. */
export const endsText = (key) => html`<span class="m muted">Ends&nbsp;</span>${endsSoon(key)
    ? badge("warn", agoTime(key.expires_at)) : date(key.expires_at) || "Never"}`;

/** Marks of a key beside its name. */
export const marks = (key) => [key.tenants === "all" ? "All tenants" : "", isOwn(key)
    ? "You use it now" : ""].map((text) => text && html`<span class="badge plain">${text}</span>`);

export default function keys(route) {
    const of = (show) => (screen.list.value ?? []).filter((key) =>
        (key.status === "active") === !show);
    const soon = () => of("").filter((key) => endsSoon(key)).length;
    const tab = (text, show, search) => ({ text, href: to("keys", { q: search.q, show }),
        count: screen.list.value && number(of(show).length), current: search.show === show });
    const run = (work) => async () => await work() && screen.list.load();

    const screen = listScreen({ route, title: "Keys", scope: "keys:admin", may: "manage keys",
        search: { label: "Search keys", placeholder: "Name or id" },
        list: () => reading(async (signal) =>
            (await get("/keys", { signal })).data.items.reverse()),
        find: (_, { q, show }) => findKeys(of(show), q),
        sub: () => soon() && badge("warn", `${count(soon(), "key ends", "keys end")} in 14 days`),
        tabs: (search) => tabs("Which keys", [tab("Active", "", search),
            tab("Ended", "ended", search)]),
        columns: ({ show }) => [
            { head: "Name", cell: (key) => html`<div class="nm">${mark("key")}<a class="cut"
                href=${to("keys", key.id)}><bdi>${key.name}</bdi></a>${marks(key)}</div>` },
            { head: "Scopes", cell: (key) => cut(scopeWords(key.scopes)) },
            { head: "State", type: show ? "" : "d", cell: keyBadge },
            show ? { head: "Ended", cell: (key) => date(key.revoked_at ?? key.expires_at) }
                : { head: "Ends", cell: endsText },
            { head: "Last used", type: "end", cell: (key) => (key.last_used_at ? html`<span
                class="m">Used&nbsp;</span>${ago(key.last_used_at)}` : "Never used") },
            { head: html`<span class="sr">Actions</span>`, type: "act d", cell: (key) => (show ? ""
                : html`<button class="btn ghost" @click=${run(() => rotate(key))}>Rotate<span
                    class="sr"> ${key.name}</span></button>`) }],
        none: ({ show }) => (show ? { icon: "key", title: "No key has ended", action: "" }
            : { icon: "key", title: "No active key", text: "A program sends a key with each "
                + "request. The key says what the program may do." }),
        noMatch: { icon: "search", title: "No key has this name or id",
            text: "Look among the active and the ended ones." },
        add: { text: caller().open ? "Make the first key" : "New key",
            run: run(() => newKey()) } });
    return screen;
}
