// Step 1: drop or choose a file, or paste a text.
import { html } from "../vendor/lit-html/lit-html.js";
import { asProblem } from "../api.js";
import { decode } from "../csv_columns.js";
import { refresh } from "../page.js";
import { count, number } from "../texts.js";
import { confirm } from "../ui/confirm.js";
import { textarea } from "../ui/fields.js";
import { icon } from "../ui/icons.js";
import { note } from "../ui/parts.js";
import { check, guess, takeText } from "./import_job.js";
import { forget, saved, takeUp } from "./import_saved.js";

/** @typedef {import("./import_job.js").Job} Job */

const BYTES_MAX = 300_000_000;
const own = { fault: "", pasted: "", over: false, busy: false };

/** @param {Job} job @param {string} name @param {string} text @param {string} encoding */
async function take(job, name, text, encoding) {
    own.fault = takeText(job, name, text, encoding);
    const kept = saved(job.tenant);
    if (own.fault) {
        refresh();
        return;
    }
    if (kept && kept.hash === job.hash && kept.total === job.rows.length) {
        takeUp(job, kept);
        refresh();
        return;
    }
    if (kept && !await confirm({ title: "This is another file", action: "Give up the old import",
        danger: true, text: html`The import of <bdi class="strong">${kept.name}</bdi> stopped after
            ${number(kept.next)} of ${count(kept.total, "row")}. This file has other content. If you
                go on
            with it, the old import cannot be resumed; the users that it made stay.` })) {
        job.name = "";
        refresh();
        return;
    }
    forget(job.tenant);
    if (job.kind === "ndjson") {
        await check(job);
        return;
    }
    own.busy = true;
    refresh();
    try {
        await guess(job);
        job.step = "columns";
    } catch (error) {
        own.fault = asProblem(error).detail || asProblem(error).title;
    }
    own.busy = false;
    refresh();
}

/** @param {Job} job @param {File | undefined} file */
async function open(job, file) {
    if (!file || own.busy) {
        return;
    }
    own.fault = "";
    if (file.size > BYTES_MAX) {
        own.fault =
            "The file has more than 300 MB. Import it with curl or with roster import, as the page "
            + "“Bulk” of the documentation shows.";
    } else {
        const bytes = new Uint8Array(await file.arrayBuffer());
        if (bytes[0] === 0x50 && bytes[1] === 0x4b) {
            own.fault =
                "This is a file of a spreadsheet program. Save it there as “CSV UTF-8”, then "
                + "choose that file.";
        } else if (bytes.subarray(0, 1000).includes(0) && bytes[0] !== 0xff && bytes[0] !== 0xfe) {
            own.fault = "This is no text. Roster reads CSV and NDJSON.";
        } else {
            const { text, encoding } = decode(bytes);
            await take(job, file.name, text, encoding);
            return;
        }
    }
    refresh();
}

const EXAMPLE = "username,email,given_name,family_name\nada,ada@example.com,Ada,Lovelace\n";

/** @param {Job} job */
export function fileStep(job) {
    const kept = saved(job.tenant);
    const over = (/** @type {boolean} */ on) => (/** @type {DragEvent} */ event) => {
        event.preventDefault();
        own.over = on;
        refresh();
    };
    return html`<h2 tabindex="-1">${kept ? "Go on with an import" : "Choose a file"}</h2>
        ${kept ? note("warn", html`<p>The import of <bdi class="strong">${kept.name}</bdi>
            stopped after ${number(kept.next)} of ${count(kept.total, "row")}. Choose the same file
                again and it
            goes on from there; no user is made twice.</p>
            <button class="link" @click=${() => {
        forget(job.tenant);
        refresh();
    }}>Give it up</button>`) : ""}
        <label class="drop ${own.over ? "over" : ""}" @dragover=${over(true)}
            @dragleave=${over(false)}
            @drop=${(/** @type {DragEvent} */ event) => {
        over(false)(event);
        open(job, event.dataTransfer?.files[0]);
    }}><input type="file" class="sr" id="import-file"
            accept=".csv,.tsv,.txt,.ndjson,.jsonl,.json,text/csv,application/x-ndjson"
            ?disabled=${own.busy} @change=${(/** @type {Event} */ event) => {
        const input = /** @type {HTMLInputElement} */ (event.target);
        const [file] = input.files ?? [];
        open(job, file);
        input.value = "";
    }}>
            <span class="big">${icon("upload")}</span><b>${own.busy ? "Reading…"
        : "Drop a file here, or choose one"}</b><small>CSV with a header row, or NDJSON: one JSON
            object a
            line. Nothing is stored before the last step.</small></label>
        ${own.fault ? html`<div role="alert">${note("bad", own.fault)}</div>` : ""}
        <form class="paste" novalidate @submit=${(/** @type {Event} */ event) => {
        event.preventDefault();
        if (own.pasted.trim()) {
            take(job, "Pasted text", own.pasted, "UTF-8");
        }
    }}>${textarea({ id: "import-text", label: "Or paste the text", value: own.pasted, rows: 5, mono:
        true,
        hint: html`For example <code class="example">${EXAMPLE}</code>`,
        onInput: (text) => {
            own.pasted = text;
            own.fault = "";
            refresh();
        } })}
            <div class="row"><button type="submit" class="btn ${own.pasted.trim() ? "primary" : ""}"
                ?disabled=${!own.pasted.trim() || own.busy}>Use this text</button></div></form>`;
}
