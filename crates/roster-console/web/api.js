// Requests to the API of the service that serves this page.
import { here } from "./page.js";

export const base = document.querySelector("meta[name=roster-base]")
    ?.getAttribute("content") ?? "";
const STORE = `roster-console:${base}`;

/** @typedef {{proof: string, ends_at?: string, idle_s?: number, tenant?: string}} Session */
/** @typedef {{pointer?: string, parameter?: string, column?: string, code: string,
 *   detail: string, position?: number}} Fault */
/** @typedef {{query?: Record<string, any>, body?: unknown, lines?: string, etag?: string,
 *   version?: number, ifNone?: string, headers?: Record<string, string>, signal?: AbortSignal,
 *   service?: boolean, quiet?: boolean}} Options */
/** @typedef {{status: number, data: any, etag: string, position: string, headers: Headers}} Answer
 * */

/** @type {Session | null} */
let session = read();

/** @returns {Session | null} */
function read() {
    try {
        return JSON.parse(localStorage.getItem(STORE) ?? "null");
    } catch {
        return null;
    }
}

export const getSession = () => session;

/** Keep the proof of a session, or forget it. @param {Session | null} next */
export function setSession(next) {
    session = next;
    if (next) {
        localStorage.setItem(STORE, JSON.stringify(next));
    } else {
        localStorage.removeItem(STORE);
    }
}

/** An answer that is no success; members as in docs/errors.md. */
export class Problem extends Error {
    /** @param {number} status @param {any} data @param {Headers} [headers] */
    constructor(status, data, headers) {
        super(data?.detail ?? data?.title ?? `status ${status}`);
        this.status = status;
        /** @type {string} */
        this.code = data?.code ?? "";
        /** @type {string} */
        this.title = data?.title ?? "The service did not answer as expected";
        /** @type {string} */
        this.detail = data?.detail ?? "";
        /** @type {Fault[]} */
        this.errors = data?.errors ?? [];
        this.more = data?.more ?? 0;
        /** @type {string} */
        this.requestId = data?.request_id ?? headers?.get("x-request-id") ?? "";
        /** Seconds to wait before a retry. */
        this.retryAfter = Number(headers?.get("retry-after")) || 0;
    }
}

/** A problem from any error, for an error panel. @param {any} error @returns {Problem} */
export function asProblem(error) {
    if (error instanceof Problem) {
        return error;
    }
    const network = error instanceof TypeError && /fetch|network|load/i.test(error.message);
    return new Problem(0, network
        ? { title: "No connection to the service", code: "no-connection",
            detail: "The request got no response. Check your network, then try again." }
        : { title: "The page has a fault", detail: String(error?.message ?? error) });
}

/** Whether an error only says that a request was given up. @param {any} error */
export const isAbort = (error) => error?.name === "AbortError";

/** Called after a 401 of a signed-in page; resolves after a new sign-in. */
let signInAgain = () => /** @type {Promise<void>} */ (Promise.reject(new Error("no sign-in")));

/** @param {() => Promise<void>} ask */
export const onSessionEnd = (ask) => {
    signInAgain = ask;
};

const random = () => [...crypto.getRandomValues(new Uint8Array(9))]
    .map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** A new idempotency key. One for each thing that the user wants once. */
export const newKey = () => `console-${random()}`;

/** The URL of a path of the API, in the tenant of the session or of the fragment.
 * @param {string} path @param {Record<string, any>} [query] @param {boolean} [service] */
export function url(path, query = {}, service = false) {
    const tenant = session?.tenant ?? here().tenant;
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
        for (const one of Array.isArray(value) ? value : [value]) {
            if (one !== undefined && one !== null && one !== "") {
                search.append(name, String(one));
            }
        }
    }
    const tail = search.toString();
    const own = `/tenants/${encodeURIComponent(tenant)}`;
    // A console below the base URL of its tenant needs no further prefix.
    const prefix = tenant && !service && !base.endsWith(own) ? own : "";
    return `${base}${prefix}${path}${tail ? `?${tail}` : ""}`;
}

/** @param {string} method @param {Options} options @returns {RequestInit} */
function init(method, { body, lines, etag, version, ifNone, headers = {}, signal }) {
    const all = new Headers({ Accept: "application/json, */*;q=0.5", "X-Request-Id": newKey() });
    if (session) {
        all.set("Roster-Console", session.proof);
    }
    if (body !== undefined) {
        all.set("Content-Type", "application/json");
    }
    if (lines !== undefined) {
        all.set("Accept", "application/x-ndjson, */*;q=0.5");
        all.set("Content-Type", "application/x-ndjson");
    }
    const tag = etag ?? (version === undefined ? undefined : `"${version}"`);
    if (tag) {
        all.set("If-Match", tag);
    }
    if (ifNone) {
        all.set("If-None-Match", ifNone);
    }
    for (const [name, value] of Object.entries(headers)) {
        all.set(name, value);
    }
    return { method, headers: all, signal, credentials: "same-origin",
        body: lines ?? (body === undefined ? undefined : JSON.stringify(body)) };
}

/**
 * Send a request and return the response; a failure is a Problem. After a 401 of a signed-in page
 * the user signs in again over the page, and the request is sent once more.
 * @param {string} method @param {string} path @param {Options} [options]
 * @returns {Promise<Response>}
 */
export async function send(method, path, options = {}) {
    const address = url(path, options.query, options.service);
    let response = await fetch(address, init(method, options));
    if (response.status === 401 && session && !options.quiet) {
        await signInAgain();
        response = await fetch(address, init(method, options));
    }
    if (response.ok || response.status === 304) {
        return response;
    }
    const json = response.headers.get("content-type")?.includes("json");
    throw new Problem(response.status, json ? await response.json() : null, response.headers);
}

/**
 * Send a request and read the JSON of the answer.
 * @param {string} method @param {string} path @param {Options} [options] @returns {Promise<Answer>}
 */
export async function request(method, path, options) {
    const response = await send(method, path, options);
    const text = await response.text();
    const json = response.headers.get("content-type")?.includes("json") && text;
    return { status: response.status, data: json ? JSON.parse(text) : null,
        etag: response.headers.get("etag") ?? "",
        position: response.headers.get("roster-position") ?? "", headers: response.headers };
}

/** @param {string} path @param {Options} [options] */
export const get = (path, options) => request("GET", path, options);
/** @param {string} path @param {unknown} [body] @param {Options} [options] */
export const post = (path, body, options) => request("POST", path, { ...options, body });
/** @param {string} path @param {unknown} [body] @param {Options} [options] */
export const put = (path, body, options) => request("PUT", path, { ...options, body });
/** A merge patch. @param {string} path @param {unknown} body @param {Options} [options] */
export const patch = (path, body, options) => request("PATCH", path, {
    ...options, body, headers: { "Content-Type": "application/merge-patch+json",
        ...options?.headers } });
/** @param {string} path @param {Options} [options] */
export const del = (path, options) => request("DELETE", path, options);

/** The lines of a streamed response, as they arrive. @param {Response} response */
export async function* textLines(response) {
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
        const { value, done } = await reader?.read() ?? { done: true };
        const parts = (rest + (value ?? "")).split("\n");
        rest = done ? "" : /** @type {string} */ (parts.pop());
        yield* parts;
        if (done) {
            return;
        }
    }
}

/** The JSON texts of an NDJSON response, as they arrive. @param {Response} response
 * @returns {AsyncGenerator<any>} */
export async function* jsonLines(response) {
    for await (const line of textLines(response)) {
        if (line.trim()) {
            yield JSON.parse(line);
        }
    }
}
