// The list of users as data: pages by cursor, polling, selection. Kept while a user is open, so
// that
// Back shows the same rows.
import { get, isAbort } from "../api.js";
import { here, refresh } from "../page.js";

/** @typedef {Record<string, any>} User */
/** A page of the list; `items` is null while the page is put away.
 * @typedef {{cursor: string, items: User[] | null, size: number, asked?: boolean}} Page */

export const PAGE = 100;
const KEPT_MAX = 3000;
const FIELDS = "username,name,given_name,family_name,display_name,email,email_verified,status,"
    + "department,updated_at";

/** @param {{q?: string, f?: string, sort?: string}} query */
export function makeList({ q = "", f = "", sort = "" }) {
    return {
        tenant: here().tenant, q, f, sort,
        /** @type {Page[]} */ pages: [],
        /** @type {string | null} */ next: "",
        /** @type {number | undefined} */ total: undefined, relation: "",
        loading: false, stale: false, changed: false, own: false, etag: "",
        error: /** @type {any} */ (null), moreError: /** @type {any} */ (null),
        examined: 0, current: 0, scroll: 0,
        /** @type {Map<string, User>} */ selected: new Map(), all: false,
        /** @type {AbortController | null} */ stop: null,
    };
}

/** @typedef {ReturnType<typeof makeList>} List */

/** @type {List | null} */
let kept = null;

/** The list that was shown last, if it has the same conditions; otherwise a new one.
 * @param {{q?: string, f?: string, sort?: string}} query */
export function openList(query) {
    const { q = "", f = "", sort = "" } = query;
    if (kept && kept.tenant === here().tenant && kept.q === q && kept.f === f && kept.sort === sort)
        {
        kept.stop = null;
        return kept;
    }
    kept = makeList(query);
    return kept;
}

/** The order that is asked for. A search has the order of its index if none is chosen: it is
 * much faster than sorting all that match. @param {List} list */
export const order = (list) => list.sort || (list.q ? "" : "-updated_at");

/** @param {List} list */
const query = (list) => ({ limit: PAGE, q: list.q, filter: list.f, sort: order(list), fields: FIELDS
    });

/** @param {List} list */
export const size = (list) => list.pages.reduce((sum, page) => sum + page.size, 0);

/** Read the list from its start. Rows of before stay, grey, until the answer.
 * @param {List} list */
export async function load(list) {
    list.stop?.abort();
    const stop = new AbortController();
    Object.assign(list, { stop, loading: true, stale: list.pages.length > 0, error: null,
        moreError: null });
    refresh();
    try {
        const answer = await get("/users", { query: { ...query(list), count: true },
            signal: stop.signal });
        take(list, answer);
        list.loading = false;
        if (!answer.data.items.length && list.next) {
            await more(list);
        }
    } catch (error) {
        if (isAbort(error)) {
            return;
        }
        list.loading = false;
        list.error = error;
    }
    refresh();
}

/** @param {List} list @param {import("../api.js").Answer} answer */
function take(list, { data, etag }) {
    Object.assign(list, { pages: [{ cursor: "", items: data.items, size: data.items.length }],
        next: data.next_cursor, total: data.total, relation: data.total_relation ?? "", etag,
        stale: false, changed: false, own: false, scroll: 0, current: 0,
        examined: data.examined ?? 0, all: false });
    list.selected.clear();
}

/** Read the next page. A page may be empty although more users match: then read on, 5 times.
 * @param {List} list */
export async function more(list) {
    if (list.loading || !list.next || list.stale) {
        return;
    }
    const signal = list.stop?.signal;
    list.loading = true;
    list.moreError = null;
    refresh();
    try {
        for (let tries = 0; tries < 5 && list.next; tries += 1) {
            const cursor = list.next;
            const { data } = await get("/users", { query: { ...query(list), cursor }, signal });
            list.next = data.next_cursor;
            list.examined += data.examined ?? 0;
            if (data.items.length) {
                list.pages.push({ cursor, items: data.items, size: data.items.length });
                break;
            }
        }
    } catch (error) {
        if (isAbort(error)) {
            return;
        }
        list.moreError = error;
    }
    list.loading = false;
    refresh();
}

/** The rows from one number to another; a page that was put away is read again.
 * @param {List} list @param {number} from @param {number} to @returns {(User | null)[]} */
export function rows(list, from, to) {
    const found = [];
    let at = 0;
    for (const page of list.pages) {
        const [first, last] = [Math.max(from, at), Math.min(to, at + page.size)];
        if (first < last && !page.items) {
            readAgain(list, page);
        }
        for (let i = first; i < last; i += 1) {
            found.push(page.items?.[i - at] ?? null);
        }
        at += page.size;
    }
    putAway(list, from);
    return found;
}

/** @param {List} list @param {Page} page */
async function readAgain(list, page) {
    if (page.asked) {
        return;
    }
    page.asked = true;
    try {
        const { data } = await get("/users", {
            query: { ...query(list), cursor: page.cursor }, signal: list.stop?.signal });
        page.items = data.items.slice(0, page.size);
    } catch (error) {
        list.moreError = isAbort(error) ? null : error;
    }
    page.asked = false;
    refresh();
}

/** Keep at most 3,000 records: put the pages away that are farthest from what is shown.
 * @param {List} list @param {number} from */
function putAway(list, from) {
    let held = 0;
    let at = 0;
    const near = list.pages.map((page) => {
        const far = Math.abs(at + page.size / 2 - from);
        at += page.size;
        held += page.items ? page.size : 0;
        return { page, far };
    });
    if (held > KEPT_MAX) {
        near.filter(({ page }) => page.items).sort((a, b) => b.far - a.far).forEach(({ page }) => {
            if (held > KEPT_MAX) {
                page.items = null;
                held -= page.size;
            }
        });
    }
}

/** Ask whether the first page is another one now. Rows never move by themselves.
 * @param {List} list */
export async function poll(list) {
    if (document.hidden || list.loading || list.error || !list.etag) {
        return;
    }
    try {
        const { status, data, etag } = await get("/users", { ifNone: list.etag,
            query: { ...query(list), count: true }, signal: list.stop?.signal });
        if (status === 304) {
            return;
        }
        list.etag = etag;
        const first = list.pages[0]?.items ?? [];
        const key = (/** @type {User} */ user) => `${user.id} ${user.version}`;
        const same = data.items.map(key).join() === first.map(key).join();
        list.changed ||= !same && !list.own;
        list.own = false;
        list.total = data.total;
        refresh();
    } catch {
        // The next poll tries again; a 401 has opened the sign-in.
    }
}

/** Change the loaded rows after a write of this page, without moving them.
 * @param {List} list @param {(user: User) => User | null} change null removes the row */
export function changeRows(list, change) {
    list.own = true;
    for (const page of list.pages) {
        if (page.items) {
            page.items = page.items.map(change).filter((one) => one !== null);
            const gone = page.size - page.items.length;
            page.size = page.items.length;
            list.total = list.total === undefined ? undefined : list.total - gone;
        }
    }
    for (const [id, user] of list.selected) {
        const next = change(user);
        next ? list.selected.set(id, next) : list.selected.delete(id);
    }
    refresh();
}

/** A user was changed on its own page. @param {User | null} user @param {string} id */
export function changeKept(user, id) {
    if (kept) {
        changeRows(kept, (one) => (one.id === id ? user && { ...one, ...user } : one));
    }
}

/** The users before and after one in the list that was shown last. @param {string} id */
export function neighbours(id) {
    const all = kept?.tenant === here().tenant ? kept.pages.flatMap((page) =>
        page.items ?? Array.from({ length: page.size }, () => null)) : [];
    const at = all.findIndex((user) => user?.id === id);
    if (!kept || at < 0) {
        return null;
    }
    const { q, f, sort, total, relation } = kept;
    return { at, total, relation, query: { q, f, sort }, before: all[at - 1], after: all[at + 1] };
}
