// Parts of the page of a webhook: what is wrong, the last requests, and the facts.
import { html } from "../vendor/lit-html/lit-html.js";
import { actorName } from "../actors.js";
import { count, dateTime, fullTime, number, shortTime } from "../texts.js";
import { icon } from "../ui/icons.js";
import { ago, badge, copyButton, emptyState, note } from "../ui/parts.js";
import { helpText, isReceived, lagText, parkedText, rangeText, resultText, typesText }
    from "./webhook_text.js";
import { soon } from "./webhooks.js";

/** @typedef {import("./webhook.js").State} State */
/** @typedef {import("./webhook_text.js").Webhook} Webhook */
/** @typedef {import("./webhook_text.js").Delivery} Delivery */
/** @typedef {{closeTest: () => void, tryNow: (() => unknown) | null, resume: () => unknown,
 *   replay: (from?: string) => unknown}} Doing */

/** Above the tabs' content: the result of a test, and what needs somebody.
 * @param {State} state @param {Doing} doing */
export function topView(state, doing) {
    const webhook = /** @type {Webhook} */ (state.webhook);
    const trouble = troubleView(webhook, state.deliveries, doing);
    const test = testView(state.test, doing.closeTest);
    return html`<div class=${trouble || test ? "hook-top" : ""}>
        <div role="status">${test || ""}</div>${trouble}</div>`;
}

const lower = (/** @type {string} */ text) => text.replace(/^Status/, "status");

/** @param {State["test"]} test @param {() => void} close */
function testView(test, close) {
    if (!test) {
        return "";
    }
    const { result, problem } = /** @type {any} */ (test);
    const good = result && isReceived(result);
    const body = problem ? html`<b>The test was not sent.</b> ${problem.title}. ${problem.detail}`
        : good ? html`<b>The test arrived: ${result.status} in ${number(result.duration_ms)} ms.</b>
            Roster sent an event of the type <span class="mono">webhook.test</span>.`
            : html`<b>The test failed: ${lower(resultText(result))}, after
                ${number(result.duration_ms)} ms.</b> ${helpText(result)}`;
    return html`<div class="box ${good ? "info" : "bad"}">${icon(good ? "check" : "alert")}
        <div>${body} ${result ? html`<span class="muted">${ago(result.at)}</span>` : ""}</div>
        <button class="btn ghost icon x" aria-label="Close the result of the test" @click=${close}>
            ${icon("x")}</button></div>`;
}

/** @param {Webhook} webhook @param {Delivery[]} deliveries @param {Doing} doing */
function troubleView(webhook, deliveries, doing) {
    const behind = webhook.lag ? `${count(webhook.lag, "event")} behind at most`
        : "up to date";
    const last = deliveries.find((delivery) => !isReceived(delivery));
    if (webhook.status === "parked") {
        return note("bad", html`<b>Parked: Roster sends nothing more.</b> ${parkedText(deliveries)}
            Test it, and once its receiver works, resume it. It goes on at its position,
                ${behind}.`);
    }
    if (webhook.status === "stale") {
        return note("bad", html`<b>Stale: events that it has not sent are no longer in the log.</b>
            It cannot go on without a gap, so only Replay works.
            <ol><li>Let the receiver read all users again, with
                <span class="mono">GET /bulk/users</span>. It must also remove users that are not
                among them.</li>
                <li>Keep the <span class="mono">Roster-Position</span> of that response.</li>
                <li>Replay after that position. The webhook is then active again.</li></ol>`);
    }
    if (webhook.status === "paused") {
        return note("info", html`<b>Paused.</b> It keeps its position, ${behind}. It misses
            nothing as
            long as the log keeps the events.`);
    }
    if (webhook.failing_since) {
        return note("warn", html`<b>Failing, first ${ago(webhook.failing_since)}</b>, ${
            count(webhook.attempts ?? 1, "attempt")} so far. ${last ? html`The last one: ${
            resultText(last)}. ${helpText(last)}` : ""} ${webhook.next_attempt_at
            ? html`The next one is ${soon(webhook.next_attempt_at)}.` : ""} Later events wait.
                After 5 days
            the webhook is parked.
            ${doing.tryNow ? html`<div><button class="btn"
                @click=${doing.tryNow}>${icon("sync")}Try now
                </button></div>` : ""}`);
    }
    return "";
}

/** The last requests. @param {State} state
 * @param {{show: (failed: boolean) => void, replay: ((from: string) => unknown) | null}} doing */
export function deliveriesView({ deliveries, failed }, { show, replay }) {
    const bad = deliveries.filter((delivery) => !isReceived(delivery));
    const shown = failed ? bad : deliveries;
    return html`<div class="tools"><div class="seg" role="group" aria-label="Which deliveries">
            <button aria-pressed=${failed ? "false" : "true"} @click=${() => show(false)}>All
                ${deliveries.length}</button>
            <button aria-pressed=${failed ? "true" : "false"} @click=${() => show(true)}>Failed
                ${bad.length}</button></div></div>
        ${shown.length ? html`<table class="table"><thead><tr><th>Sent</th><th>Result</th>
            <th>Events</th><th class="d">In the log</th><th>Attempt</th><th class="end">Took</th>
            <th><span class="sr">Actions</span></th></tr></thead>
            <tbody>${shown.map((one) => row(one, replay))}</tbody></table>`
            : emptyState({ icon: "webhook", title: failed ? "No request failed"
                : "Nothing was sent yet",
                text: failed ? "" : "The next change of the chosen types is sent at once. "
                    + "Or send a test: "
                    + "it is not listed here." })}
        <div class="foot">Roster keeps the last 20 that were received and the last 20 that failed,
            without
            their content.</div>`;
}

/** @param {Delivery} delivery @param {((from: string) => unknown) | null} replay */
const row = (delivery, replay) => html`<tr>
    <td><time datetime=${delivery.at}
        title=${fullTime(delivery.at)}>${clock(delivery.at)}</time></td>
    <td>${badge(isReceived(delivery) ? "ok" : "bad", resultText(delivery))}</td>
    <td class="num">${count(delivery.events, "event")}</td>
    <td class="num muted d"><span title=${delivery.id}>${rangeText(delivery)}</span></td>
    <td class="muted">${delivery.attempt === 1 ? "First" : `No. ${number(delivery.attempt)}`}</td>
    <td class="end">${number(delivery.duration_ms)} ms</td>
    <td class="end d">${replay ? html`<button class="btn ghost" @click=${() => replay(delivery.id)}
        aria-label="Replay from ${rangeText(delivery)}">Replay from here</button>` : ""}</td></tr>`;

const seconds = new Intl.DateTimeFormat("en-GB",
    { hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** Requests follow within seconds, so the clock says more than "2 min". @param {string} time */
const clock = (time) => {
    const then = new Date(time);
    const today = new Date().toDateString() === then.toDateString();
    return today ? seconds.format(then) : `${shortTime(time)}, ${seconds.format(then)}`;
};

/** @param {string} name @param {unknown} value */
const fact = (name, value) => html`<dt>${name}</dt><dd>${value}</dd>`;

/** @param {Webhook} webhook */
export const factsView = (webhook) => html`
    <section><h2>Sends</h2><dl class="facts">
        ${fact("To", copyButton(webhook.url, "Copy the URL",
            html`<bdi class="mono">${webhook.url}</bdi>`))}
        ${fact("Events", typesText(webhook.types))}
        ${webhook.tenants === "all" ? fact("Tenants", "All") : ""}
        ${fact("Payload", webhook.payload === "thin" ? "Thin, without records" : "Full records")}
        ${fact("A request", webhook.batch_max > 1 ? `Up to ${webhook.batch_max} events`
            : "One event")}
    </dl></section>
    <section><h2>Progress</h2><dl class="facts">
        ${fact("Lag", lagText(webhook))}
        ${fact("Position", copyButton(webhook.position, "Copy the position",
            html`<span class="mono">${webhook.position}</span>`))}
        ${webhook.former_secret_until ? fact("Two secrets", html`Both sign until ${
            dateTime(webhook.former_secret_until)}`) : ""}
    </dl></section>
    <section><h2>Record</h2><dl class="facts">
        ${fact("Version", webhook.version)}
        ${fact("Created", html`${dateTime(webhook.created_at)}, by
            <bdi>${actorName(webhook.created_by)}</bdi>`)}
        ${fact("Updated", ago(webhook.updated_at))}
        ${fact("Id", copyButton(webhook.id, "Copy the id",
            html`<span class="mono">${webhook.id}</span>`))}
    </dl></section>`;
