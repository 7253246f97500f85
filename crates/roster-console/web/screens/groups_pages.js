// A list that is read page by page, and the line below it.
import { html } from "../vendor/lit-html/lit-html.js";
import { get, isAbort } from "../api.js";
import { refresh, setQuery } from "../page.js";
import { number } from "../texts.js";

/** @typedef {ReturnType<typeof pagesOf>} Pages */

/**
 * @param {string} path
 * @param {() => Record<string, any>} query  read anew for each request
 * @param {{size?: number, added?: (items: any[]) => unknown}} [options]
 */
export function pagesOf(path, query, { size = 50, added } = {}) {
    let stop = new AbortController();
    const list = {
        items: /** @type {any[] | null} */ (null), next: /** @type {string | null} */ (null),
        total: /** @type {any} */ ({}), examined: 0, loading: false, error:
            /** @type {any} */ (null),
        moreError: /** @type {any} */ (null),
        /** Read from the start, at least as many as `least`. @param {number} [least] */
        async load(least = 0) {
            stop.abort();
            stop = new AbortController();
            await read("", Math.min(1000, Math.max(size, least)));
        },
        more: () => (list.loading || !list.next ? undefined : read(list.next, size)),
        close: () => stop.abort(),
    };

    /** @param {string} cursor @param {number} limit */
    async function read(cursor, limit) {
        const mine = stop;
        list.loading = true;
        list.moreError = null;
        refresh();
        try {
            const { data } = await get(path, { signal: mine.signal, query: { ...query(), limit,
                cursor } });
            list.items = cursor ? [...list.items ?? [], ...data.items] : data.items;
            list.next = data.next_cursor;
            list.examined = data.examined ? (cursor ? list.examined : 0) + data.examined : 0;
            list.total = cursor ? list.total : data;
            list.error = null;
            added?.(data.items);
        } catch (error) {
            if (isAbort(error)) {
                return;
            }
            cursor ? list.moreError = error : list.error = error;
        }
        list.loading = false;
        refresh();
    }
    return list;
}

/** What the search box and the order of a list do.
 * @param {{q: string, sort: string}} state @param {() => Pages} list */
export function finding(state, list) {
    let waiting = 0;

    /** @param {{q?: string, sort?: string}} next */
    function apply(next) {
        Object.assign(state, next);
        setQuery({ q: state.q, sort: state.sort });
        return list().load();
    }

    function search(/** @type {InputEvent} */ event) {
        state.q = /** @type {HTMLInputElement} */ (event.target).value;
        clearTimeout(waiting);
        waiting = window.setTimeout(() => apply({}), 120);
    }
    return { apply, search, close: () => clearTimeout(waiting) };
}

/** "Load more", or why there is no more. @param {Pages} list @param {string} what as "groups" */
export function foot(list, what) {
    if (list.moreError) {
        return html`<div class="foot" role="alert">${list.moreError.title ??
            `No more ${what} came.`}
            <button class="link" @click=${list.more}>Retry</button></div>`;
    }
    if (!list.next) {
        return "";
    }
    return html`<div class="foot">${list.examined
        ? html`${number(list.examined)} searched so far.` : ""}<button class="btn"
        ?disabled=${list.loading} @click=${list.more}>${list.loading ? "Loading…"
        : list.examined ? "Search on" : "Load more"}</button></div>`;
}

/** Run work on each item, a few at a time. @template T
 * @param {T[]} items @param {number} width @param {(item: T, at: number) => Promise<unknown>} work
 * */
export async function each(items, width, work) {
    let next = 0;
    await Promise.all(Array.from({ length: Math.min(width, items.length) }, async () => {
        while (next < items.length) {
            const at = next++;
            await work(items[at], at);
        }
    }));
}
