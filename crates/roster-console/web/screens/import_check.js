// Step 3: the dry run. What would happen, and what is wrong.
import { html } from "../vendor/lit-html/lit-html.js";
import { refresh, toast } from "../page.js";
import { count, number } from "../texts.js";
import { checkbox, select } from "../ui/fields.js";
import { icon } from "../ui/icons.js";
import { errorPanel, note } from "../ui/parts.js";
import { SHOWN, refusedCsv } from "./import_faults.js";
import { check, run } from "./import_job.js";

/** @typedef {import("./import_job.js").Job} Job */
/** @typedef {import("./import_job.js").Policy} Policy */

/** @type {[Policy, string, (job: Job) => string][]} */
const POLICIES = [
    ["fail", "Refuse them", () => "They stay as they are, and their rows are listed as refused."],
    ["skip", "Skip them", () => "They stay as they are. Their rows are not listed."],
    ["merge", "Change what the file has", (job) => (job.kind === "csv"
        ? "Empty cells and members that the file lacks keep their values."
        : "Members that a line lacks keep their values; null removes one.")],
    ["replace", "Replace them", () =>
        "They lose each member that the file lacks, except status and username."],
];

/** @param {Job} job @param {import("./import_faults.js").Refused[]} refused */
export function downloadRefused(job, refused) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(["\ufeff", refusedCsv(job, refused)], { type:
        "text/csv" }));
    link.download = `${job.name.replace(/\.[^.]*$/, "") || "import"}-refused.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    toast(`${count(refused.length, "row")} downloaded. Correct them and import that file.`);
}

/** A number with a word. @param {string} kind @param {number} value @param {string} text
 * @param {string} hint */
export const tile = (kind, value, text, hint) => html`<div class="tile ${value ? kind : ""}">
    <b>${number(value)}</b><span>${text}</span><small>${hint}</small></div>`;

/** What is wrong, by kind. @param {import("./import_faults.js").Tally} tally */
export function faultsView(tally) {
    const groups = [...tally.groups.values()].sort((a, b) => b.count - a.count);
    return groups.map((group, i) => html`<details class="fgroup" ?open=${i === 0 &&
        groups.length < 4}>
        <summary><span class="n">${number(group.count)}</span><span class="t">${group.member
    ? html`<bdi class="strong">${group.member}</bdi>: ` : ""}${group.title}</span><span
        class="mono muted">${group.code}
        </span></summary>
        <div class="scroll" tabindex="0" role="group" aria-label="Rows"><table
            class="ftable"><thead><tr>
            <th scope="col">Line</th><th scope="col">Value</th><th
                scope="col">Reason</th></tr></thead><tbody>
            ${group.items.map((item) => html`<tr><td class="num">${item.line}</td><td>${item.value
        ? html`<bdi class="cut" title=${item.value}>${item.value}</bdi>` : html`<span
            class="muted">empty</span>`}
            </td><td>${item.detail}</td></tr>`)}</tbody></table></div>
        ${group.count > SHOWN ? html`<p class="muted more">The first ${SHOWN}. The download has all
            of
            them.</p>` : ""}</details>`);
}

/** @param {Job} job */
function matches(job) {
    const has = (/** @type {string} */ member) => job.kind === "ndjson" ||
        job.members.includes(member);
    return [["", "Username or e-mail"], ...(has("external_id") ? [["external_id", "External id"]] :
        []),
        ...job.attributes.filter((one) => one.unique && has(`attributes.${one.name}`)).map((one) =>
            [`attributes.${one.name}`, `Attribute ${one.name}`])];
}

/** @param {Job} job */
export function checkStep(job) {
    const { tally } = job;
    const all = job.rows.length;
    const existing = tally.replaced + tally.skipped + tally.taken;
    const faulty = tally.failed - tally.taken;
    const good = tally.created + tally.replaced;
    const busy = job.state === "checking";
    const back = () => {
        job.stop.abort();
        Object.assign(job, { step: job.table ? "columns" : "file", state: "", error: null });
        refresh();
    };
    const choose = (/** @type {object} */ next) => {
        Object.assign(job, next);
        check(job);
    };
    const ways = matches(job);
    return html`<h2 tabindex="-1">${busy ? "Checking" : "What the import will do"}</h2>
        ${job.error ? errorPanel(job.error, () => check(job)) : busy ? html`<div class="prog">
            <progress class="ibar" max=${all} .value=${job.part}
                aria-label="Checked rows"></progress>
            <p class="muted" role="status">${job.part ? html`${number(job.part)} of ${count(all,
                "row")}`
    : `Sending ${count(all, "row")}…`} Nothing is stored yet.</p></div>`
        : html`<div class="tiles">${tile("ok", tally.created, "new", "users will be made")}
            ${tile("warn", existing, "existing", { fail: "will be refused", skip: "will be skipped",
        merge: "will be changed", replace: "will be replaced" }[job.policy])}
            ${tile("bad", faulty, "faulty", "rows will be refused")}</div>`}
        <fieldset class="pol"><legend>Users that exist already</legend><div class="choice">${
    POLICIES.map(([policy, text, hint]) => checkbox({ look: "rad", name: "policy", label: text,
        hint: hint(job), checked: job.policy === policy, disabled: busy,
        onChange: () => choose({ policy }) }))}
            ${job.policy === "fail" ? html`<small class="muted">A row whose name an earlier row of
                the file
            has counts as existing too.</small>` : ""}
            ${job.policy === "replace" ? note("warn", html`<b>Replace clears.</b> A user keeps only
                what the
                file has: telephone, attributes and all else that is not in it is removed. There is
                no undo; old values stay in each user’s History while Roster keeps events.`) : ""}
            ${job.policy !== "fail" && ways.length > 1 ? select({ id: "import-match", label:
                "Found by",
        value: job.match, options: /** @type {[string, string][]} */ (ways), disabled: busy,
        onChange: (match) => choose({ match }) }) : ""}</div></fieldset>
        ${job.state === "checked" && tally.failed ? html`<section class="faults"><div
            class="row"><h3>${
    count(tally.failed, "row")} will be refused</h3><div class="sp"><button class="btn"
        @click=${() => downloadRefused(job,
            tally.refused)}>${icon("download")}Download</button></div></div>
            ${faultsView(tally)}</section>` : ""}
        <div class="go"><button class="btn" @click=${back}>Back</button>${job.state === "checked" ?
            html`
            ${good ? "" : html`<span class="muted">No row can be imported.</span>`}
            <button class="btn primary ${job.policy === "replace" && tally.replaced ? "bad" : ""}"
            ?disabled=${!good} @click=${() => run(job)}>Import ${count(good, "user")}</button>` :
                ""}</div>`;
}
