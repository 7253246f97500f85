// Step 4: the run in pieces, and its result.
import { html } from "../vendor/lit-html/lit-html.js";
import { to } from "../page.js";
import { count, number } from "../texts.js";
import { icon } from "../ui/icons.js";
import { note } from "../ui/parts.js";
import { downloadRefused, faultsView, tile } from "./import_check.js";
import { pause, run } from "./import_job.js";

/** @typedef {import("./import_job.js").Job} Job */

/** @param {number} seconds */
const left = (seconds) => (seconds < 60 ? `${Math.max(1, Math.round(seconds))} s`
    : seconds < 3600 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`);

/** @param {Job} job */
const tiles = ({ tally }) => html`<div class="tiles">
    ${tile("ok", tally.created, "made", "new users")}
    ${tally.replaced ? tile("ok", tally.replaced, "changed", "users that existed") : ""}
    ${tally.skipped ? tile("warn", tally.skipped, "skipped", "users that existed") : ""}
    ${tile("bad", tally.failed, "refused", "rows with a fault, or taken")}</div>`;

/** @param {Job} job */
export function runStep(job) {
    const all = job.rows.length;
    const done = job.next + job.part;
    const seconds = (Date.now() - job.begun) / 1000;
    const rate = job.state === "running" && seconds > 0.5 ? (done - job.doneBefore) / seconds : 0;
    const words = job.state === "paused" && job.looping ? "Pausing"
        : { running: "Importing", paused: "Paused", stopped: "Stopped" }[
        /** @type {"running"} */ (job.state)] ?? "Importing";
    return html`<h2 tabindex="-1">${words}</h2>
        <div class="prog"><progress class="ibar" max=${all} .value=${done}
            aria-label="Imported rows"></progress>
            <p class="muted num">${Math.floor(100 * done / all)}%, ${number(done)} of ${count(all,
                "row")}${
    rate >= 1 ? `, ${number(Math.round(rate))} a second, ${left((all - done) / rate)} left` :
        ""}</p>
            <span class="sr" role="status">${words}${job.state === "running"
        ? `, ${10 * Math.floor(10 * done / all)}%` : ""}</span></div>
        ${job.waiting ? note("warn", `The service is busy. The next try is in ${job.waiting} s.`) :
            ""}
        ${job.error ? html`<div role="alert">${note("bad", html`<b>${job.error.title}.</b>
            ${job.error.detail}
            ${job.next
        ? `Rows up to line ${number(job.rows[job.next - 1].line)} are done.` : "No row is done."}
                Resume sends the
            rest; no user is made twice.${job.error.requestId ? html` Request id
            <bdi class="mono">${job.error.requestId}</bdi>.` : ""}`)}</div>` : ""}
        ${tiles(job)}
        <p class="muted">If this page is closed or reloaded, choose the same file again in this tab:
            the import
            goes on where it stopped.</p>
        <div class="go">${job.state === "running" ? html`<button class="btn"
            @click=${() => pause(job)}>${
    icon("pause")}Pause</button>` : html`<button class="btn primary" @click=${() => run(job)}>${
    icon("play")}Resume</button>`}</div>`;
}

/** @param {Job} job @param {{restart: () => void}} actions */
export function doneStep(job, { restart }) {
    const { tally } = job;
    const good = tally.created + tally.replaced;
    return html`<h2 tabindex="-1">${good ? `${count(good, "user")} imported` :
        "No user was imported"}</h2>
        ${tiles(job)}
        ${tally.failed ? html`<section class="faults"><div class="row"><h3>${count(tally.failed,
            "row was",
        "rows were")} refused</h3><div class="sp"><button class="btn primary"
            @click=${() => downloadRefused(job, tally.refused)}>${icon("download")}Download
                them</button></div>
            </div><p class="muted">The table has the rows with the reason at the end. Correct them
                and import
            that file: Roster ignores the columns of the
                reason.${tally.refused.length < tally.failed
        ? ` After the reload, the first ${number(tally.refused.length)} are still known.` : ""}</p>
            ${faultsView(tally)}</section>` : ""}
        <div class="go"><button class="btn" @click=${restart}>Import another file</button>
            <a class="btn ${tally.failed ? "" : "primary"}" href=${to("users", { sort:
                "-updated_at" })}>Show
            the users</a></div>`;
}
