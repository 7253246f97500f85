// The list of webhooks: where they send, whether they do, and how far behind they are.
import { html } from "../vendor/lit-html/lit-html.js";
import { get, isAbort } from "../api.js";
import { can } from "../caller.js";
import { go, loadStyles, refresh, to } from "../page.js";
import { count } from "../texts.js";
import { icon } from "../ui/icons.js";
import { ago, badge, cut, emptyState, errorPanel, noScope, pageHead,
    skeleton } from "../ui/parts.js";
import { setCount } from "../ui/shell.js";
import { hostOf, lagText, stateOf } from "./webhook_text.js";

await loadStyles("screens/webhook.css");

/** @typedef {import("./webhook_text.js").Webhook} Webhook */

/** Webhooks that need a person come first. @param {Webhook} webhook */
const urgency = (webhook) => ({ parked: 0, stale: 0, active: webhook.failing_since ? 1 : 2,
    paused: 2 }[/** @type {string} */ (webhook.status)] ?? 2);

export default function webhooks() {
    if (!can("webhooks:admin")) {
        return { title: "Webhooks", view: () => html`${pageHead({ title: "Webhooks" })}
            ${noScope("webhooks:admin", "manage webhooks")}` };
    }
    const state = { items: /** @type {Webhook[] | null} */ (null), error: /** @type {any}
     * */ (null) };
    const stop = new AbortController();

    async function load() {
        try {
            const { data } = await get("/webhooks", { signal: stop.signal });
            state.items = [...data.items].sort((a, b) => urgency(a) - urgency(b));
            state.error = null;
            setCount("webhooks", String(data.items.length));
        } catch (error) {
            if (!isAbort(error)) {
                state.error = error;
            }
        }
        refresh();
    }
    load();
    const timer = setInterval(() => {
        if (document.visibilityState === "visible" && !state.error) {
            load();
        }
    }, 5000);

    /** What is wrong, and what happens next. @param {Webhook} webhook */
    const trouble = (webhook) => {
        if (webhook.failing_since) {
            return html`<span>First failed ${ago(webhook.failing_since)}${webhook.next_attempt_at
                ? html`, next attempt ${soon(webhook.next_attempt_at)}` : ""}</span>`;
        }
        const text = { stale: "Needs a replay", parked: "Sends nothing until you resume it",
            paused: "Sends nothing until you resume it" }[/** @type {string} */ (webhook.status)];
        return text ? html`<span>${text}</span>`
            : html`<span class="muted" aria-label="none">–</span>`;
    };

    /** @param {Webhook} webhook */
    const row = (webhook) => html`
        <tr class="click" @click=${(/** @type {MouseEvent} */ event) => {
            if (!(/** @type {HTMLElement} */ (event.target).closest("a"))) {
                go("webhooks", webhook.id);
            }
        }}>
            <td><a href=${to("webhooks", webhook.id)}>${cut(webhook.name)}</a></td>
            <td class="muted hook-host">${cut(hostOf(webhook.url))}</td>
            <td>${badge(...stateOf(webhook))}</td>
            <td class="num">${lagText(webhook)}</td>
            <td class="muted ${webhook.status === "active" && !webhook.failing_since ? "d" : ""}">
                ${trouble(webhook)}</td>
        </tr>`;

    const newButton = () =>
        html`<a class="btn primary" href=${to("webhooks", "new")}>${icon("plus")}
        New webhook</a>`;

    function listView() {
        const { items } = state;
        if (state.error && !items) {
            return errorPanel(state.error, load);
        }
        if (!items) {
            return skeleton();
        }
        if (!items.length) {
            return emptyState({ icon: "webhook", title: "There are no webhooks yet",
                text: "A webhook sends each change of users and groups to a URL of yours, "
                    + "in order, "
                    + "signed, and again until it is received.",
                action: can("events:read") ? newButton() : "" });
        }
        return html`<table class="table hooks"><thead><tr><th>Name</th><th>Host</th><th>Status</th>
            <th>Lag</th><th>Trouble</th></tr></thead><tbody>${items.map(row)}</tbody></table>`;
    }

    return {
        title: "Webhooks",
        view: () => html`${pageHead({ title: "Webhooks",
            sub: state.items?.length ? html`${count(state.items.length, "webhook")} of 100 at
                most` : "",
            actions: can("events:read") ? newButton()
                : html`<span class="badge plain">Cannot create:
                needs events:read</span>` })}
            <div class="page">${listView()}</div>`,
        close() {
            clearInterval(timer);
            stop.abort();
        },
        keys: { c: () => (can("events:read") ? go("webhooks", "new") : undefined) },
    };
}

/** "in 12 s": waits are shorter than a minute at first. @param {string} time */
export function soon(time) {
    const seconds = Math.round((Date.parse(time) - Date.now()) / 1000);
    return seconds < 2 ? "now" : seconds < 90 ? `in ${seconds} s` : ago(time);
}
