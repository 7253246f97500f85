// Step 2: which member each column of the file has.
import { html } from "../vendor/lit-html/lit-html.js";
import { live } from "../vendor/lit-html/directives/live.js";
import { attributeOf, cellsOf, twice } from "../csv_columns.js";
import { refresh } from "../page.js";
import { count, label } from "../texts.js";
import { icon } from "../ui/icons.js";
import { note } from "../ui/parts.js";
import { check } from "./import_job.js";

/** @typedef {import("./import_job.js").Job} Job */

const LEFT_OUT_MAX = 60;
const NEEDED = ["username", "userName", "email", "emails", "emails[0].value", "emails.value"];
const PARTS = /** @type {[string, string][]} */ ([
    ["emails[1].value", "Second e-mail"], ["emails[1].type", "Second e-mail, kind"],
    ["emails[2].value", "Third e-mail"], ["phone_numbers[1].value", "Second telephone"],
    ["phone_numbers[1].type", "Second telephone, kind"],
    ["addresses[0].formatted", "Address"], ["addresses[0].street_address", "Address: street"],
    ["addresses[0].locality", "Address: town"], ["addresses[0].postal_code",
        "Address: postal code"],
    ["addresses[0].region", "Address: region"], ["addresses[0].country", "Address: country"],
    ["manager.id", "Manager: id"], ["manager.display_name", "Manager: name"],
    ["roles[0].value", "Role"], ["entitlements[0].value", "Entitlement"], ["active",
        "Active (true or false)"],
]);
const NOT_STORED = ["id", "version", "created_at", "updated_at", "username_from_email"];

/** @param {Job} job @param {number} at */
function options(job, at) {
    const plain = job.schema.filter((one) => !one.read_only && one.type !== "object" &&
        !one.multi_valued)
        .map((one) => /** @type {[string, string]} */ ([one.name, label(one.name)]));
    const lists = job.schema.filter((one) => one.multi_valued).map((one) =>
        /** @type {[string, string]} */ ([one.name, `${label(one.name)}, as JSON`]));
    const declared = job.attributes.map((one) =>
        /** @type {[string, string]} */ ([`attributes.${one.name}`,
            label(`attributes.${one.name}`)]));
    const fresh = attributeOf(job.table?.columns[at] ?? "");
    const own = declared.some(([name]) => name === fresh) ? []
        : [/** @type {[string, string]} */ ([fresh, `New: ${fresh.slice(11)}`])];
    const groups = [["Members", plain], ["Attributes", [...declared, ...own]], ["Parts and lists",
        [...PARTS,
        ...lists, ["attributes", "All attributes, as JSON"]]]];
    const member = job.members[at];
    const known = groups.some(([, list]) => /** @type {string[][]} */ (list)
        .some(([name]) => name === member));
    return member && !known ? [["Recognized", [[member, NOT_STORED.includes(member)
        ? `${label(member)} (not stored)` : member]]], ...groups] : groups;
}

/** The first values of a column. @param {Job} job @param {number} at */
function samples(job, at) {
    const found = [];
    for (const row of job.rows.slice(0, 50)) {
        const value = cellsOf(job.text.slice(row.start, row.end), job.table?.delimiter ??
            ",")?.[at];
        if (value?.trim() && found.length < 3) {
            found.push(value.replace(/^'(?=[=+\-@])/, ""));
        }
    }
    return found;
}

/** @param {Job} job */
export function columnsStep(job) {
    const columns = job.table?.columns ?? [];
    const double = twice(job.members);
    const left = job.members.filter((member) => member === null).length;
    const named = job.members.some((member) => member && NEEDED.includes(member.replace(/^.*:/,
        "")));
    const fault = (/** @type {number} */ at) => (double.has(at)
        ? `Also chosen for ${columns.filter((_, i) => i !== at && job.members[i] ===
            job.members[at])
            .map((name) => `“${name}”`).join(" and ")}. A member has one column.`
        : job.faults[at] ?? "");
    const blocked = double.size > 0 || !named || left > LEFT_OUT_MAX;
    const choose = (/** @type {number} */ at) => (/** @type {Event} */ event) => {
        job.members[at] = /** @type {HTMLSelectElement} */ (event.target).value || null;
        job.faults = {};
        refresh();
    };

    const row = (/** @type {string} */ name, /** @type {number} */ at) => html`
        <li class="map ${job.members[at] === null ? "out" : ""}">
            <label for="column-${at}"><bdi class="cut" title=${name}>${name.trim()
        || `Column ${at + 1}, without a name`}</bdi>
                <small><bdi class="cut">${samples(job, at).join(" · ") ||
                    "empty in the first rows"}</bdi></small>
            </label><span class="arrow">${icon("right")}</span>
            <div><select class="in" id="column-${at}" @change=${choose(at)}
                aria-invalid=${fault(at) ? "true" : "false"} aria-describedby="column-note-${at}">
                <option value="" .selected=${live(job.members[at] === null)}>Leave out</option>
                ${options(job, at).map(([group, list]) => html`<optgroup label=${group}>${
        /** @type {string[][]} */ (list).map(([member, text]) => html`<option value=${member}
                    .selected=${live(member === job.members[at])}>${text}</option>`)}</optgroup>`)}
                </select><div id="column-note-${at}">${fault(at) ? html`<div
                    class="note bad">${icon("alert")}
                <span>${fault(at)}</span></div>` : job.members[at] === null && job.unknown.has(at)
        ? html`<div class="note">Not recognized: choose a member, or leave it out.</div>` :
            ""}</div></div>
        </li>`;

    const bad = job.rows.filter((one) => one.bad).length;
    return html`<h2 tabindex="-1">What the columns are</h2>
        <p class="muted">Roster proposes a member of a user for each column. Correct what is wrong.
            ${left ? `${count(left, "column is", "columns are")} left out.` :
                "All columns are used."}</p>
        ${job.encoding === "Windows-1252" ? note("warn", html`The file is not UTF-8, so it is read
            as
            Windows-1252. Look whether letters with accents are right below; if not, save the file
                as “CSV
            UTF-8”.`) : ""}
        ${bad ? note("warn", `${count(bad, "row has",
            "rows have")} a wrong quotation mark and will be `
            + `refused. The check shows ${bad === 1 ? "it" : "them"}.`) : ""}
        <ul class="maps">${columns.map(row)}</ul>
        ${named ? "" : html`<div role="alert">${note("bad", html`No column is the <b>username</b> or
            the
            <b>e-mail</b>. Each user needs one of them.`)}</div>`}
        ${left > LEFT_OUT_MAX ? note("bad",
            `At most ${LEFT_OUT_MAX} columns can be left out. Remove some of `
            + "them from the file.") : ""}
        <div class="go"><button class="btn" @click=${() => {
        job.step = "file";
        refresh();
    }}>Back</button><button class="btn primary" ?disabled=${blocked}
        @click=${() => check(job)}>Check
            ${count(job.rows.length, "row")}</button></div>`;
}
