// Import of users: file, columns, check, run.
import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { can } from "../caller.js";
import { attributeOf, cellsOf } from "../csv_columns.js";
import { to, toast } from "../page.js";
import { count, label, number } from "../texts.js";
import { download } from "../ui/confirm.js";
import { reason } from "../ui/data.js";
import { checkbox, select, textarea } from "../ui/fields.js";
import { icon } from "../ui/icons.js";
import { refusedScreen, table } from "../ui/list.js";
import { cut, errorPanel, noScope, note, once, pageHead } from "../ui/parts.js";
import { change, forget, halt, newJob, open, refusedCsv, run, saved, valueOf }
    from "./import_job.js";

/** The import outlives the screen, so that a look elsewhere loses nothing. */
let job = newJob("");
const views = { file: fileStep, columns: columnsStep, check: checkStep, run: runStep,
    done: doneStep };
const STEPS = Object.keys(views);

export default function imports({ tenant }) {
    if (!can("users:write")) {
        return refusedScreen("Import", noScope("users:write", "import users"));
    }
    if (job.tenant !== tenant || job.step === "done") {
        job = newJob(tenant);
    }
    let shown = job.step;
    return { title: "Import",
        view() {
            const at = STEPS.indexOf(job.step);
            return html`${pageHead({ title: "Import users",
                sub: job.name ? html`<bdi>${job.name}</bdi>, ${count(job.rows.length, "row")}` : "",
                actions: at % 4 === 0 || job.busy ? ""
                    : html`<button class="btn" @click=${restart}>Start over</button>` })}
                <ol class="tools steps" aria-label="Steps">${STEPS.slice(0, 4).map((step, i) =>
                    html`<li class="badge ${i < at ? "ok" : "plain"}" aria-current=${i === at
                    ? "step" : nothing}>${i < at ? icon("check") : i + 1} ${label(step)}</li>`)}
                </ol>
                <div class="topline"></div>
                <div class="page"><div class="sections imp">${views[job.step]()}</div></div>`;
        },
        drawn() {
            if (shown !== job.step) {
                shown = job.step;
                document.querySelector("h2").focus();
                document.querySelector(".page").scrollTo(0, 0);
            }
        },
        close() {
            if (job.busy && job.step === "run") {
                halt(job);
                toast("Import paused. Open Import to go on.");
            } else if (job.busy) {
                back();
            }
        } };
}

function restart() {
    halt(job);
    job = newJob(job.tenant);
}
const back = () => halt(job, { step: job.step === "check" && job.table ? "columns" : "file" });

const foot = (left, right) => html`<div class="row go">${left}${right}</div>`;
const backButton = html`<button class="btn" @click=${back}>Back</button>`;

const take = (file) => file && !job.busy && open(job, file);

function fileStep() {
    const { pasted, error, busy, tenant } = job;
    const kept = saved(tenant);
    return html`<h2 tabindex="-1">${kept ? "Go on with an import" : "Choose a file"}</h2>
        ${kept ? note("warn", html`The import of <bdi class="strong">${kept.name}</bdi> stopped
            after ${number(kept.next)} of ${count(kept.total, "row")}. Choose the same file again to
            go on, or <button class="link" @click=${() => forget(tenant)}>give it up</button>.`)
            : ""}
        <label class="card drop" @dragover=${(event) => event.preventDefault()}
            @drop=${(event) => {
                event.preventDefault();
                take(event.dataTransfer.files[0]);
            }}><input type="file" class="sr" id="import-file" ?disabled=${busy} @change=${
            ({ target }) => {
                take(target.files[0]);
                target.value = "";
            }} accept=".csv,.tsv,.txt,.ndjson,.jsonl,.json">
            ${icon("upload")}<b>${busy ? "Reading…" : "Drop a file here, or choose one"}</b>
            <small class="muted">CSV with a header row, or a JSON object a line. Nothing is stored
            before the last step.</small></label>
        ${error ? html`<div role="alert">${note("bad", reason(error))}</div>` : ""}
        <form novalidate class="choice" @submit=${(event) => {
            event.preventDefault();
            take(new File([pasted], "Pasted text"));
        }}>${textarea({ id: "import-text", label: "Or paste the text", value: pasted, rows: 5,
            mono: true, onInput: (text) => change(job, { pasted: text }) })}
            <div><button type="submit" class="btn ${pasted ? "primary" : ""}"
                ?disabled=${!pasted || busy}>Use this text</button></div></form>`;
}

/** The members of a user for whom the schema cannot be read. */
const BASICS = ("username email name given_name family_name display_name phone_number external_id "
    + "title department organization employee_number status locale zoneinfo expires_at")
    .split(" ").map((name) => ({ name }));

/** What a column may be. @returns {[string, string][]} */
function options(at) {
    const { members = BASICS, attributes = [] } = job.schema;
    const fresh = attributeOf(job.table.columns[at]);
    const partsOf = ({ name, multi_valued: many, parts = [] }) => (many ? [1, 2] : [0])
        .flatMap((entry) => parts.map((part) => [
            `${name}${entry ? `[${entry - 1}]` : ""}.${part.name}`,
            `${label(name)}${entry ? ` ${entry}` : ""}: ${label(part.name).toLowerCase()}`]));
    const all = new Map([["", "Leave out"], ["active", "Active (true or false)"],
        ...members.filter((one) => !one.read_only).flatMap((one) =>
            [[one.name, label(one.name)], ...partsOf(one)]),
        [fresh, `New attribute: ${fresh.slice(11)}`],
        ...attributes.map(({ name }) => [`attributes.${name}`, `Attribute: ${label(name)}`])]);
    const member = job.members[at] ?? "";
    return [...all.set(member, all.get(member) ?? member)];
}

function columnsStep() {
    const { table: { columns, delimiter }, members, rows, text, faults } = job;
    const first = rows.slice(0, 50).map(({ start, end }) =>
        cellsOf(text.slice(start, end), delimiter) ?? []);
    const samples = (at) => first.map((cells) => cells[at]?.trim()).filter(Boolean).slice(0, 3)
        .join(" · ") || "empty in the first rows";

    return html`<h2 tabindex="-1">What the columns are</h2>
        <p class="muted">Correct what is wrong. ${count(members.filter((one) => !one).length,
            "column is", "columns are")} left out.</p>
        ${job.encoding === "windows-1252" ? note("warn", `The file is not UTF-8. If letters with
            accents are wrong below, save it as “CSV UTF-8”.`) : ""}
        <div class="maps">${columns.map((name, at) => html`<div class="map">${select({
            id: `column-${at}`, label: html`<bdi class="cut" title=${name}>${name.trim()
                || `Column ${at + 1}`}</bdi>`,
            mark: html`<bdi class="cut">${samples(at)}</bdi>`, error: faults[at],
            value: members[at] ?? "", options: options(at),
            onChange(value) {
                members[at] = value || null;
                change(job, { faults: {} });
            } })}</div>`)}</div>
        ${foot(backButton, html`<button class="btn primary" @click=${() => run(job, true)}>Check
            ${count(rows.length, "row")}</button>`)}`;
}

const POLICIES = {
    fail: ["Refuse them", "They stay as they are, and their rows are listed."],
    skip: ["Skip them", "They stay as they are."],
    merge: ["Change what the file has", "Fields that are missing or empty in the file stay."],
    replace: ["Replace them", "Each field that the file lacks is emptied, except status and "
        + "username. There is no undo."] };

/** Results in numbers; `will` in a dry run. */
const results = ({ tally }, will = "") => html`<div class="tiles">${[
    ["ok", tally.created, "new", "made"], ["ok", tally.replaced, "existing", "changed"],
    ["warn", tally.skipped, "existing", "skipped"],
    ["bad", tally.failed, tally.failed === 1 ? "row" : "rows", "refused"]].map(
    ([kind, value, what, done]) => html`<div class="card ${value ? kind : ""}"><b class="num">${
        number(value)}</b> ${what}<small class="muted">${will}${done}</small></div>`)}</div>`;

/** How fast it goes, and how long that still takes. */
function pace({ began, rows, next }) {
    const rate = (next - began.next) / ((Date.now() - began.at) / 1000);
    return Number.isFinite(rate) && rate > 0 ? `, ${number(Math.round(rate))} a second, ${
        count(Math.ceil((rows.length - next) / rate), "second")} left` : "";
}
const bar = (name) => html`<div><progress max=${job.rows.length} .value=${job.next}
    aria-label=${name}></progress><p class="muted num">${number(job.next)} of ${
    count(job.rows.length, "row")}${job.busy ? pace(job) : ""}</p></div>`;

const saveRefused = () => download(`${job.name.replace(/\.[^.]*$/, "")}-refused.csv`,
    ["\ufeff", refusedCsv(job)], "text/csv");

const SHOWN = 50;
const columns = [{ head: "Line", type: "num",
    cell: ({ line }) => html`<span class="m">Line&nbsp;</span>${line}` },
{ head: "Value", cell: (one) => cut(valueOf(job, one)) },
{ head: "Reason", cell: ({ detail }) => detail }];

/** The refused rows, by what is wrong. */
function faults(title) {
    const { refused } = job.tally;
    const groups = {};
    for (const one of refused) {
        (groups[one.code + one.column] ??= []).push(one);
    }
    const sorted = Object.values(groups).sort((a, b) => b.length - a.length);
    return html`<section class="choice"><div class="row"><h3>${title}</h3><div class="sp"><button
        class="btn" @click=${saveRefused}>${icon("download")}Download
        ${count(refused.length, "row")}</button></div></div><p class="muted">The download has the
        reasons at the end, and can be imported once it is correct.${
        job.tally.failed > refused.length
            ? " Those after these were forgotten when the page was loaded again." : ""}</p>${
        sorted.map((all) => html`
        <details class="card" ?open=${!sorted[1]}><summary class="row"><b class="num">${
            number(all.length)}</b><span>${all[0].column ? html`<bdi class="strong">${
            all[0].column}</bdi>: ` : ""}${all[0].title}</span><span class="sp mono muted d">${
            all[0].code}</span></summary><div class="scroll" tabindex="0" role="group"
            aria-label="Rows">${table(columns, all.slice(0, SHOWN))}</div>${all.length > SHOWN
            ? html`<p class="foot">The first ${SHOWN}; the download has all.</p>` : ""}</details>`)}
        </section>`;
}

function checkStep() {
    const { tally, policy, busy, error, schema } = job;
    const good = tally.created + tally.replaced;
    const check = (next) => run(Object.assign(job, next), true);
    const ways = [["external_id", "External id"], ...(schema.attributes ?? []).filter((one) =>
        one.unique).map(({ name }) => [`attributes.${name}`, `Attribute ${name}`])]
        .filter(([way]) => !job.table || job.members.includes(way));
    return html`<h2 tabindex="-1">${busy ? "Checking" : "What the import will do"}</h2>
        ${error ? errorPanel(error, () => check()) : busy ? bar("Checked rows")
            : results(job, "will be ")}
        <fieldset><legend>Users that exist already</legend><div class="choice">
            ${Object.entries(POLICIES).map(([name, [label, hint]]) => checkbox({ look: "rad",
                name: "policy", label, hint, checked: policy === name, disabled: busy,
                onChange: () => check({ policy: name }) }))}
            ${policy !== "fail" && ways.length ? select({ id: "import-match", label: "Found by",
                value: job.match, options: [["", "Username or e-mail"], ...ways],
                onChange: (match) => check({ match }) }) : ""}</div></fieldset>
        ${!busy && !error && tally.failed
            ? faults(`${count(tally.failed, "row")} will be refused`) : ""}
        ${foot(backButton, html`<button class="btn primary ${policy === "replace" && tally.replaced
            ? "bad" : ""}" ?disabled=${busy || error || !good}
            @click=${once(() => run(job))}>Import ${count(good, "user")}</button>`)}`;
}

function runStep() {
    const { error, busy } = job;
    return html`<h2 tabindex="-1">${busy ? "Importing" : error ? "Stopped" : "Paused"}</h2>
        ${bar("Imported rows")}
        ${error ? errorPanel(error, () => run(job)) : ""}${results(job)}
        <p class="muted">After a reload of this tab, choose the same file again: the import goes on
            where it stopped, and no user is made twice.</p>
        ${foot(html`<span></span>`, busy ? html`<button class="btn"
            @click=${once(() => halt(job))}>${icon("pause")}Pause</button>` : html`<button class="btn primary"
            @click=${() => run(job)}>${icon("play")}Resume</button>`)}`;
}

function doneStep() {
    const { created, replaced, failed } = job.tally;
    return html`<h2 tabindex="-1">${count(created + replaced, "user")} imported</h2>${results(job)}
        ${failed ? faults(`${count(failed, "row was", "rows were")} refused`) : ""}
        ${foot(html`<button class="btn" @click=${restart}>Import another file</button>`,
            html`<a class="btn ${failed ? "" : "primary"}" href=${
                to("users", { sort: "-updated_at" })}>Show the users</a>`)}`;
}
