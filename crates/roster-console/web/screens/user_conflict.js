// Somebody else saved while this page had edits: three columns, and a choice wherever both changed
// the same member. Nothing is preselected.
import { html } from "../vendor/lit-html/lit-html.js";
import { actorName } from "../actors.js";
import { chosen, merge } from "../merge.js";
import { refresh } from "../page.js";
import { agoTime, count, userName, valueText } from "../texts.js";
import { dialog } from "../ui/dialog.js";
import { icon } from "../ui/icons.js";
import { pointerLabel } from "./user_history.js";

/**
 * Ask what to do.
 * @param {object} parts
 * @param {Record<string, any>} parts.base   what was opened
 * @param {Record<string, any>} parts.now    what is stored
 * @param {import("../merge.js").Edits} parts.edits
 * @param {string} [parts.actor]             who changed it
 * @returns {Promise<{discard?: boolean, edits?: import("../merge.js").Edits} | undefined>}
 */
export function resolveConflict({ base, now, edits, actor }) {
    const merged = merge(base, now, edits);
    /** @type {Map<string, "now" | "mine">} */
    const choices = new Map();
    const who = actor ? actorName(actor) : "Somebody";
    const ready = () => merged.both.every(({ pointer }) => choices.has(pointer));
    const left = () => merged.both.length - choices.size;

    /** @param {import("../merge.js").Clash} clash @param {"now" | "mine"} side */
    const option = (clash, side) => html`
        <label class="opt ${choices.get(clash.pointer) === side ? "on" : ""}">
            <input type="radio" class="rad" name=${clash.pointer}
                aria-label="${pointerLabel(clash.pointer)}: ${side === "now" ? "now" : "yours"}"
                .checked=${choices.get(clash.pointer) === side} @change=${() => {
                    choices.set(clash.pointer, side);
                    refresh();
                }}>
            <span><span class="lab">${side === "now" ? "Now" : "Yours"}</span>
                <bdi>${valueText(clash[side]) || "no value"}</bdi></span></label>`;

    const row = (/** @type {import("../merge.js").Clash} */ clash) => html`
        <div class="row" role="group" aria-label=${pointerLabel(clash.pointer)}>
            <div>${pointerLabel(clash.pointer)}</div>
            <div class="muted"><span class="lab">When you opened it</span>
                <bdi>${valueText(clash.base) || "no value"}</bdi></div>
            ${option(clash, "now")}${option(clash, "mine")}
        </div>`;

    const words = (/** @type {string[]} */ pointers) => pointers.map((pointer) =>
        pointerLabel(pointer).toLowerCase()).join(", ");

    const fits = () => {
        const parts = [merged.mine.length ? `your ${words(merged.mine)}` : "",
            merged.theirs.length ? `${who}’s ${words(merged.theirs)}` : ""].filter(Boolean);
        return parts.length ? html`<div class="auto">${icon("check")}<p><b>Fits together by
            itself:</b>
            <bdi>${parts.join("; ")}</bdi>.</p></div>` : "";
    };

    return dialog({
        title: `${who} changed ${userName(now)} while you were editing`, size: "wide",
        lead: () => html`You opened version ${base.version}. It is version ${now.version} now, saved
            ${agoTime(now.updated_at)}. Nothing of yours is lost${merged.both.length
            ? ": choose where you both changed the same field." : "."}`,
        body: () => html`${merged.both.length ? html`<div class="tw">
            <div class="row top"><div>Field</div><div><b>When you opened it</b>Version
                ${base.version}</div>
                <div><b>Now</b>Version ${now.version}, ${who}</div><div><b>Yours</b>Not
                    saved</div></div>
            ${merged.both.map(row)}</div>` : ""}${fits()}`,
        submit: (close) => ready() && close({ edits: chosen(edits, choices) }),
        actions: (close) => html`<button type="button" class="btn ghost danger"
            @click=${() => close({ discard: true })}>Discard mine</button>
            <div class="sp"><button type="button" class="btn" @click=${() => close()}>Keep
                editing</button>
            <button type="submit" class="btn primary" ?disabled=${!ready()}>${ready()
                ? `Save merged as version ${now.version + 1}`
                : `Choose ${count(left(), "field")}`}</button></div>`,
    });
}
