// Somebody else saved while this page had edits: three columns, and a choice wherever both changed
// the same member. Nothing is preselected.
import { html } from "../vendor/lit-html/lit-html.js";
import { actorName } from "../actors.js";
import { chosen, merge } from "../merge.js";
import { refresh } from "../page.js";
import { agoTime, count, textsOf } from "../texts.js";
import { dialog } from "./dialog.js";
import { icon } from "./icons.js";

/** Between `base`, what was opened, and `now`, what is stored. Returns the edits that remain, none
 * to give them up, undefined to go on editing. */
export function resolveConflict({ base, now, edits, actor, name, label }) {
    const { mine, theirs, both } = merge(base, now, edits);
    const choices = new Map();
    const who = actor ? actorName(actor) : "Somebody";
    const left = () => both.length - choices.size;
    const value = (word, text) => html`<small class="m">${word}</small>
        <bdi>${text || "no value"}</bdi>`;

    const shown = ({ pointer, ...values }) => {
        const [opened, stored, edited] = textsOf([values.base, values.now, values.mine]);
        return { pointer, base: opened, now: stored, mine: edited };
    };
    const option = ({ pointer, ...clash }, side, word) => html`
        <label class="opt ${choices.get(pointer) === side ? "on" : ""}"><input type="radio"
            class="rad" name=${pointer} ?autofocus=${pointer === both[0].pointer && side === "now"}
            aria-label="${label(pointer)}: ${word.toLowerCase()}"
            .checked=${choices.get(pointer) === side} @change=${() => {
                choices.set(pointer, side);
                refresh();
            }}><span>${value(word, clash[side])}</span></label>`;
    const row = (clash) => html`<div class="row" role="group" aria-label=${label(clash.pointer)}>
        <div>${label(clash.pointer)}</div>
        <div class="muted">${value("When you opened it", clash.base)}</div>
        ${option(clash, "now", "Now")}${option(clash, "mine", "Yours")}</div>`;

    const words = (whose, pointers) => (pointers.length
        ? [`${whose} ${pointers.map((one) => label(one).toLowerCase()).join(", ")}`] : []);
    const fits = [...words("your", mine), ...words(`${who}’s`, theirs)].join("; ");

    return dialog({ title: `${who} changed ${name} while you were editing`, size: "wide",
        lead: () => `It was saved ${agoTime(now.updated_at)}. Nothing of yours is lost${
            left() ? ": choose where you both changed the same field." : "."}`,
        ready: () => !left(),
        body: () => html`${both.length ? html`<div class="tw"><div class="row top"><div>Field</div>
            <div><b>When you opened it</b>Version ${base.version}</div>
            <div><b>Now</b>Version ${now.version}, ${who}</div>
            <div><b>Yours</b>Not saved</div></div>${both.map(shown).map(row)}</div>` : ""}${fits
            ? html`<div class="auto">${icon("check")}<p><b>Fits together by itself:</b>
                <bdi>${fits}</bdi>.</p></div>` : ""}`,
        submit: (close) => close(chosen(edits, choices)),
        actions: (close) => html`<button type="button" class="btn ghost danger"
            @click=${() => close(new Map())}>Discard mine</button><div class="sp"><button
            type="button" class="btn" @click=${() => close()}>Keep editing</button><button
            type="submit" class="btn primary" ?disabled=${left() > 0}>${left()
                ? `Choose ${count(left(), "field")}`
                : `Save merged as version ${now.version + 1}`}</button></div>` });
}
