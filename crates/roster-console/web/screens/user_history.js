// The history of a user: who changed what, from which value to which.
import { html } from "../vendor/lit-html/lit-html.js";
import { actorName, isMine } from "../actors.js";
import { get } from "../api.js";
import { can } from "../caller.js";
import { here, refresh, setQuery } from "../page.js";
import { changedPointers, valueAt } from "../merge.js";
import { count, label, valueText } from "../texts.js";
import { select } from "../ui/fields.js";
import { ago, copyButton, emptyState, errorPanel, noScope, skeleton } from "../ui/parts.js";

/** @typedef {{id: string, type: string, time: string, actor: string, requestid: string,
 *   data: Record<string, any>}} Event */
/** @typedef {{event: Event, changes: {pointer: string, from: any, to: any}[], known: boolean}} Item
 * */

/** Events have the record after the change, so the older one has the values of before.
 * @param {Event[]} events newest first @param {boolean} whole whether the oldest is among them
 * @returns {Item[]} */
export function withOldValues(events, whole) {
    const items = events.map((event, at) => {
        const after = event.data.user;
        const before = events[at + 1]?.data.user;
        const first = event.type === "user.created";
        if (!after || (!before && !first) || event.type === "user.deleted") {
            return { event, changes: [], known: event.type !== "user.updated" };
        }
        return { event, known: true, changes: changedPointers(first ? {} : before, after)
            .map((pointer) => ({ pointer, from: first ? undefined : valueAt(before, pointer),
                to: valueAt(after, pointer) })) };
    });
    return whole ? items : items.slice(0, -1);
}

const WORDS = /** @type {Record<string, string>} */ ({
    "user.created": "created", "user.updated": "", "user.deleted": "deleted",
    "user.restored": "restored", "user.purged": "erased",
});

/** The words for a pointer: "/attributes/team" -> "Team". @param {string} pointer */
export const pointerLabel = (pointer) => {
    const path = pointer.slice(1).split("/");
    return path[0] === "manager" && path[1] ? (path[1] === "display_name" ? "Manager"
        : `Manager: ${label(path[1]).toLowerCase()}`) : label(path.join("."));
};

/** @param {{pointer: string, from: any, to: any}} change */
const changeView = ({ pointer, from, to }) => html`<div><dt>${pointerLabel(pointer)}</dt><dd>${
    valueText(from) ? html`<del><bdi>${valueText(from)}</bdi></del>` : ""}${
    valueText(from) && valueText(to) ? html` <span aria-label="to">→</span> ` : ""}${
    valueText(to) ? html`<ins><bdi>${valueText(to)}</bdi></ins>` : valueText(from)
        ? html` <span class="muted">removed</span>` : ""}</dd></div>`;

/** @param {Item[]} items @param {{requests?: boolean, field?: string}} [options] */
export const timeline = (items, { requests = false, field = "" } = {}) => html`<ol class="tl">${
    items.map(({ event, changes, known }) => {
        const shown = changes.filter(({ pointer }) => !field || pointer === field);
        const kind = event.type === "user.restored" ? "ok" : isMine(event.actor) ? "me" : "";
        const by = event.requestid?.startsWith("console-") ? " in the console" : "";
        return html`<li class=${kind}><span class="by"><bdi>${actorName(event.actor)}</bdi></span>
            ${WORDS[event.type] ?? event.type}${requests ? by : ""} ${ago(event.time)}
            ${shown.length ? html`<dl class="diff">${shown.map(changeView)}</dl>`
                : known ? "" : html`<div class="muted">${(event.data.changed ?? [])
                    .map(label).join(", ")}. The values of before are not in the log any
                        more.</div>`}
            ${requests && event.requestid ? html`<div class="muted">Request ${copyButton(
                event.requestid, "Copy the id of the request",
                html`<span class="mono">${event.requestid}</span>`)}</div>` : ""}</li>`;
    })}</ol>`;

/** Read the newest events; one more than shown, for its values. @param {string} id
 * @param {{limit: number, cursor?: string, signal?: AbortSignal}} options */
export async function readHistory(id, { limit, cursor, signal }) {
    const { data } = await get(`/users/${id}/events`, { signal,
        query: { sort: "-position", limit: limit + 1, cursor } });
    return { events: /** @type {Event[]} */ (data.items), next: /** @type {string | null} */ (
        data.next_cursor) };
}

/** The tab. @param {string} id */
export function historyTab(id) {
    const state = { events: /** @type {Event[]} */ ([]), next: /** @type {string | null} */ (""),
        loading: false, error: /** @type {any} */ (null), field: here().query.field ?? "" };

    async function load() {
        state.loading = true;
        state.error = null;
        try {
            const page = await readHistory(id, { limit: 50, cursor: state.next ?? "" });
            state.events.push(...page.events);
            state.next = page.next;
        } catch (error) {
            state.error = error;
        }
        state.loading = false;
        refresh();
    }
    if (can("events:read")) {
        load();
    }
    return { reload() {
        Object.assign(state, { events: [], next: "" });
        load();
    }, view() {
        if (!can("events:read")) {
            return noScope("events:read", "read the history");
        }
        if (state.error) {
            return errorPanel(state.error, load);
        }
        if (state.loading && !state.events.length) {
            return skeleton(6);
        }
        const items = withOldValues(state.events, !state.next);
        const fields = [...new Set(items.flatMap(({ changes }) => changes.map(({ pointer }) =>
            pointer)))]
            .sort();
        const shown = items.filter(({ changes }) => !state.field
            || changes.some(({ pointer }) => pointer === state.field));
        return html`<div class="sections">
            ${select({ id: "history-field", label: "Field", value: state.field,
                options: [["", "All fields"], ...fields.map((pointer) =>
                    /** @type {[string, string]} */ ([pointer, pointerLabel(pointer)]))],
                onChange: (field) => {
                    state.field = field;
                    setQuery({ field });
                    refresh();
                } })}
            ${shown.length ? timeline(shown, { requests: true, field: state.field })
                : emptyState({ icon: "clock", title: "No event changed this field" })}
            <div class="muted">${count(shown.length, "event")}, newest first.
                ${state.next ? html`<button class="link" ?disabled=${state.loading} @click=${load}>
                    Show older ones</button>` : ""}</div>
        </div>`;
    } };
}
