// The list of users: search, filter, selection, and as many rows in the page as fit the window.
import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { get } from "../api.js";
import { can } from "../caller.js";
import { go, here, loadStyles, refresh, setQuery, to } from "../page.js";
import { number, total, userName } from "../texts.js";
import { attempt, foot, pages } from "../ui/data.js";
import { icon } from "../ui/icons.js";
import { avatar, cut, errorPanel, noScope, pageHead, readsOnly, searchBox, shortAgo,
    skeleton, statusBadge } from "../ui/parts.js";

export const ORDERS = { __proto__: null, "-updated_at": "Changed last", "-created_at": "Newest",
    created_at: "Oldest", name: "Name, A to Z", "-name": "Name, Z to A", family_name: "Family name",
    username: "Username, A to Z", "-username": "Username, Z to A", email: "E-mail",
    expires_at: "Ends first" };
const FIELDS = "username,name,given_name,family_name,display_name,email,email_verified,status,"
    + "department,updated_at";
/** The member to sort by, the head, the class, and the cell. @type {any[][]} */
const COLUMNS = [
    ["name", "Name", "c-nm", (user) => html`<a href=${to("users", user.id)} class="nm"
        tabindex="-1">${avatar(userName(user), user.id)}${cut(userName(user), "t")}</a>`],
    ["username", "Username", "c-un muted", (user) => cut(user.username)],
    ["email", "E-mail", "c-em", (user) => html`<span class="em">${cut(user.email)}${user.email
        && user.email_verified === false ? html`<span class="unver">not verified</span>` : ""}
        </span>`],
    ["", "Status", "c-st", statusBadge],
    ["", "Department", "c-dep muted", (user) => cut(user.department)],
    ["updated_at", "Updated", "c-up end", (user) => shortAgo(user.updated_at)]];
/** The rows that are drawn above and below those in sight; each costs time while one scrolls. */
const BEYOND = 4;
export const phone = matchMedia("(max-width: 760px)");
const tall = () => (phone.matches ? 60 : 40);
const grid = () => document.getElementById("users-grid");

let kept = null; // the list that was shown last, so that Back shows the same rows

/** A search has the order of its index if none is chosen: faster than sorting all that match. */
export const order = (list) => list.sort || (list.q ? "" : "-updated_at");
/** `of` is the search of the rows that are shown or asked for, also while the next one is typed. */
export const query = (list) => ({ ...list.of, sort: list.by, fields: FIELDS, limit: 100,
    count: (list.stale && !list.of.q) || undefined });
export const rowAt = (list) => Math.floor(list.scroll / tall());
const start = () => ({ stale: false, changed: false, own: false, empty: 0, current: 0, scroll: 0,
    from: "", restore: true, selected: new Map(), all: false, etag: "" });

function openList({ q = "", f = "", sort = "" }) {
    const { tenant } = here();
    if (kept?.tenant !== tenant || kept.q !== q || kept.f !== f || kept.sort !== sort) {
        const list = pages("/users", () => query(list), { size: 100, added(users) {
            if (list.stale && list.q) {
                // Counting all that match takes longer than the first of them: not at each letter.
                clearTimeout(list.counting);
                list.counting = setTimeout(poll, 1000, list);
            }
            Object.assign(list, list.stale && start());
            list.empty = users.length ? 0 : list.empty + 1;
            const page = { cursor: list.from, last: users.at(-1)?.id };
            users.forEach((user) => Object.assign(user, { page }));
            list.from = list.next;
        } });
        kept = Object.assign(list, { tenant, q, f, sort, ...start() });
    }
    kept.restore = true;
    return kept;
}

/** Read the list from its start. Rows of before stay, grey, until the answer. */
export const load = (list) => Object.assign(list, { stale: true, by: order(list),
    of: { q: list.q, filter: list.f } }).load();

/** Ask whether the first page is another one now. Rows never move by themselves. */
async function poll(list) {
    const { items } = list;
    // One at a time: after the end of a session each waits for the sign-in.
    if (!items || list.loading || list.error || document.hidden || list.polls === items
        || list.tenant !== here().tenant) {
        return;
    }
    list.polls = items;
    try {
        const { status, data, etag } = await get("/users", { ifNone: list.etag,
            query: { ...query(list), count: true } });
        if (status !== 304 && items === list.items) {
            const keys = (some) => some.map(({ id, version }) => `${id} ${version}`).join();
            // The first page of a filter may be short, and rows of the next ones follow.
            const end = data.next_cursor ? data.items.length : items.length;
            list.changed ||= !list.own && keys(data.items) !== keys(items.slice(0, end));
            Object.assign(list, { etag, own: false, total: data });
        }
        list.lost = false;
    } catch (error) {
        // The next poll tries again; a 401 has opened the sign-in.
        const gone = [403, 404].includes(error.status);
        Object.assign(list, { lost: !gone }, gone && { ...start(), error, items: null, total: {} });
    }
    list.polls = list.polls === items ? null : list.polls;
    list.height = 0; // the window may have another size, and "2 min" becomes "3 min"
    refresh();
}

/** Change the rows after a write of this page, without moving them; null removes one. */
export function changeRows(list, change) {
    const items = (list.items ?? []).map(change).filter(Boolean);
    // The number may not be known yet.
    list.total.total &&= list.total.total - list.items.length + items.length;
    Object.assign(list, { items, own: true });
    choose(list, [...list.selected.values()].map(change).filter(Boolean), list.all);
}
export function choose(list, users, all = false) {
    list.selected = new Map(users.filter(({ id }) => id).map((user) => [user.id, user]));
    list.all = all;
    refresh();
}

/** A user was changed on its own page, or is gone. */
export const changeKept = (user, id) => kept?.items && changeRows(kept, (one) =>
    (one.id === id ? user && { ...one, ...user } : one));

export function neighbours(id) {
    const at = kept?.items?.findIndex((user) => user.id === id) ?? -1;
    return at < 0 ? {} : { before: kept.items[at - 1]?.id, after: kept.items[at + 1]?.id,
        place: `${number(at + 1)} of ${total(kept.total)}`,
        query: { q: kept.q, f: kept.f, sort: kept.sort } };
}

export default function users(route) {
    if (!can("users:read")) {
        return { title: "Users", view: () => html`${pageHead({ title: "Users" })}
            ${noScope("users:read", "read users")}` };
    }
    const list = openList(route.query);
    const writes = can("users:write");
    let [waiting, asked] = [0, null];
    let extra = null; // once it is needed: the filter, menus, and what is done to many users
    const need = () => (asked ??= Promise.all([import("./users_extra.js"),
        loadStyles("screens.css")]).then(([{ usersExtra }]) => {
        extra = usersExtra({ list, apply, type, step, move, writes, current });
        refresh();
        return extra;
    }).catch((error) => {
        // The next one tries again.
        asked = null;
        throw error;
    }));
    const does = (name, ...values) => async ({ currentTarget }) =>
        (await attempt(need))?.[name](currentTarget, ...values);
    const where = (next) => ({ q: list.q, f: list.f, sort: list.sort, ...next });
    const step = (next) => go("users", where(next));
    function apply(next) {
        clearTimeout(waiting);
        Object.assign(list, next);
        setQuery(where());
        choose(list, []);
        return load(list);
    }
    /** Search once nothing more is typed. What was selected is of another search. */
    function type(next, wait = 120) {
        Object.assign(list, next);
        choose(list, []);
        clearTimeout(waiting);
        waiting = window.setTimeout(apply, wait);
    }

    const current = () => list.items?.[list.current];
    const move = (by) => () => {
        const box = grid();
        if (box) {
            list.current = Math.max(0, Math.min(list.items.length - 1, list.current + by));
            const top = list.current * tall();
            box.scrollTop = Math.min(top, Math.max(box.scrollTop,
                top + tall() + 32 - box.clientHeight));
            box.focus({ preventScroll: true });
        }
        refresh();
    };
    function toggle(user = current()) {
        // Without one of all that match, those in the page stay selected.
        const before = list.all ? list.items : [...list.selected.values()];
        const others = before.filter(({ id }) => id !== user?.id);
        choose(list, !user || others.length < before.length ? others : [...others, user]);
    }

    function headCell([name, text, type]) {
        const by = name && [name, `-${name}`].indexOf(order(list));
        return html`<div role="columnheader" class=${type}
            aria-sort=${["ascending", "descending"][by] ?? nothing}>${name
            ? html`<button @click=${() => step({ sort: by ? name : `-${name}` })}>${text}${
                by < 0 ? "" : icon(by ? "down" : "up")}</button>` : text}</div>`;
    }
    function headRow() {
        const { all, items, selected } = list;
        const whole = all || (selected.size && items.every(({ id }) => !id || selected.has(id)));
        const mixed = selected.size > 0 && !whole;
        return html`<div class="r h" role="row" aria-rowindex="1"><div role="columnheader"
            class="c-chk"><input type="checkbox" class="chk ${mixed ? "mixed" : ""}"
                aria-label="Select the loaded users" .checked=${whole} .indeterminate=${mixed}
                @change=${(event) => choose(list, event.target.checked ? items : [])}></div>
            ${COLUMNS.map(headCell)}</div>`;
    }
    function row(user, at) {
        const on = list.all || list.selected.has(user.id);
        const cells = () => html`<div role="gridcell" class="c-chk"><input type="checkbox"
            class="chk" tabindex="-1" aria-label="Select ${userName(user)}" .checked=${on}
            @change=${() => toggle(user)}></div>
            ${COLUMNS.map(([name, , type, cell]) => html`<div class=${type}
                role=${name === "name" ? "rowheader" : "gridcell"}>${cell(user)}</div>`)}`;
        return html`<div class="r ${at === list.current ? "focus" : ""}" role="row" id="row-${at}"
            aria-rowindex=${at + 2} aria-selected=${on ? "true" : "false"}
            @click=${(event) => clicked(event, user, at)}>${user.id ? cells()
            : html`<div role="gridcell"><span class="sr">Loading</span></div>`}</div>`;
    }
    function clicked({ target }, user, at) {
        list.current = at;
        refresh();
        if (target.matches(".c-chk")) {
            toggle(user);
        } else if (user.id && !target.closest("a, button, input") && !String(getSelection())) {
            go("users", user.id);
        }
    }

    function listView() {
        const { items, error } = list;
        if (error && error.code !== "invalid-filter") {
            return errorPanel(error, () => load(list));
        }
        const none = items && !items.length && !list.loading && !list.next;
        if (!items || none) {
            return error ? "" : none && extra?.none() || skeleton(12);
        }
        const from = Math.max(0, rowAt(list) - BEYOND);
        list.height ||= grid()?.clientHeight || innerHeight;
        const shown = Math.ceil(list.height / tall());
        const rows = items.slice(from, from + shown + 2 * BEYOND);
        return html`<div class="grid ${list.stale ? "stale" : ""}" id="users-grid" role="grid"
            tabindex="0" aria-label="Users" aria-multiselectable="true"
            aria-rowcount=${list.next ? -1 : items.length + 1}
            aria-activedescendant="row-${list.current}" @scroll=${({ target }) => {
                Object.assign(list, { scroll: target.scrollTop, height: target.clientHeight });
                refresh();
            }}>${headRow()}<div class="rows" role="presentation"
            .style=${`height: ${items.length * tall()}px`}><div class="window" role="presentation"
            .style=${`transform: translateY(${from * tall()}px)`}>${
            rows.map((user, i) => row(user, from + i))}</div></div>${list.stale ? "" : html`<div
            role="row"><div role="gridcell">${foot(list)}</div></div>`}</div>`;
    }
    const tools = () => html`<div class="tools">${searchBox({ label: "Search users", value: list.q,
        input: ({ target }) => type({ q: target.value }), enter: does("enter"),
        placeholder: "Name, username or e-mail", down: move(-Infinity) })}
        ${extra?.chips() ?? ""}<button class="btn ghost" id="filter-button" aria-haspopup="dialog"
            @click=${does("open")}>${icon("filter")}Filter<kbd class="d">F</kbd></button>
        <div class="end"><button class="btn ghost" aria-haspopup="menu" @click=${does("sortMenu")}>
            ${icon("sort")}${ORDERS[order(list)] ?? "Order"}</button><button class="btn ghost"
            aria-pressed=${extra?.asText() ? "true" : "false"} @click=${does("text")}>${
                icon("code")}As text</button></div></div>${extra?.editor() ?? ""}`;

    const noun = () => html`<b>${total(list.total)}</b> ${(list.total.total === 1
        ? ["user", "user matches"] : ["users", "users match"])[list.q || list.f ? 1 : 0]}`;
    const timer = setInterval(poll, 5000, list);
    list.items && !list.error ? poll(list) : load(list);

    return {
        title: "Users",
        view: () => html`${pageHead({ title: "Users",
            sub: html`<span class="m">${total(list.total)}</span>`,
            actions: html`${writes ? "" : readsOnly()}<button class="btn" aria-haspopup="menu"
                aria-label="Export" @click=${does("exportMenu")}>${icon("download")}<span
                class="d">Export</span></button>${writes ? html`<a class="btn primary"
                href=${to("users", "new")} aria-label="New user">${icon("plus")}<span
                class="d">New user</span><kbd class="d">C</kbd></a>` : ""}` })}
            ${tools()}${list.changed ? html`<button class="newbar" @click=${() => load(list)}>${
                icon("rotate")}The list has changed. Show it</button>` : ""}${listView()}
            ${list.selected.size && extra ? extra.bar() : ""}
            <div class="status">${list.error ? html`<span>Not live</span>` : list.lost
                ? html`<span>Not live: no answer</span>` : html`<span class="live">Live</span>`
                }<span class="num">${list.error ? "" : noun()}</span><span class="keys"><kbd>J</kbd>
                <kbd>K</kbd> move &nbsp;<kbd>X</kbd> select &nbsp;<kbd>?</kbd> all keys</span>
            </div>`,
        changed: ({ query: { q = "", f = "", sort = "" } }) =>
            (q !== list.q || f !== list.f || sort !== list.sort) && apply({ q, f, sort }),
        close() {
            [timer, waiting].forEach(clearInterval);
            // The rows are kept, and words that were not searched are not.
            Object.assign(list, { q: list.of.q, f: list.of.filter });
        },
        drawn() {
            const box = grid();
            if (box && list.restore) {
                box.scrollTop = list.scroll;
                list.restore = false;
            }
            // A page may be empty although more match: then read on, 5 times. Measuring is slow.
            const left = list.items?.length * tall() - list.scroll - list.height;
            if (box && !list.stale && !list.moreError
                && (list.empty ? list.empty % 5 : !list.examined && left < 800)) {
                list.more();
            }
            const many = list.items?.length > 3000;
            if (list.f || list.selected.size || many || list.items?.length === 0) {
                need().then((more) => many && more.hold(), () => undefined);
            }
        },
        acts: async () => (await need()).acts(), keys: {
            "/": () => document.getElementById("search")?.focus(),
            j: move(1), ArrowDown: move(1), k: move(-1), ArrowUp: move(-1), Home: move(-Infinity),
            End: move(Infinity), x: () => toggle(), f: does("open"),
            Escape: () => choose(list, []), s: does("act", "toggle"), "#": does("act", "delete"),
            " ": () => document.activeElement?.id === "users-grid" && toggle(),
            Enter: ({ target }) => (target.closest("a, button") || !current()?.id ? false
                : go("users", current().id)),
        },
    };
}
