// A screen with one record: its name, actions, tabs, facts at the side, and its form.
import { html } from "../vendor/lit-html/lit-html.js";
import { can } from "../caller.js";
import { here, refresh, to } from "../page.js";
import { shortId } from "../texts.js";
import { reading } from "./data.js";
import { icon } from "./icons.js";
import { refusedScreen } from "./list.js";
import { openMenu } from "./menu.js";
import { copyButton, crumb, emptyState, errorPanel, noScope, skeleton, tabs }
    from "./parts.js";

/** `list` names the list of the screen; `query` is that of the link back. `scope` is needed, to
 * `may`. The record is read again after `every` ms; `sub` is below its name, `rail` at the side.
 * `tabs` are a name in the URL, a text, and functions for the content and a number. `form` is that
 * of the tab `formTab`. `gone(problem)` is what a 404 says. `closes` close with the screen;
 * `opened(tab)` is called at each tab. */
export function recordScreen(spec) {
    const { route, kind, scope, form, formTab = "" } = spec;
    const [id] = route.parts;
    const back = { href: to(route.screen, spec.query ?? {}), text: spec.list };
    if (scope && !can(scope)) {
        return refusedScreen(kind, noScope(scope, spec.may), back);
    }
    const one = reading(async (signal) => {
        const record = await spec.read(signal);
        form?.show(record);
        return record;
    }, { every: spec.every });
    const tab = () => here().parts[1] ?? "";

    /** Show a record that a write returned. */
    function take(record) {
        one.value = record;
        form?.show(record);
        refresh();
    }
    const head = (record) => html`<div class="who2">${spec.picture(record)}<div class="names">
        <h1 tabindex="-1"><bdi>${spec.name(record)}</bdi>${spec.badge?.(record)}</h1>
        <div class="sub">${spec.sub?.(record)}${copyButton(id, "Copy the id",
            html`<span class="mono">${shortId(id)}</span>`)}</div></div>
        <div class="sp">${spec.actions?.(record)}${spec.menu ? html`<button class="btn icon"
            aria-label="More" aria-haspopup="menu" @click=${(event) =>
                openMenu(event, "More", spec.menu(one.value))}>${icon("more")}</button>` : ""}</div>
        </div>`;
    const links = (record, shown) => tabs(`Parts of the ${kind.toLowerCase()}`, spec.tabs.map(
        ([name, text, , count]) => ({ text, count: count?.(record), current: name === shown,
            href: to(route.screen, id, ...(name ? [name] : [])) })));
    const missing = () => html`<h1 class="sr" tabindex="-1">${kind}</h1>${!one.error ? skeleton(8)
        : one.error.status !== 404 ? errorPanel(one.error, one.load)
            : emptyState({ icon: "search", action: html`<a class="btn" href=${back.href}>Show all
                </a>`, ...spec.gone(one.error) })}`;
    function view() {
        const record = one.error ? null : one.value;
        const [shown, , content] = spec.tabs.find(([name]) => name === tab()) ?? spec.tabs[0];
        return html`${crumb(back, record ? spec.name(record) : shortId(id), spec.end)}
            <div class="page">${!record ? missing() : html`${head(record)}${
            spec.tabs[1] ? links(record, shown) : ""}${!spec.rail ? content(record)
                : html`<div class="cols"><div class="part">${content(record)}</div>
                    <div class="rail">${spec.rail(record)}</div></div>`}`}</div>${
            record && form && shown === formTab ? form.bar() : ""}`;
    }

    return {
        title: () => (one.value ? spec.name(one.value) : kind), view, take,
        load: one.load, record: () => one.value,
        owns: (next) => next.screen === route.screen && next.parts[0] === id
            && next.tenant === route.tenant,
        changed: () => spec.opened?.(tab()),
        close() {
            one.close();
            spec.closes?.forEach((part) => part.close());
        },
        unsaved: () => form?.unsaved(),
        acts: () => (one.value && spec.menu ? spec.menu(one.value) : []).filter(Boolean)
            .map(({ text, icon: sign, href, run }) => [text, sign, run ?? (() => {
                location.hash = href;
            })]),
        keys: { "ctrl-enter": () => (form && tab() === formTab ? form.save() : false),
            ...spec.keys },
    };
}

/** The facts of a record at the side, as pairs; one without a value is left out. */
export const facts = (pairs, title = "Record") => html`<section><h2>${title}</h2><dl class="facts">
    ${pairs.map(([name, value]) => ((value ?? "") === "" ? ""
        : html`<dt>${name}</dt><dd>${value}</dd>`))}</dl></section>`;
