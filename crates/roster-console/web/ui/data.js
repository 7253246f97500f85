// What a screen reads from the API: one value, or a list page by page. And what it writes.
import { html } from "../vendor/lit-html/lit-html.js";
import { asProblem, faultsOf, get, problemOf } from "../api.js";
import { refresh, toast } from "../page.js";
import { number } from "../texts.js";

/** A value that is read now, on `load`, and every `every` ms while the page can be seen. */
export function reading(read, { every = 0 } = {}) {
    let stop = new AbortController();
    const one = { value: undefined, error: null, busy: false,
        async load() {
            stop.abort();
            const { signal } = stop = new AbortController();
            one.busy = true;
            const next = await read(signal).then((value) => ({ value, error: null }),
                // What is shown stays, unless it is gone.
                (error) => (one.value === undefined || error.status === 404 ? { error } : {}));
            if (!signal.aborted) {
                Object.assign(one, next, { busy: false });
                refresh();
            }
        },
        close() {
            stop.abort();
            clearInterval(timer);
        } };
    const timer = every && setInterval(() =>
        document.hidden || one.busy || one.error || one.load(), every);
    one.load();
    return one;
}

/** A list that is read page by page, with `query()`; `added(items, position)` follows. */
export function pages(path, query, { size = 50, added = undefined } = {}) {
    let stop = new AbortController();
    const list = { items: null, next: null, total: {}, examined: 0, loading: false, error: null,
        moreError: null,
        load(least = 0) {
            stop.abort();
            stop = new AbortController();
            return read("", Math.min(1000, Math.max(size, least)));
        },
        more: () => (list.loading || !list.next ? undefined : read(list.next, size)),
        close: () => stop.abort() };

    async function read(cursor, limit) {
        const { signal } = stop;
        Object.assign(list, { loading: true, moreError: null });
        refresh();
        try {
            const { data, position } = await get(path,
                { signal, query: { ...query(), limit, cursor } });
            const before = cursor ? list : { items: [], examined: 0, total: data };
            Object.assign(list, { error: null, next: data.next_cursor, total: before.total,
                items: [...before.items, ...data.items],
                examined: data.examined && before.examined + data.examined });
            added?.(data.items, position);
        } catch (error) {
            list[cursor ? "moreError" : "error"] = signal.aborted ? null : error;
        }
        list.loading &&= signal.aborted;
        refresh();
    }
    return list;
}

export const foot = ({ moreError, next, more, loading, examined }) => (moreError
    ? html`<div class="foot" role="alert">${asProblem(moreError).title}
        <button class="link" @click=${more}>Retry</button></div>`
    : next ? html`<div class="foot">${examined ? `${number(examined)} searched so far.` : ""}
        <button class="btn" ?disabled=${loading} @click=${more}>${loading ? "Loading…"
            : examined ? "Search on" : "Load more"}</button></div>` : "");

/** Why not: the first fault says more than how many there are. */
export const reason = (error, problem = asProblem(error)) =>
    Object.values(faultsOf(problem))[0] || problem.detail || problem.title;

/** Do a write and return what it returns, or true. A failure is said: `failed`, then the reason. */
export async function attempt(work, failed = "Not done") {
    try {
        return await work() ?? true;
    } catch (caught) {
        const error = await problemOf(caught);
        toast(`${failed}: ${{ 404: "it is not there any more.",
            412: "somebody changed it just now. Look at it, then try again." }[error.status]
            ?? reason(error)}`, { kind: "bad" });
    }
}

/** `width` at a time. */
export async function each(items, width, work) {
    const left = items.values();
    await Promise.all(Array.from({ length: width }, async () => {
        for (const item of left) {
            await work(item);
        }
    }));
}
