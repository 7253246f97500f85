// A screen with a list in a table: search, order, tabs, and what to say when there is nothing.
import { html } from "../vendor/lit-html/lit-html.js";
import { can } from "../caller.js";
import { refresh, setQuery, toast } from "../page.js";
import { foot } from "./data.js";
import { icon } from "./icons.js";
import { openMenu } from "./menu.js";
import { emptyState, errorPanel, noScope, pageHead, readsOnly, safely, searchBox,
    skeleton } from "./parts.js";

/** Where each list was when it was left, for Back. */
const kept = new Map();
export const refusedScreen = (title, why, back = undefined) => ({ title,
    view: () => html`${pageHead({ title, back })}<div class="page">${why}</div>` });

/** A column has `head`, `cell(item)`, and perhaps `type`, its class. */
export const table = (columns, items) => html`<table class="table"><thead><tr>${columns.map((one) =>
    html`<th scope="col" class=${one.type ?? ""}>${one.head}</th>`)}</tr></thead><tbody>${
    items.map((item) => html`<tr>${columns.map((one) => html`<td class=${one.type ?? ""}>${
        safely(() => one.cell(item))}</td>`)}</tr>`)}</tbody></table>`;

/** The items of a list with what follows them; or why there are none. */
export const listView = (list, items, none, rows) => (list.error
    ? errorPanel(list.error, () => list.load()) : !items ? skeleton(10)
        : items.length || list.next ? html`${rows(items)}${foot(list)}` : emptyState(none()));

/** `scope` is needed, to `may`. `list(search)` is called once and returns `pages`, or a `reading`
 * of which `find(value, search)` takes the items. `search` has `q`, `sort`, `show` as in the URL;
 * `columns`, `tabs`, `none` (of an empty list) and `sub` (below the title) get it. `noMatch` is
 * said while `q` is set, `rows(items)` replaces the table, `sorts` are pairs, the default first. */
export function listScreen(spec) {
    const { route, title, scope, may, find, sorts, add } = spec;
    if (scope && !can(scope)) {
        return refusedScreen(title, noScope(scope, may));
    }
    const search = { q: "", sort: "", show: "", ...route.query };
    const place = location.hash;
    let { size = 0, top = 0 } = kept.get(place) ?? {};
    const list = spec.list(search);
    if (!find) {
        list.load(size);
    }
    const adds = add && can(add.scope ?? scope);
    const rows = () => (find ? list.value && find(list.value, search) : list.items);
    let waiting = 0;

    function apply(next) {
        clearTimeout(waiting);
        setQuery(Object.assign(search, next));
        return find ? refresh() : list.load();
    }
    function type(event) {
        clearTimeout(waiting);
        search.q = event.target.value;
        waiting = window.setTimeout(apply, find ? 0 : 120);
    }
    const order = () => search.sort || sorts[0][0];
    const sortMenu = (event) => openMenu(event, "Order", sorts.map(([sort, text]) => ({ text,
        checked: order() === sort, run: () => apply({ sort }) })));
    const addButton = (type = "") => html`<button class="btn primary" aria-label=${add.text}
        @click=${add.run}>${icon("plus")}<span class=${type}>${add.text}</span></button>`;

    const none = () => (search.q && spec.noMatch ? { action: html`<button class="btn"
        @click=${() => apply({ q: "" })}>Show all</button>`, ...spec.noMatch }
        : { action: adds ? addButton("") : "", ...spec.none(search) });

    return {
        title, list, apply,
        reload: () => list.load(list.items?.length),
        view: () => html`${pageHead({ title, sub: spec.sub?.(list, search),
            actions: adds ? addButton("d") : add && readsOnly() })}
            ${spec.search ? html`<div class="tools">${searchBox({ ...spec.search, value: search.q,
                input: type })}${sorts ? html`<div class="end"><button class="btn ghost"
                aria-haspopup="menu" @click=${sortMenu}>${icon("sort")}${
                new Map(sorts).get(order())}</button></div>` : ""}</div>` : ""}
            ${spec.tabs?.(search) ?? html`<div class="topline"></div>`}
            <div class="page" id="list-page">${listView(list, rows(), none,
                spec.rows ?? ((items) => table(spec.columns(search), items)))}</div>`,
        changed({ query }) {
            const next = { q: "", sort: "", show: "", ...query };
            return Object.keys(next).some((name) => next[name] !== search[name]) && apply(next);
        },
        close() {
            kept.set(place, { size: list.items?.length,
                top: document.getElementById("list-page")?.scrollTop });
            clearTimeout(waiting);
            list.close();
        },
        drawn() {
            if (top && rows()) {
                document.getElementById("list-page").scrollTop = top;
                top = 0;
            }
            spec.drawn?.(list);
        },
        keys: { "/": () => document.getElementById("search")?.focus(),
            c: () => (adds ? add.run() : add ? toast("Your credential only reads.") : false),
            ...spec.keys },
    };
}
