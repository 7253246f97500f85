// Requests to the API of the service that serves this page.
import { caller } from "./caller.js";
import { here } from "./page.js";
import { parseJson, toJson } from "./texts.js";

export const base = document.querySelector("meta[name=roster-base]").getAttribute("content");
const STORE = `roster-console:${base}`;

/** The proof of a session, its end and its tenant. The cookie is the other half. */
let session = JSON.parse(localStorage.getItem(STORE));
export const getSession = () => session;
/** Keep the proof of a session, or forget it with null. */
export function setSession(next) {
    session = next;
    localStorage.setItem(STORE, JSON.stringify(next));
}

/** An answer that is no success; members as in docs/errors.md. */
export class Problem extends Error {
    constructor(status, data, headers = new Headers()) {
        const { title = "The service did not answer as expected", detail = "", code = "",
            errors = [], request_id: requestId = headers.get("x-request-id") } = data ?? {};
        super(detail || title);
        Object.assign(this, { status, title, detail, code, errors, requestId,
            retryAfter: Number(headers.get("retry-after")) });
    }
}

/** Of a part of the page that was not loaded, in the words of each browser. */
const NOT_LOADED = /imported module|module script/i;

/** A problem from any error. @returns {any} */
export const asProblem = (error) => (error instanceof Problem ? error
    : new Problem(0, NOT_LOADED.test(error?.message)
        ? { title: "Roster was updated", detail: "Reload the page to go on." }
        : error instanceof TypeError && /fetch|network|load/i.test(error.message)
        ? { title: "No connection to the service",
            detail: "The service cannot be reached. Check your network, then try again." }
        : { title: "The page has a fault", detail: String(error?.message ?? error) }));

/** The faults of a problem by their pointer or parameter: {"/email": "Write an address ..."}. */
export function faultsOf(problem) {
    const faults = Object.create(null);
    for (const { pointer, parameter, column, code, detail } of problem.errors) {
        // The service says only "choose another username".
        const text = code === "username-taken" ? `the username is taken: ${detail}` : detail;
        faults[pointer ?? parameter ?? column ?? ""] ??= text[0].toUpperCase() + text.slice(1);
    }
    return faults;
}

/** The same, after it was asked whether the service has other files now, or does not answer. */
export const problemOf = async (error) => (!NOT_LOADED.test(error?.message) ? asProblem(error)
    : send("GET", "/livez", { service: true, quiet: true })
        .then(() => asProblem(error), asProblem));

/** `ask` is called after a 401 of a signed-in page, and resolves after a new sign-in; `taken` after
 * another tab has signed in. */
export const sessionEnd = { ask: null, taken: null };

/** A new idempotency key. */
export const newKey = () => `console-${crypto.getRandomValues(new Uint32Array(3)).join("")}`;

/** The URL of a path of the API, in the tenant of the session, or `of` another. */
export function url(path, query = {}, service = false, of = here().tenant) {
    const tenant = session?.tenant ?? of;
    const search = new URLSearchParams(Object.entries(query).flatMap(([name, value]) =>
        [value].flat().filter((one) => (one ?? "") !== "").map((one) => [name, one])));
    const own = `/tenants/${encodeURIComponent(tenant)}`;
    // A console below the base URL of its tenant needs no further prefix.
    const prefix = tenant && !service && !base.endsWith(own) ? own : "";
    return base + prefix + path + (search.size ? `?${search}` : "");
}

/** Send a request and return the response; a failure is a Problem. After a 401 of a signed-in page
 * the user signs in again, and it is sent once more. `body` is JSON, `lines` are NDJSON; `service`:
 * of no tenant; `tenant`: of this one, if the page may be in another by then, else of the one in
 * the fragment; `quiet`: no sign-in. */
export async function send(method, path, /** @type {any} */ options = {}) {
    const { query, body, lines, version, ifNone, signal, service, quiet, tenant } = options;
    const address = url(path, query, service, tenant);
    let used = session;
    const type = lines === undefined ? "application/json" : "application/x-ndjson";
    const ask = () => fetch(address, { method, signal, body: lines ?? toJson(body),
        headers: Object.entries({ Accept: `${type}, */*;q=0.5`, "X-Request-Id": newKey(),
            "Roster-Console": session?.proof, "If-None-Match": ifNone,
            "Content-Type": (lines ?? body) === undefined ? undefined : type,
            "If-Match": version && `"${version}"`, ...options.headers })
            .filter(([, value]) => value) });
    let response = await ask();
    const kept = response.status === 401 && caller() && JSON.parse(localStorage.getItem(STORE));
    if (kept && kept.proof !== session?.proof && kept.tenant === session?.tenant) {
        // Another tab has signed in.
        session = used = kept;
        await sessionEnd.taken();
        response = await ask();
    }
    // Without a session the service was open, until somebody made the first key.
    if (response.status === 401 && caller() && !quiet) {
        await ((!session || session === used) && sessionEnd.ask());
        response = await ask();
    }
    if (!response.ok && response.status !== 304) {
        const data = isJson(response) && await response.json();
        throw new Problem(response.status, data, response.headers);
    }
    return response;
}

const isJson = (response) => response.headers.get("content-type")?.includes("json");

export async function request(method, path, /** @type {any} */ options = {}) {
    const response = await send(method, path, options);
    const text = await response.text();
    return { status: response.status, data: text && isJson(response) ? parseJson(text) : null,
        etag: response.headers.get("etag"), position: response.headers.get("roster-position") };
}

const without = (method) => (path, options = {}) => request(method, path, options);
const withBody = (method, headers = {}) => (path, body = undefined, options = {}) =>
    request(method, path, { headers, ...options, body });

export const [get, del] = ["GET", "DELETE"].map(without);
export const [post, put] = ["POST", "PUT"].map((method) => withBody(method));
export const patch = withBody("PATCH", { "Content-Type": "application/merge-patch+json" });

/** The lines of a streamed response, as they arrive. */
export async function* textLines(response) {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
        const parts = (rest + next.value).split("\n");
        rest = parts.pop();
        yield* parts;
    }
    yield rest;
}

/** The JSON texts of an NDJSON response, as they arrive. */
export async function* jsonLines(response) {
    for await (const line of textLines(response)) {
        if (line.trim()) {
            yield parseJson(line);
        }
    }
}
