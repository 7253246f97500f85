// What a reload needs to go on with an import: which file, the next row, what was found so far.
import { base } from "../api.js";
import { regroup } from "./import_faults.js";

/** @typedef {import("./import_job.js").Job} Job */

const REFUSED_KEPT = 5000;

const place = (/** @type {string} */ tenant) => `roster-import:${base}:${tenant}`;

/** What a reload needs to go on; no values of users. @param {Job} job */
export function save(job) {
    const { hash, name, kind, next, policy, match, members, key, tally, encoding, rows } = job;
    const kept = { hash, name, kind, next, policy, match, members, key, encoding, total:
        rows.length,
        tally: { ...tally, groups: [], refused: tally.refused.slice(0, REFUSED_KEPT) } };
    try {
        sessionStorage.setItem(place(job.tenant), JSON.stringify(kept));
    } catch {
        // Without room the import still runs; only a reload cannot go on.
    }
}

/** @param {string} tenant @returns {any} */
export function saved(tenant) {
    try {
        return JSON.parse(sessionStorage.getItem(place(tenant)) ?? "null");
    } catch {
        return null;
    }
}

/** @param {string} tenant */
export const forget = (tenant) => sessionStorage.removeItem(place(tenant));

/** Go on with a file that was chosen again. @param {Job} job @param {any} kept */
export function takeUp(job, kept) {
    const { next, policy, match, members, key, tally } = kept;
    Object.assign(job, { next, policy, match, members, key, step: "run", state: "paused",
        tally: { ...tally, groups: new Map() } });
    regroup(job.tally, job);
}
