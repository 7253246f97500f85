// What the list of users needs later. Undo uses the versions of the results: it never overwrites a
// later change.
import { html } from "../vendor/lit-html/lit-html.js";
import { get, jsonLines, post, send } from "../api.js";
import { byteToIndex, formatChips, opWords, parseChips, suggestion } from "../filter_chips.js";
import { refresh, toast } from "../page.js";
import { count, date, label, number, total, userName, valueText } from "../texts.js";
import { confirm, download } from "../ui/confirm.js";
import { attempt } from "../ui/data.js";
import { field, select } from "../ui/fields.js";
import { icon } from "../ui/icons.js";
import { openMenu, place } from "../ui/menu.js";
import { changeRows, choose, load, order, ORDERS, query, rowAt } from "./users.js";

const WORDS = { active: ["Activate", "activated", "You can undo this."],
    suspended: ["Suspend", "suspended", "Applications decide what it means. You can undo this."],
    delete: ["Delete", "deleted", "They leave their groups, and their usernames become free. For "
        + "some time you can restore them under Deleted users."] };
let progress = "";

function say(text) {
    progress = text;
    refresh();
}
const told = (work, failed) => attempt(work, failed).finally(() => say(""));

export function usersExtra({ list, apply, step, writes, current }) {
    let held = null;
    let bringing = false;

    /** Change all that match, those selected, or the row of the keyboard. */
    const act = (_, what) => writes && told(async () => {
        const chosen = list.all ? await found() : list.selected.size ? [...list.selected.values()]
            : [current()].filter((user) => user?.id);
        const goal = what !== "toggle" ? what
            : chosen.every(({ status }) => status === "suspended") ? "active" : "suspended";
        const [word, done, text] = WORDS[goal];
        const users = chosen.filter(({ status }) => status !== goal);
        const danger = goal === "delete";
        if (!users.length) {
            toast(chosen.length ? `Already ${done}` : "No user is selected");
        } else if (users.length <= (danger ? 1 : 100) || await confirm({ danger, text,
            title: `${word} ${count(users.length, "user")}?`,
            action: `${word} ${number(users.length)}`,
            type: users.length > 100 ? String(users.length) : undefined })) {
            await change(users, goal);
        }
    }, "Not done");
    async function found() {
        const users = [];
        for await (const user of jsonLines(await send("GET", "/bulk/users",
            { query: { q: list.q, filter: list.f, fields: "username,status" } }))) {
            users.push(user);
        }
        return users;
    }
    async function change(users, goal, undoes) {
        const good = new Map();
        const bad = [];
        const gone = goal === "delete";
        const lines = users.map(({ id, version }) => JSON.stringify({ id, version,
            status: gone ? undefined : goal })).join("\n");
        const answer = await send(gone ? "DELETE" : "PATCH", "/bulk/users", { lines });
        for await (const one of jsonLines(answer)) {
            if (one.status < 300) {
                good.set(one.id, one);
            } else if (one.line) {
                bad.push(one);
            }
            if (one.line % 100 === 0) {
                say(`${number(one.line)} of ${number(users.length)} done`);
            }
        }
        changeRows(list, (user) => (!good.has(user.id) ? user : gone ? null
            : { ...user, status: goal, version: good.get(user.id).version,
                updated_at: new Date().toISOString() }));
        list.all &&= !gone;
        const name = good.size === 1 && !undoes
            ? userName(users.find(({ id }) => good.has(id))) : count(good.size, "user");
        const undo = () => told(() => (gone ? restore([...good.keys()]) : change(
            [...good.values()], goal === "active" ? "suspended" : "active", true)), "Not undone");
        toast(`${undoes ? `Undone for ${name}` : `${name} ${WORDS[goal][1]}`}${bad.length ? `. ${
            count(bad.length, "user was", "users were")} not changed: ${bad[0].problem.detail}`
            : ""}`, { kind: bad.length ? "bad" : "ok", undo: good.size && !undoes && undo,
            stays: good.size > 1 && !undoes });
    }
    async function restore(ids) {
        for (const id of ids) {
            await post(`/deleted-users/${id}/restore`, undefined, { query: { groups: true } });
        }
        toast(`${count(ids.length, "user")} restored`);
        await load(list);
    }

    /** Export some users, or all that match. A link could not send the header of the session. */
    const save = (kind, ids = [""]) => attempt(async () => {
        const type = kind === "csv" ? "text/csv" : "application/x-ndjson";
        const pieces = [];
        for (let at = 0; at < ids.length; at += 100) {
            const response = await send("GET", "/bulk/users", { headers: { Accept: type },
                query: ids[0] ? { id: ids.slice(at, at + 100) } : { q: list.q, filter: list.f } });
            pieces.push(kind === "csv" && at
                ? (await response.text()).replace(/^[^\n]*\n/, "") : await response.blob());
        }
        const name = `users-${new Date().toISOString().slice(0, 10)}.${kind}`;
        download(name, pieces, type);
        toast(`Exported as ${name}`);
    }, "The export failed");

    function bar() {
        const all = total(list.total);
        const button = (text, name, run, kind = "") => html`<button class="btn ghost ${kind}"
            @click=${run}>${icon(name)}${text}</button>`;
        return html`<div class="bulk" role="toolbar" aria-label="Selected users">
            <span class="what" role="status">${progress || (list.all ? `All ${all} selected`
                : `${number(list.selected.size)} selected`)}</span>
            ${list.all || !all || list.selected.size >= list.total.total ? "" : html`<button
                class="link all" @click=${() => choose(list, list.items, true)}>Select all ${all}
                </button>`}
            ${writes ? html`${button("Suspend", "pause", () => act(0, "suspended"))}
                ${button("Activate", "play", () => act(0, "active"))}` : ""}
            ${button("Export", "download", () => save("csv",
                list.all ? undefined : [...list.selected.keys()]))}
            ${writes ? button("Delete", "trash", () => act(0, "delete"), "danger") : ""}
            <button class="btn ghost icon" aria-label="Clear the selection"
                @click=${() => choose(list, [])}>${icon("x")}</button></div>`;
    }
    const sortMenu = (at) => openMenu(at, "Order", Object.entries(ORDERS).map(([sort, text]) =>
        ({ text, checked: order(list) === sort, run: () => step({ sort }) })));
    const exportMenu = (at) => openMenu(at, "Export", [
        { text: "CSV, for spreadsheets", run: () => save("csv") },
        { text: "NDJSON, exact, for programs", run: () => save("ndjson") }]);

    /** Keep the users near the window and on the first page. Elsewhere the page stands in place of
     * its users, which are read again when they come near. */
    async function hold() {
        const at = rowAt(list);
        if (held !== list.items) {
            const pageOf = (one) => one.page ?? one;
            const near = new Set([list.items[0],
                ...list.items.slice(Math.max(0, at - 1000), at + 1500)].map(pageOf));
            held = list.items.map((one) => (near.has(pageOf(one)) ? one : pageOf(one)));
            list.items = held;
        }
        const page = list.items.slice(Math.max(0, at - 8), at + 60).find(({ id }) => !id);
        if (!page || bringing || list.stale) {
            return;
        }
        bringing = true;
        try {
            const { data } = await get("/users",
                { query: { ...query(list), cursor: page.cursor } });
            const [from, end] = [list.items.indexOf(page), list.items.lastIndexOf(page) + 1];
            const users = data.items.slice(0, end - from);
            if (end) {
                users.forEach((user) => Object.assign(user, { page }));
                list.items = list.items.toSpliced(from, end - from, ...users);
                list.changed ||= users.at(-1)?.id !== page.last;
            }
            refresh();
        } catch (error) {
            // The next poll tries again, unless the cursor is void.
            list.changed ||= error.status === 400;
        }
        bringing = false;
    }
    return { ...usersFilter(list, apply, step), act, bar, sortMenu, exportMenu, hold };
}

const KINDS = { text: { ops: ["eq", "ne", "sw", "co", "pr", "none"] },
    status: { ops: ["eq", "ne"], options: [["active", "Active"], ["suspended", "Suspended"]] },
    boolean: { ops: ["eq"], options: [["true", "Yes"], ["false", "No"]], read: JSON.parse },
    time: { ops: ["gt", "lt", "pr", "none"], input: "date",
        read: (text) => new Date(text).toISOString() },
    number: { ops: ["eq", "gt", "lt", "pr", "none"], input: "number", read: Number } };
const TYPES = { status: "status", department: "", title: "", email: "", name: "", family_name: "",
    username: "", "groups.display": "", organization: "", external_id: "", locale: "",
    zoneinfo: "", email_verified: "boolean", updated_at: "time", created_at: "time",
    expires_at: "time" };

const nameText = (name) => (name === "groups.display" ? "Group" : label(name));
const element = (id) => document.getElementById(id);

function usersFilter(list, apply, step) {
    const types = { ...TYPES };
    const kindOf = (name) => KINDS[types[name]] ?? KINDS.text;
    get("/schema").then(({ data }) => data.attributes?.forEach(({ name, type }) => {
        types[`attributes.${name}`] = { integer: "number", date_time: "time" }[type] ?? type;
    })).catch(() => undefined);
    const draft = { name: "department", op: "eq", value: "" };
    let asText = false;
    let waiting = 0;

    function set(next) {
        Object.assign(draft, next);
        refresh();
    }
    function open() {
        const pop = element("filter-pop");
        pop.showPopover();
        place(pop, element("filter-button"));
        pop.querySelector("select").focus();
    }
    function add(event) {
        event.preventDefault();
        element("filter-pop").hidePopover();
        const { name, op, value } = draft;
        const { read = String, options } = kindOf(name);
        const chip = op === "none" ? { name, op: "eq", values: [null] }
            : { name, op, values: op === "pr" ? [] : [read(value)] };
        const chips = parseChips(list.f);
        const same = op === "eq" && chips?.find((one) => one.name === name && one.op === op
            && one.values[0] !== null);
        same ? same.values.push(...chip.values) : chips?.push(chip);
        set({ value: options ? value : "" });
        step({ f: chips ? formatChips(chips) : `(${list.f}) and ${formatChips([chip])}` });
    }
    function popView() {
        const { name, op, value } = draft;
        const { ops, options, input } = kindOf(name);
        const part = { id: "filter-value", label: "Value", value, required: true, type: input,
            options, onChange: (text) => set({ value: text }),
            onInput: (text) => set({ value: text }) };
        return html`<div class="pop" id="filter-pop" popover role="dialog"
            aria-label="Add a filter"><form @submit=${add}>
            ${select({ id: "filter-name", label: "Field", value: name,
                options: Object.keys(types).map((one) => [one, nameText(one)]),
                onChange: (one) => set({ name: one, op: kindOf(one).ops[0],
                    value: kindOf(one).options?.[0][0] ?? "" }) })}
            ${select({ id: "filter-op", label: "Test", value: op,
                options: ops.map((one) => [one,
                    opWords(one, one === "none" ? null : "")]),
                onChange: (one) => set({ op: one }) })}
            ${["pr", "none"].includes(op) ? "" : options ? select(part) : field(part)}
            <div class="row"><div class="sp"><button class="btn primary">Add</button></div></div>
            </form></div>`;
    }

    const chip = (inner, name, rest) => html`<div class="chip">${inner}<button
        aria-label="Remove the filter ${name}" @click=${() => step({ f: rest })}>${icon("x")}
        </button></div>`;
    function chips() {
        const all = parseChips(list.f);
        return html`${popView()}${all?.map((one) => {
            const name = nameText(one.name);
            const values = one.values.map((value) => (/^\d{4}-\d\d-\d\dT/.test(value) ? date(value)
                : valueText(value))).join(", ");
            return chip(html`<span>${name}</span><span class="op">${opWords(one.op, one.values[0])}
                </span>${values ? html`<span class="v"><bdi class="cut">${values}</bdi></span>`
                : ""}`, name, formatChips(all.filter((other) => other !== one)));
        }) ?? chip(html`<span class="v"><span class="cut">${list.f}</span></span>`, "", "")}`;
    }

    async function text() {
        asText = !asText;
        refresh();
        await Promise.resolve();
        element("filter-text")?.focus();
    }
    function typed(event) {
        list.f = event.target.value.replaceAll("\n", " ");
        clearTimeout(waiting);
        waiting = window.setTimeout(apply, 400);
        refresh();
    }
    function fault({ detail, position }) {
        const [f, at] = [list.f, byteToIndex(list.f, position)];
        const better = suggestion(detail);
        return [html`<div class="ed" aria-hidden="true">${f.slice(0, at)}<mark>${f.slice(at)
            || " "}</mark></div>`, html`<div class="say">${icon("alert")}<span>${detail}
            </span>${better ? html`<button class="link" @click=${() => apply({ f: f.slice(0, at)
                + f.slice(at).replace(/^[\w.]+/, better) })}>Use ${better}</button>` : ""}</div>`];
    }
    function editor() {
        const { f, error } = list;
        const wrong = error?.code === "invalid-filter";
        const [marked, said] = wrong ? fault(error.errors[0]) : ["", html`<div class="hint">
            Members, eq ne co sw ew gt ge lt le pr, and, or, not. Texts and times in double
            quotation marks.</div>`];
        return asText || wrong ? html`<div class="rawbox"><div class="raw ${wrong ? "er" : ""}">
            <div class="lay">${marked}<textarea id="filter-text" aria-label="Filter as text"
                spellcheck="false" .value=${f} rows=${Math.ceil((f.length + 1) / 110)}
                aria-invalid=${wrong ? "true" : "false"} aria-describedby="filter-say"
                placeholder='status eq "active" and family_name sw "Love"' @input=${typed}
                ></textarea></div><div id="filter-say" role="status">${said}</div></div></div>`
            : "";
    }
    return { open, text, chips, editor, asText: () => asText };
}
