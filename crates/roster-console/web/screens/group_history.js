// The history of a group: who came, who left, and changes of its record.
import { html } from "../vendor/lit-html/lit-html.js";
import { actorName, isMine } from "../actors.js";
import { get } from "../api.js";
import { can } from "../caller.js";
import { refresh, to } from "../page.js";
import { count, label, shortId, userName } from "../texts.js";
import { ago, emptyState, errorPanel, noScope, skeleton } from "../ui/parts.js";
import { foot, pagesOf } from "./groups_pages.js";

const SHOWN = 5;

/** @param {string} id */
export function groupHistory(id) {
    const names = /** @type {Map<string, {name: string, screen: string}>} */ (new Map());
    const list = pagesOf("/events", () => ({ group_id: id, sort: "-position" }), { added:
        readNames });
    if (can("events:read")) {
        list.load();
    }

    /** Events have ids of members; the first of each are read for their names. @param {any[]}
     * events */
    async function readNames(events) {
        const ids = [...new Set(events.flatMap(({ data }) => [...(data.added ?? []).slice(0, SHOWN),
            ...(data.removed ?? []).slice(0, SHOWN)]))].filter((one) => !names.has(one));
        const fields = "username,name,display_name,given_name,family_name";
        const keep = (/** @type {any} */ page, /** @type {string} */ screen) => {
            for (const one of page.data.items) {
                names.set(one.id, { name: userName(one), screen });
            }
        };
        try {
            for (let at = 0; at < ids.length; at += 100) {
                keep(await get("/users", { query: { id: ids.slice(at, at + 100), limit: 100,
                    fields } }),
                    "users");
            }
            refresh();
            const rest = ids.filter((one) => !names.has(one)).slice(0, 40);
            if (rest.length) {
                const filter = rest.map((one) => `id eq "${one}"`).join(" or ");
                keep(await get("/groups", { query: { filter, fields: "display_name" } }), "groups");
                if (can("users:write")) {
                    keep(await get("/deleted-users", { query: { filter, fields } }), "deleted");
                }
            }
        } catch {
            // Ids are shown in place of names.
        }
        refresh();
    }

    /** @param {string} word @param {string[] | undefined} ids */
    const people = (word, ids) => (ids?.length ? html`<div>${word} ${ids.slice(0, SHOWN).map((one,
        i) =>
        html`${i ? ", " : ""}${names.has(one) ? html`<a class="link"
            href=${to(names.get(one)?.screen ?? "users",
                one)}><bdi>${names.get(one)?.name}</bdi></a>` : html`<span class="mono"
                    title=${one}>${shortId(one)}</span>`}`)}${
        ids.length > SHOWN ? ` and ${count(ids.length - SHOWN, "other")}` : ""}</div>` : "");

    const one = (/** @type {any} */ event) => {
        const { added, removed, changed = [], group } = event.data;
        const record = changed.filter((/** @type {string} */ name) => group && name in group);
        return html`<li class=${isMine(event.actor) ? "me" : ""}><span class="by"><bdi>${
            actorName(event.actor)}</bdi></span> ${event.type === "group.created" ?
                "created the group"
            : event.type === "group.deleted" ? "deleted the group" : ""} ${ago(event.time)}
            ${people("Added", added)}${people("Removed", removed)}
            ${record.length ? html`<dl
                class="diff">${record.map((/** @type {string} */ name) => html`
                <div><dt>${name === "display_name" ? "Name" :
                    label(name)}</dt><dd><ins><bdi>${group[name]}</bdi
                ></ins></dd></div>`)}</dl>` : ""}</li>`;
    };

    return { view() {
        if (!can("events:read")) {
            return noScope("events:read", "read the history");
        }
        if (list.error) {
            return errorPanel(list.error, () => list.load());
        }
        if (!list.items) {
            return skeleton(6);
        }
        return list.items.length ? html`<div class="sections"><ol
            class="tl">${list.items.map(one)}</ol></div>
            ${foot(list, "events")}` : emptyState({ icon: "clock", title: "No events are kept",
            text: "The change log does not reach back to the last change of this group." });
    } };
}
