// What one does to a webhook: replay, a new secret, deletion. Each says what is lost.
import { html } from "../vendor/lit-html/lit-html.js";
import { asProblem, del, get, post } from "../api.js";
import { can } from "../caller.js";
import { refresh, toast } from "../page.js";
import { shortTime } from "../texts.js";
import { dialog } from "../ui/dialog.js";
import { field, select } from "../ui/fields.js";
import { copyButton, note } from "../ui/parts.js";
import { showSecret } from "../ui/secret.js";
import { radio } from "./webhook_form.js";
import { isReceived, parts, positionBefore, rangeText, replayText } from "./webhook_text.js";

/** @typedef {import("./webhook_text.js").Webhook} Webhook */
/** @typedef {import("./webhook_text.js").Delivery} Delivery */

/** Where the log begins and ends, as far as its events are kept. */
export async function readEnds() {
    const [first, end] = await Promise.all([get("/events", { query: { limit: 1 } }),
        get("/events", { query: { after: "latest", limit: 1 } })]);
    const oldest = first.data.items[0]?.id;
    return { begin: oldest ? positionBefore(oldest) : first.position, end: end.position };
}

/** What the receiver needs to know, beside the secret. */
export const secretUse = () => html`The receiver verifies the signature of each request with it, for
    example with a library of <a class="link" href="https://www.standardwebhooks.com"
        target="_blank"
    rel="noreferrer">Standard Webhooks</a>: the headers are <span class="mono">webhook-id</span>,
    <span class="mono">webhook-timestamp</span> and <span class="mono">webhook-signature</span>.`;

/**
 * Ask from where the webhook goes on. Resolves to the webhook after it, or undefined.
 * @param {Webhook} webhook @param {Delivery[]} deliveries @param {string} [from] id of a delivery
 * @returns {Promise<Webhook | undefined>}
 */
export async function replay(webhook, deliveries, from) {
    const usable = deliveries.filter(({ id }) => parts(id));
    const ids = [...new Map(usable.map((one) => [one.id, one])).values()];
    const state = { way: from || (ids.length && webhook.status !== "stale") ? "delivery"
        : "position",
        delivery: from || (ids[0]?.id ?? ""), position: "", error: "", busy: false,
        ends: /** @type {{begin: string, end: string} | null} */ (null) };
    if (can("events:read")) {
        readEnds().then((ends) => {
            state.ends = ends;
            refresh();
        }, () => {});
    }
    const after = () => ({ delivery: positionBefore(state.delivery),
        position: state.position.trim(),
        begin: state.ends?.begin ?? "", end: state.ends?.end ?? "" })[state.way] ?? "";
    /** @param {string} way @param {string} label @param {string} [hint] */
    const way = (way, label, hint) => radio("replay-way", label, state.way === way, false, () => {
        Object.assign(state, { way, error: "" });
    }, hint);
    return dialog({
        title: `Replay ${webhook.name}`,
        lead: () => html`The webhook goes on after another position. Its status stays${
            webhook.status === "stale" ? ", except that it is active again" : ""}.`,
        body: () => html`<div class="choice" role="radiogroup" aria-label="From where">
            ${ids.length ? way("delivery", "From a delivery, which is sent again") : ""}
            ${ids.length && state.way === "delivery"
                ? select({ id: "replay-delivery", label: "Delivery",
                value: state.delivery, onChange: (value) => {
                    state.delivery = value;
                    refresh();
                }, options: ids.map((one) => [one.id, `${shortTime(one.at)} · ${rangeText(one)} · ${
                    isReceived(one) ? "received" : "failed"}`]) }) : ""}
            ${way("position", "After a position",
                "For example the Roster-Position of an export, or the "
                + "id of an event in Activity.")}
            ${state.way === "position"
                ? field({ id: "replay-position", label: "Position", mono: true,
                value: state.position, placeholder: webhook.position, error: state.error,
                onInput: (value) => {
                    Object.assign(state, { position: value, error: "" });
                    refresh();
                } }) : ""}
            ${state.ends ? html`${way("begin", "From the beginning of the log",
                "All events that are still kept.")}
                ${way("end", "From now on", "Skips everything that waits.")}` : ""}</div>
            <div class="effect" role="status">${state.error && state.way !== "position"
                ? state.error
                : replayText(webhook, after(), state.ends?.end)}</div>`,
        submit: async (close) => {
            if (state.busy) {
                return;
            }
            if (!parts(after())) {
                state.error = "Write a position such as 263955ceb1fcf401-2.";
                refresh();
                return;
            }
            state.busy = true;
            refresh();
            try {
                const { data } = await post(`/webhooks/${webhook.id}/replay`, { after: after() });
                toast(`${webhook.name} goes on after position ${parts(after())?.first}.`);
                close(data);
            } catch (error) {
                const problem = asProblem(error);
                state.error = problem.code === "position-outlived"
                    ? "The log does not have the events after this position: they are "
                        + "removed, or it is "
                        + "of another log." : problem.errors[0]?.detail ?? problem.detail;
            }
            state.busy = false;
            refresh();
        },
        actions: (close) => html`<div class="sp">
            <button type="button" class="btn" @click=${() => close()}>Cancel</button>
            <button type="submit" class="btn primary" ?disabled=${state.busy
                || !after()}>Replay</button>
            </div>`,
    });
}

/** @type {[string, string][]} */
const OVERLAPS = [["86400", "for 24 hours"], ["3600", "for 1 hour"], ["604800", "for 7 days"],
    ["2592000", "for 30 days"], ["0", "no longer: it ends at once"]];

/** Make a new secret and show it. @param {Webhook} webhook @returns {Promise<Webhook |
 * undefined>} */
export async function rotate(webhook) {
    const state = { overlap: "86400", error: /** @type {any} */ (null), busy: false };
    const done = await dialog({
        title: `New secret for ${webhook.name}`,
        lead: () => html`Until the time is over, each request has the signatures of both secrets,
            so the
            receiver can change to the new one without a gap.`,
        body: () => html`
            ${select({ id: "rotate-overlap", label: "The secret of now signs too",
                value: state.overlap,
                options: OVERLAPS, onChange: (value) => {
                    state.overlap = value;
                    refresh();
                } })}
            ${webhook.former_secret_until
                ? note("warn", "Two secrets sign at present. The older one ends "
                + "at once, because at most two can sign.") : ""}
            ${state.overlap === "0"
                ? note("warn", "The receiver rejects all requests until it has the "
                + "new secret. They are sent again.") : ""}
            ${state.error ? note("bad", state.error.detail || state.error.title) : ""}`,
        submit: async (close) => {
            if (state.busy) {
                return;
            }
            state.busy = true;
            refresh();
            try {
                close((await post(`/webhooks/${webhook.id}/rotate`, undefined,
                    { query: { overlap_s: state.overlap } })).data);
            } catch (error) {
                state.error = asProblem(error);
            }
            state.busy = false;
            refresh();
        },
        actions: (close) => html`<div class="sp">
            <button type="button" class="btn" @click=${() => close()}>Cancel</button>
            <button type="submit" class="btn primary" ?disabled=${state.busy}>Make a new
                secret</button>
            </div>`,
    });
    if (!done) {
        return undefined;
    }
    const { secret, ...rest } = /** @type {Webhook} */ (done);
    await showSecret({ title: `The new secret of ${webhook.name}`, secret, text: secretUse() });
    return rest;
}

/** Ask, and delete. @param {Webhook} webhook @returns {Promise<boolean>} */
export async function remove(webhook) {
    const { confirm } = await import("../ui/confirm.js");
    const sure = await confirm({ title: `Delete ${webhook.name}?`, danger: true, type: webhook.name,
        action: "Delete the webhook",
        text: html`<p>Nothing more is sent to <bdi>${webhook.url}</bdi>. Its position, its secret
            and the
            list of its deliveries are lost, and nobody can bring them back.</p>
            <p class="muted">To go on later with a new webhook, keep the position: ${copyButton(
                webhook.position, "Copy the position",
                html`<span class="mono">${webhook.position}</span>`)}</p>` });
    if (!sure) {
        return false;
    }
    try {
        await del(`/webhooks/${webhook.id}`);
    } catch (error) {
        const problem = asProblem(error);
        if (problem.status !== 404) {
            toast(`Not deleted: ${problem.detail || problem.title}`, { kind: "bad" });
            return false;
        }
    }
    toast(`${webhook.name} is deleted.`);
    return true;
}
