// One webhook: whether it sends, its last requests, and its settings.
import { html } from "../vendor/lit-html/lit-html.js";
import { asProblem, get, isAbort, patch, post } from "../api.js";
import { can } from "../caller.js";
import { go, here, loadStyles, refresh, setQuery, to, toast } from "../page.js";
import { count, number } from "../texts.js";
import { icon } from "../ui/icons.js";
import { openMenu } from "../ui/menu.js";
import { badge, copyButton, crumb, errorPanel, noScope, pageHead, skeleton, tabs }
    from "../ui/parts.js";
import { remove, replay, rotate } from "./webhook_actions.js";
import { settingsTab } from "./webhook_edit.js";
import { newWebhook } from "./webhook_new.js";
import { hostOf, stateOf } from "./webhook_text.js";
import { deliveriesView, factsView, topView } from "./webhook_view.js";

await loadStyles("screens/webhook.css");

/** @typedef {import("./webhook_text.js").Webhook} Webhook */
/** @typedef {import("./webhook_text.js").Delivery} Delivery */
/** @typedef {{webhook: Webhook | null, deliveries: Delivery[], error: any, busy: string,
 *   failed: boolean, test: null | {result?: Delivery, problem?: any}}} State */

/** @param {import("../route.js").Route} route */
export default function webhookScreen(route) {
    return route.parts[0] === "new" ? newWebhook() : oneWebhook(route.parts[0]);
}

/** @param {string} id */
function oneWebhook(id) {
    if (!can("webhooks:admin")) {
        return { title: "Webhook", view: () => html`${pageHead({ title: "Webhook" })}
            ${noScope("webhooks:admin", "manage webhooks")}` };
    }
    /** @type {State} */
    const state = { webhook: null, deliveries: [], error: null, busy: "", test: null,
        failed: here().query.show === "failed" };
    const stop = new AbortController();
    const path = `/webhooks/${id}`;
    const settings = settingsTab(() => /** @type {Webhook} */ (state.webhook), take);

    /** @param {Webhook} webhook */
    function take(webhook) {
        state.webhook = webhook;
        load();
    }

    async function load() {
        try {
            const [one, list] = await Promise.all([get(path, { signal: stop.signal }),
                get(`${path}/deliveries`, { signal: stop.signal })]);
            state.webhook = one.data;
            state.deliveries = list.data.items;
            state.error = null;
        } catch (error) {
            if (isAbort(error)) {
                return;
            }
            // A page that is shown stays, unless the webhook is gone.
            if (!state.webhook || asProblem(error).status === 404) {
                state.error = error;
            }
        }
        refresh();
    }
    load();
    const timer = setInterval(() => {
        if (document.visibilityState === "visible" && state.webhook && !state.error) {
            load();
        }
    }, 3000);

    /** Run an action; one at a time. @param {string} name @param {() => Promise<unknown>} run */
    async function act(name, run) {
        if (state.busy) {
            return;
        }
        state.busy = name;
        refresh();
        try {
            await run();
        } catch (error) {
            const problem = asProblem(error);
            toast(`${problem.title}. ${problem.detail}`, { kind: "bad" });
            load();
        }
        state.busy = "";
        refresh();
    }

    const test = () => act("test", async () => {
        state.test = null;
        try {
            state.test = { result: (await post(`${path}/test`, undefined,
                { signal: stop.signal })).data };
        } catch (error) {
            state.test = { problem: asProblem(error) };
        }
    });

    /** @param {"active" | "paused"} status */
    const setStatus = (status) => act("status", async () => {
        const { data } = await patch(path, { status });
        take(data);
        toast(status === "paused" ? `${data.name} is paused. It keeps its position.`
            : data.lag ? `${data.name} goes on at its position, ${count(data.lag,
                "event")} behind at most.`
                : `${data.name} goes on. It is up to date.`);
    });

    /** End a pause after failures: a replay from the same position. */
    const tryNow = () => act("now", async () => {
        take((await post(`${path}/replay`, { after: state.webhook?.position })).data);
        toast("The next request is on its way.");
    });

    /** @param {Promise<Webhook | undefined>} done */
    const then = async (done) => {
        const webhook = await done;
        if (webhook) {
            take(webhook);
        }
    };
    const doReplay = (/** @type {string} */ from = "") => then(replay(
        /** @type {Webhook} */ (state.webhook), state.deliveries, from));
    const doDelete = async () => {
        if (await remove(/** @type {Webhook} */ (state.webhook))) {
            stop.abort();
            go("webhooks");
        }
    };

    const menu = (/** @type {Event} */ event) => openMenu(event, "More", [
        { text: "New secret", icon: "rotate",
            run: () => then(rotate(/** @type {Webhook} */ (state.webhook))) },
        { text: "Copy the id", icon: "copy", run: () => navigator.clipboard.writeText(id) },
        ...(can("events:read", "audit:read") ? [{ text: "Changes of this webhook",
            icon: /** @type {"activity"} */ ("activity"),
            href: to("activity", { subject: `webhooks/${id}` }) }] : []),
        null, { text: "Delete", icon: "trash", danger: true, run: doDelete }]);

    function actions() {
        const { status } = /** @type {Webhook} */ (state.webhook);
        const stale = status === "stale";
        const off = Boolean(state.busy);
        const sends = can("events:read");
        return html`
            <button class="btn" ?disabled=${off} @click=${test}>${icon("webhook")}${
                state.busy === "test" ? "Testing…" : "Test"}</button>
            ${status === "active" ? html`<button class="btn" ?disabled=${off}
                @click=${() => setStatus("paused")}>${icon("pause")}Pause</button>` : stale
                    || !sends ? ""
                : html`<button class="btn primary" ?disabled=${off}
                    @click=${() => setStatus("active")}>${
                    icon("play")}Resume</button>`}
            ${sends ? html`<button class="btn ${stale ? "primary" : ""}" ?disabled=${off}
                @click=${() => doReplay()}>${icon("undo")}Replay</button>` : ""}
            <button class="btn icon" aria-haspopup="menu" aria-label="More" @click=${menu}>
                ${icon("more")}</button>`;
    }

    const onSettings = () => here().parts[1] === "settings";

    function view() {
        const { webhook } = state;
        const links = [{ href: to("webhooks"), text: "Webhooks" }];
        if (state.error || !webhook) {
            return html`${crumb({ links, name: webhook?.name ?? "" })}<div class="page">
                <div class="who2"><div><h1 tabindex="-1">${state.error
                    ? "This webhook cannot be shown"
                    : "Webhook"}</h1></div></div>
                ${state.error ? errorPanel(state.error, load) : skeleton()}</div>`;
        }
        return html`${crumb({ links, name: webhook.name })}
            <div class="page hook-form">
                <div class="who2"><span class="av h4" aria-hidden="true">${icon("webhook")}</span>
                    <div><h1 tabindex="-1"><bdi>${webhook.name}</bdi>
                    ${badge(...stateOf(webhook))}</h1>
                    <div class="sub"><span>${hostOf(webhook.url)}</span><span>${webhook.lag
                        ? `${number(webhook.lag)} behind` : "Up to date"}</span></div></div>
                    <div class="sp">${actions()}</div></div>
                ${tabs("Webhook", [
                    { href: to("webhooks", id), text: "Deliveries", current: !onSettings() },
                    { href: to("webhooks", id, "settings"), text: "Settings",
                        current: onSettings() }])}
                ${topView(state, { closeTest: () => {
                    state.test = null;
                    refresh();
                }, tryNow: can("events:read") ? tryNow : null, resume: () => setStatus("active"),
                replay: doReplay })}
                ${onSettings() ? settings.view() : html`<div class="cols"><div class="hook-main">
                    ${deliveriesView(state, { show, replay: can("events:read") ? doReplay
                        : null })}</div>
                    <div class="rail">${factsView(webhook)}</div></div>`}
            </div>`;
    }

    /** @param {boolean} failed */
    function show(failed) {
        state.failed = failed;
        setQuery({ show: failed ? "failed" : "" });
        refresh();
    }

    return {
        title: () => state.webhook?.name ?? "Webhook",
        view,
        owns: (/** @type {import("../route.js").Route} */ route) =>
            route.screen === "webhooks" && route.parts[0] === id,
        changed() {
            state.failed = here().query.show === "failed";
        },
        unsaved: () => settings.unsaved(),
        keys: { "ctrl-enter": () => (onSettings() ? settings.save() : false) },
        close() {
            clearInterval(timer);
            stop.abort();
        },
    };
}
