// Name and external id of a group. A save sends the changes and the version that was read.
import { html } from "../vendor/lit-html/lit-html.js";
import { asProblem, get, patch } from "../api.js";
import { refresh, toast } from "../page.js";
import { count } from "../texts.js";
import { faultsOf, field, focusField } from "../ui/fields.js";
import { icon } from "../ui/icons.js";
import { modifier, note } from "../ui/parts.js";

/** @typedef {import("./group.js").Group} Group */
/** @typedef {"display_name" | "external_id"} Member */

const MEMBERS = /** @type {Member[]} */ (["display_name", "external_id"]);

/** @param {() => Group} group @param {(group: Group) => void} take @param {boolean} writes */
export function groupDetails(group, take, writes) {
    const state = { edits: /** @type {Partial<Record<Member, string>>} */ ({}), busy: false,
        faults: /** @type {Record<string, string>} */ ({}), other: "",
        theirs: /** @type {Member[]} */ ([]) };

    const changed = () => MEMBERS.filter((name) => state.edits[name] !== undefined
        && state.edits[name]?.trim() !== (group()[name] ?? ""));

    /** @param {Member} name @param {string | undefined} value */
    function edit(name, value) {
        state.edits[name] = value;
        state.theirs = state.theirs.filter((one) => one !== name);
        delete state.faults[`/${name}`];
        state.other = "";
        refresh();
    }

    /** Keep the own value although somebody else wrote another. @param {Member} name */
    function mine(name) {
        state.theirs = state.theirs.filter((one) => one !== name);
        refresh();
        focusField(`group-${name}`);
    }

    const discard = () => {
        Object.assign(state, { edits: {}, faults: {}, other: "", theirs: [] });
        refresh();
    };

    async function save() {
        const names = changed();
        if (state.busy || !names.length || !writes || state.theirs.length) {
            return;
        }
        if (names.includes("display_name") && !state.edits.display_name?.trim()) {
            state.faults["/display_name"] = "Give the group a name";
            refresh();
            focusField("group-display_name");
            return;
        }
        state.busy = true;
        refresh();
        const before = group();
        try {
            const body = Object.fromEntries(names.map((name) => [name, state.edits[name]?.trim() ||
                null]));
            const { data } = await patch(`/groups/${before.id}`, body, { version: before.version });
            discard();
            take(data);
            toast("Saved");
        } catch (error) {
            await refused(asProblem(error), before);
        }
        state.busy = false;
        refresh();
    }

    /** @param {import("../api.js").Problem} problem @param {Group} before */
    async function refused(problem, before) {
        if (problem.status === 412) {
            try {
                const { data } = await get(`/groups/${before.id}`);
                state.theirs = changed().filter((name) => before[name] !== data[name]);
                take(data);
                state.other = state.theirs.length ? "" :
                    "Only its members had changed. Press Save again.";
                if (!changed().length) {
                    discard();
                }
                return;
            } catch (error) {
                problem = asProblem(error);
            }
        }
        state.faults = faultsOf(problem);
        const at = MEMBERS.find((name) => state.faults[`/${name}`]);
        state.other = at ? "" : problem.detail || problem.title;
        refresh();
        if (at) {
            focusField(`group-${at}`);
        }
    }

    /** @param {Member} name @param {string} label @param {object} more */
    function input(name, label, more) {
        const value = state.edits[name] ?? group()[name] ?? "";
        const isChanged = changed().includes(name);
        const isTheirs = isChanged && state.theirs.includes(name);
        return html`<div>${field({ id: `group-${name}`, label, value, ...more, disabled: !writes,
            error: state.faults[`/${name}`], onInput: (text) => edit(name, text),
            was: isChanged && !isTheirs ? { value: group()[name] ?? "", undo: () => edit(name,
                undefined) } : undefined })}
            ${isTheirs ? html`<div class="gboth" role="alert"><p>${icon("warn")}<span>Somebody else
                wrote this meanwhile. Which one is right?</span></p>
                <div class="row"><button type="button" class="btn" @click=${() => edit(name,
                    undefined)}>
                Theirs: <bdi>${group()[name] ?? "empty"}</bdi></button><button type="button"
                    class="btn"
                @click=${() => mine(name)}>Mine: <bdi>${value ||
                    "empty"}</bdi></button></div></div>`
        : ""}</div>`;
    }

    const view = () => html`<form class="gform" novalidate
        @submit=${(/** @type {Event} */ event) => {
        event.preventDefault();
        save();
    }}>
        <fieldset><legend>Details</legend><div class="fs">
            ${input("display_name", "Name", { required: true,
                hint: "Two groups cannot have the same name, also not in other case." })}
            ${input("external_id", "External id", { mono: true, mark: "optional",
                hint: "The id that another system gives this group." })}</div></fieldset>
        ${writes ? html`<button type="submit" class="sr" tabindex="-1">Save</button>`
        : note("info", "Your credential only reads groups.")}</form>`;

    function bar() {
        const names = changed();
        const faults = Object.keys(state.faults).length;
        if (!names.length) {
            return "";
        }
        return html`<div class="savebar" role="region" aria-label="Unsaved changes">
            ${state.theirs.length ? html`<span class="bad">Choose which value is right</span>`
                : faults ? html`<span class="bad">${count(faults, "field needs", "fields need")}
                attention</span>` : state.other ? html`<span class="bad"
                    role="alert">${state.other}</span>`
                : html`<b>${count(names.length, "change")}</b>`}
            <div class="sp"><button class="btn ghost" @click=${discard}>Discard</button>
            <button class="btn primary" ?disabled=${state.busy || state.theirs.length > 0}
            @click=${save}>Save<kbd
                class="d">${modifier}↵</kbd></button></div></div>`;
    }

    return { view, bar, save, discard, unsaved: () => changed().length > 0 };
}
