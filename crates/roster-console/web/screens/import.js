// Import of users: file, columns, check, run, result. The file stays in this browser; only rows are
// sent.
import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { can } from "../caller.js";
import { loadStyles, refresh, toast } from "../page.js";
import { count, number } from "../texts.js";
import { icon } from "../ui/icons.js";
import { noScope, pageHead } from "../ui/parts.js";
import { checkStep } from "./import_check.js";
import { columnsStep } from "./import_columns.js";
import { fileStep } from "./import_file.js";
import { newJob, pause } from "./import_job.js";
import { doneStep, runStep } from "./import_run.js";

await loadStyles("screens/import.css");

/** The import outlives the screen, so that a look elsewhere loses nothing.
 * @type {import("./import_job.js").Job | null} */
let job = null;

const STEPS = /** @type {[string, string][]} */ ([["file", "File"], ["columns", "Columns"],
    ["check", "Check"], ["run", "Run"]]);

/** @param {import("../route.js").Route} route */
export default function imports(route) {
    if (!can("users:write")) {
        return { title: "Import", view: () => html`${pageHead({ title: "Import" })}
            ${noScope("users:write", "import users")}` };
    }
    if (job?.tenant !== route.tenant || job.step === "done") {
        job = newJob(route.tenant);
    }
    let shown = job.step;
    const restart = () => {
        job?.stop.abort();
        job = newJob(route.tenant);
        refresh();
    };
    const views = { file: fileStep, columns: columnsStep, check: checkStep, run: runStep, done:
        doneStep };

    const steps = (/** @type {string} */ step) => {
        const at = step === "done" ? 4 : STEPS.findIndex(([name]) => name === step);
        return html`<ol class="isteps" aria-label="Steps">${STEPS.map(([, text], i) => html`
            <li class=${i < at ? "past" : i === at ? "now" : ""} aria-current=${i === at ? "step" :
                nothing}>
            <span class="n">${i < at ? icon("check") : i + 1}</span>${text}</li>`)}</ol>`;
    };

    return {
        title: "Import",
        view() {
            const one = /** @type {import("./import_job.js").Job} */ (job);
            return html`${pageHead({ title: "Import users",
                sub: one.name ? html`<bdi>${one.name}</bdi>, ${count(one.rows.length, "row")}` : "",
                actions: one.step === "file" || one.step === "done" || one.state === "running" ? ""
                    : html`<button class="btn" @click=${restart}>Start over</button>` })}
                ${steps(one.step)}<div class="page"><div class="imp">${
    views[one.step](one, { restart })}</div></div>`;
        },
        drawn() {
            if (job && shown !== job.step) {
                shown = job.step;
                /** @type {HTMLElement | null} */ (document.querySelector(".imp h2"))?.focus();
                document.querySelector(".page")?.scrollTo(0, 0);
            }
        },
        close() {
            if (job?.state === "running") {
                pause(job);
                toast(`Import paused after ${number(job.next)} of ${count(job.rows.length,
                    "row")}. `
                    + "Open Import to go on.");
            } else if (job?.state === "checking") {
                job.stop.abort();
                Object.assign(job, { state: "", step: job.table ? "columns" : "file" });
            }
        },
    };
}
