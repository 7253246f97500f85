// The list of users: search, filter, selection, and as many rows in the page as fit the window.
import { html } from "../vendor/lit-html/lit-html.js";
import { can } from "../caller.js";
import { go, here, loadStyles, refresh, setQuery, to } from "../page.js";
import { number, total } from "../texts.js";
import { icon } from "../ui/icons.js";
import { errorPanel, listFoot, noScope, pageHead, searchBox, skeleton, statusBar, userRow,
    usersHead } from "../ui/parts.js";
import { setCount } from "../ui/shell.js";
import { load, more, openList, order, poll, rows, size } from "./users_list.js";

/** @typedef {import("./users_list.js").User} User */

/** The orders of the list. */
export const WORDS = /** @type {Record<string, string>} */ ({
    "-updated_at": "Changed last", "-created_at": "Newest", created_at: "Oldest",
    name: "Name, A to Z",
    "-name": "Name, Z to A", family_name: "Family name", username: "Username, A to Z",
    "-username": "Username, Z to A", email: "E-mail", expires_at: "Ends first",
});
const phone = matchMedia("(max-width: 760px)");
const fits = () => (phone.matches ? 60 : 40);

/** @param {import("../route.js").Route} route */
export default function users(route) {
    if (!can("users:read")) {
        return { title: "Users", view: () => html`${pageHead({ title: "Users" })}
            ${noScope("users:read", "read users")}` };
    }
    const list = openList(route.query);
    const writes = can("users:write");
    let filter = /** @type {any} */ (null); // users_filter.js, once a filter is shown or made
    let bulk = /** @type {any} */ (null); // users_bulk.js, once something is selected
    let waiting = 0;
    let restore = true;
    const grid = () => document.getElementById("users-grid");

    const needFilter = async () => {
        filter ??= (await import("./users_filter.js")).usersFilter(() => list, apply);
        refresh();
        return filter;
    };
    const needBulk = async () => {
        [bulk] = await Promise.all([import("./users_bulk.js"), loadStyles("screens.css")]);
        refresh();
        return bulk;
    };

    /** Read the list with other conditions.
     * @param {{q?: string, f?: string, sort?: string}} next */
    function apply(next) {
        Object.assign(list, next);
        setQuery({ q: list.q, f: list.f, sort: list.sort });
        return load(list);
    }

    /** A step for Back, except while typing. @param {{f?: string, sort?: string}} next */
    const step = (next) => go("users", { q: list.q, f: list.f, sort: list.sort, ...next });

    function search(/** @type {InputEvent} */ event) {
        list.q = /** @type {HTMLInputElement} */ (event.target).value;
        clearTimeout(waiting);
        waiting = window.setTimeout(() => apply({}), 120);
    }

    /** @param {number} at */
    function moveTo(at) {
        list.current = Math.max(0, Math.min(size(list) - 1, at));
        const box = grid();
        if (box) {
            const head = phone.matches ? 0 : 32;
            const top = list.current * fits();
            box.scrollTop = Math.min(Math.max(box.scrollTop, top + fits() + head
                - box.clientHeight), top);
            box.focus({ preventScroll: true });
        }
        refresh();
    }

    /** @param {User} user @param {boolean} [on] */
    function select(user, on = !list.selected.has(user.id)) {
        list.all = false;
        on ? list.selected.set(user.id, user) : list.selected.delete(user.id);
        needBulk();
        refresh();
    }

    const current = () => rows(list, list.current, list.current + 1)[0];

    /** Act on the selection, or on the row of the keyboard.
     * @param {"suspended" | "active" | "delete" | "toggle"} what @param {User[]} [some] */
    async function act(what, some) {
        const chosen = some ?? (list.selected.size ? [...list.selected.values()]
            : [current()].filter((one) => one !== null && one !== undefined));
        if (!writes || (!chosen.length && !list.all)) {
            return;
        }
        const module = await needBulk();
        const goal = what === "toggle"
            ? chosen.every((user) => user.status === "suspended") ? "active" : "suspended" : what;
        const all = list.all && !some;
        await (goal === "delete" ? module.deleteUsers(list, chosen, all)
            : module.setStatus(list, chosen, goal, all));
    }

    /** Menus are loaded when one opens. @param {string} name @param {User} [user] */
    const menu = (name, user) => async (/** @type {Event} */ event) => {
        event.stopPropagation();
        const button = /** @type {HTMLElement} */ (event.currentTarget);
        (await import("./users_menus.js"))[/** @type {"rowMenu"} */ (name)](button,
            /** @type {any} */ ({ list, user, act, step, writes }));
    };

    /** @param {boolean} on */
    function selectLoaded(on) {
        list.selected.clear();
        list.all = false;
        if (on) {
            rows(list, 0, size(list)).forEach((user) => user && select(user, true));
        }
        refresh();
    }

    const headRow = () => usersHead({ order: order(list), sort: (sort) => step({ sort }),
        some: list.selected.size > 0, whole: list.all || list.selected.size >= size(list),
        all: writes || list.selected.size ? selectLoaded : null });

    /** @param {User | null} user @param {number} at */
    const row = (user, at) => userRow(user, at, {
        on: list.all || list.selected.has(user?.id ?? ""), current: at === list.current,
        click: (/** @type {MouseEvent} */ event) => user && rowClick(event, user, at),
        select: (/** @type {boolean} */ on) => user && select(user, on),
        menu: user ? menu("rowMenu", user) : () => undefined,
    });

    /** @param {MouseEvent} event @param {User} user @param {number} at */
    function rowClick(event, user, at) {
        const target = /** @type {HTMLElement} */ (event.target);
        if (list.current !== at) {
            list.current = at;
            refresh();
        }
        if (!target.closest("a, button, input, .c-chk") && !getSelection()?.toString()) {
            go("users", user.id);
        } else if (target.matches(".c-chk")) {
            select(user);
        }
    }

    /** Only the rows near the window are in the page. */
    function rowsView() {
        const tall = grid()?.clientHeight || innerHeight;
        const from = Math.max(0, Math.floor(list.scroll / fits()) - 8);
        const to = Math.min(size(list), from + Math.ceil(tall / fits()) + 16);
        return rows(list, from, to).map((user, i) => row(user, from + i));
    }

    const foot = () => listFoot({ error: list.moreError, more: () => more(list),
        searched: list.next && !list.loading ? list.examined : 0,
        loading: list.loading && list.pages.length > 0 });

    /** @type {((limited: boolean) => unknown) | null} */
    let none = null;
    function noneView() {
        if (!none) {
            Promise.all([import("./users_none.js"), loadStyles("screens.css")]).then(([module]) => {
                none = module.noUsers;
                refresh();
            });
        }
        return none?.(Boolean(list.q || list.f)) ?? "";
    }

    function listView() {
        if (list.error && list.error.code !== "invalid-filter") {
            return errorPanel(list.error, () => load(list));
        }
        if (!list.pages.length) {
            return list.error ? "" : skeleton(12);
        }
        if (!size(list) && !list.loading && !list.next) {
            return noneView();
        }
        const stale = list.error || (list.stale && list.loading);
        return html`
            <div class="grid ${stale ? "stale" : ""}" id="users-grid" role="grid" tabindex="0"
                aria-label="Users" aria-rowcount=${list.next ? -1 : size(list) + 1}
                aria-multiselectable="true" aria-activedescendant="row-${list.current}"
                @scroll=${scrolled}>
                ${headRow()}<div class="rows" role="presentation"><div class="window"
                    role="presentation">${rowsView()}</div></div>${foot()}
            </div>`;
    }

    function scrolled(/** @type {Event} */ event) {
        const box = /** @type {HTMLElement} */ (event.currentTarget);
        list.scroll = box.scrollTop;
        if (box.scrollTop + box.clientHeight > size(list) * fits() - 800 && !list.examined) {
            more(list);
        }
        refresh();
    }

    const tools = () => html`
        <div class="tools">${searchBox({ label: "Search users", value: list.q, input: search,
            placeholder: "Name, username or e-mail", down: () => moveTo(0) })}
            ${filter?.chips() ?? ""}
            <button class="btn ghost" id="filter-button" aria-haspopup="dialog"
                @click=${async () => (await needFilter()).open()}>${icon("filter")}Filter<kbd
                class="d">F</kbd></button>
            <div class="end"><button class="btn ghost" aria-haspopup="menu"
                @click=${menu("sortMenu")}>
                ${icon("sort")}${WORDS[order(list)] ?? "Order"}</button>
                <button class="btn ghost d" aria-pressed=${filter?.asText() ? "true" : "false"}
                    @click=${async () => (await needFilter()).text()}>${icon("code")}As
                        text</button></div>
        </div>${filter?.editor() ?? ""}`;

    const heads = () => pageHead({ title: "Users",
        sub: html`<span class="m">${total({ total: list.total, total_relation: list.relation
            })}</span>`,
        actions: html`${writes ? "" : html`<span class="badge plain">Reads only</span>`}
            <button class="btn" aria-haspopup="menu" aria-label="Export"
                @click=${menu("exportMenu")}>${
    icon("download")}<span class="d">Export</span></button>
            ${writes ? html`<a class="btn primary" href=${to("users", "new")} aria-label="New user">
                ${icon("plus")}<span class="d">New user</span><kbd class="d">C</kbd></a>` : ""}` });

    const status = () => statusBar(html`<b>${total({ total: list.total,
        total_relation: list.relation }) || number(size(list))}</b>
        ${list.q || list.f ? "users match" : "users"}`);

    const timer = setInterval(() => poll(list), 5000);
    const ticking = setInterval(refresh, 30000); // "2 min" becomes "3 min"
    list.f && needFilter();
    list.selected.size && needBulk();
    list.pages.length ? poll(list) : load(list);

    return {
        title: "Users",
        view: () => html`${heads()}${tools()}${list.changed ? html`<button class="newbar"
            @click=${() => load(list)}>${icon("sync")}The list has changed. Show it</button>` : ""}
            ${listView()}${bulk && (list.selected.size || list.all)
            ? bulk.bar(list, act, writes) : ""}${status()}`,
        changed(/** @type {import("../route.js").Route} */ { query }) {
            const { q = "", f = "", sort = "" } = query;
            if (q !== list.q || f !== list.f || sort !== list.sort) {
                if (f) {
                    needFilter();
                }
                return apply({ q, f, sort });
            }
        },
        close() {
            clearInterval(timer);
            clearInterval(ticking);
            clearTimeout(waiting);
        },
        drawn() {
            const box = grid();
            if (!box) {
                return;
            }
            const from = Math.max(0, Math.floor(list.scroll / fits()) - 8);
            const inner = /** @type {HTMLElement} */ (box.querySelector(".rows"));
            inner.style.height = `${size(list) * fits()}px`;
            /** @type {HTMLElement} */ (inner.firstElementChild).style.transform =
                `translateY(${from * fits()}px)`;
            if (restore) {
                restore = false;
                box.scrollTop = list.scroll;
            } else if (list.scroll === 0 && box.scrollTop && !list.loading && !list.current) {
                box.scrollTop = 0;
            }
            if (!here().tenant && !list.q && !list.f && list.total !== undefined) {
                setCount("users", number(list.total));
            }
        },
        keys: {
            "/": () => document.getElementById("search")?.focus(),
            j: () => moveTo(list.current + 1), k: () => moveTo(list.current - 1),
            ArrowDown: () => moveTo(list.current + 1), ArrowUp: () => moveTo(list.current - 1),
            Home: () => moveTo(0), End: () => moveTo(size(list) - 1),
            x: () => current() && select(/** @type {User} */ (current())),
            " ": () => document.activeElement?.id === "users-grid" && current()
                && select(/** @type {User} */ (current())),
            Enter(/** @type {KeyboardEvent} */ event) {
                const user = current();
                if (/** @type {HTMLElement} */ (event.target).closest("a, button") || !user) {
                    return false;
                }
                go("users", user.id);
            },
            f: async () => (await needFilter()).open(),
            s: () => act("toggle"), "#": () => act("delete"),
            Escape: () => selectLoaded(false),
        },
    };
}
