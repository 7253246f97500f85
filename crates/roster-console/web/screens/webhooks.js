// The list of webhooks, and one: whether it sends, its last requests, and its settings.
import { html } from "../vendor/lit-html/lit-html.js";
import { actorName } from "../actors.js";
import { del, get, patch, post } from "../api.js";
import { can } from "../caller.js";
import { go, refresh, to, toast } from "../page.js";
import { count, dateTime, fullTime, number } from "../texts.js";
import { confirm } from "../ui/confirm.js";
import { attempt, reading } from "../ui/data.js";
import { checkbox } from "../ui/fields.js";
import { form, formView } from "../ui/form.js";
import { icon } from "../ui/icons.js";
import { listScreen, table } from "../ui/list.js";
import { ago, badge, copyButton, cut, emptyState, mark, note, once } from "../ui/parts.js";
import { facts, recordScreen } from "../ui/record.js";
import { faultsIn, newWebhook, replay, rotate, webhookFields } from "./webhook_form.js";
import { helpText, hostOf, isReceived, lagText, rangeText, resultText, stateOf }
    from "./webhook_text.js";

export default (route) => (!route.parts[0] ? webhooks(route)
    : route.parts[0] === "new" ? newWebhook() : oneWebhook(route));

const needed = { scope: "webhooks:admin", may: "manage webhooks" };
/** Webhooks that need a person come first. */
const urgency = (one) => ["bad", "warn"].indexOf(stateOf(one)[0]) + 1 || 3;

const webhooks = (route) => listScreen({ route, title: "Webhooks", ...needed,
    columns: () => [
        { head: "Name", cell: (one) => html`<a class="nm" href=${to("webhooks", one.id)}>${
            mark("webhook")}${cut(one.name)}</a>` },
        { head: "Host", type: "muted", cell: (one) => cut(hostOf(one.url)) },
        { head: "Status", cell: (one) => badge(...stateOf(one)) },
        { head: "Lag", type: "num", cell: lagText },
        { head: "Failing", type: "muted", cell: ({ failing_since: fails }) => (fails
            ? html`First ${ago(fails)}` : "") }],
    list: () => reading(async (signal) => (await get("/webhooks", { signal })).data.items,
        { every: 5000 }),
    find: (items) => items.toSorted((a, b) => urgency(a) - urgency(b)),
    sub: () => (can("events:read") ? "" : "A new one needs the scope events:read"),
    none: () => ({ icon: "webhook", title: "There are no webhooks yet", text: "A webhook sends "
        + "each change to a URL of yours, in order, signed, and again until it is received." }),
    add: can("events:read") ? { text: "New webhook", run: () => go("webhooks", "new") } : null });

const clock = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit",
    minute: "2-digit", second: "2-digit" });
const copied = (text, label) => copyButton(text, label, html`<bdi class="mono">${text}</bdi>`);

function oneWebhook(route) {
    const [id] = route.parts;
    const path = `/webhooks/${id}`;
    const sends = can("events:read");
    let tested = null;
    let failed = false;

    async function read(signal) {
        const [one, list] = await Promise.all([path, `${path}/deliveries`].map((from) =>
            get(from, { signal })));
        // Types in one order, so that only a choice is a change.
        return { ...one.data, types: one.data.types.sort(), deliveries: list.data.items };
    }
    const settings = form({ writes: sends, read, name: (one) => one.name, check: faultsIn,
        write: async (body, version) => (await patch(path, body, { version })).data,
        saved(one, before) {
            one !== before && toast("Saved");
            screen.load();
        } });

    /** Do something, say what was done, and read again. */
    const act = (work, text) => async () => {
        if (await attempt(work) && text) {
            toast(text);
        }
        screen.load();
    };
    const setStatus = (status, text) => act(() => patch(path, { status }), text);
    // A replay from the same position ends a pause after failures.
    const tryNow = act(() => post(`${path}/replay`, { after: screen.record().position }),
        "The next request is on its way");
    const replayFrom = (from) => act(() => replay(screen.record(), from));
    async function test() {
        tested = { busy: true };
        refresh();
        tested = await attempt(async () => (await post(`${path}/test`)).data, "No test was sent");
        refresh();
    }
    async function remove({ name, url, position, version }) {
        if (await confirm({ title: `Delete ${name}?`, danger: true, type: name,
            action: "Delete the webhook", text: html`<p>Nothing more is sent to <bdi>${url}</bdi>.
                Its secret and deliveries are lost for good.</p><p>A new webhook can go on after its
                position: ${copied(position, "Copy the position")}</p>` })
            && await attempt(() => del(path, { version }), "Not deleted")) {
            settings.discard();
            toast(`${name} is deleted`);
            go("webhooks");
        }
    }

    const button = (text, name, run, type = "") => html`<button class="btn ${type}"
        ?disabled=${tested?.busy} @click=${once(run)}>${icon(name)}${text}</button>`;
    const actions = ({ status }) => [button(tested?.busy ? "Testing…" : "Test", "webhook", test),
        status === "active" ? button("Pause", "pause", setStatus("paused", "Paused"))
            : sends && status !== "stale"
                ? button("Resume", "play", setStatus("active", "Resumed"), "primary") : "",
        sends ? button("Replay", "undo", replayFrom(), status === "stale" ? "primary" : "") : ""];

    function above(one) {
        const { status, failing_since: fails, next_attempt_at: next, deliveries: all } = one;
        const good = tested && isReceived(tested);
        const bad = all.find((each) => !isReceived(each));
        const last = bad ? `The last failure: ${resultText(bad)}. ${helpText(bad)}` : "";
        return html`<div class="above"><div role="status">${tested?.at ? note(good ? "info"
            : "bad", html`<b>The test ${good ? "arrived" : "failed"} in
            ${number(tested.duration_ms)} ms: ${resultText(tested)}.</b> ${good ? ""
            : helpText(tested)}`) : ""}</div>${{
            parked: note("bad", html`<b>Parked: Roster sends nothing more.</b> ${last} Once its
                receiver works, resume it: it goes on at its position.`),
            stale: note("bad", html`<b>Stale: events that it has not sent are no longer in the
                log.</b> Let the receiver read all users again, with <span class="mono">GET
                /bulk/users</span>, then replay after the <span class="mono">Roster-Position</span>
                of that response.`),
            paused: note("info", html`<b>Paused.</b> It keeps its position, and misses nothing as
                long as the log keeps the events.`),
            active: fails && note("warn", html`<b>Failing, first ${ago(fails)}.</b> ${last} ${next
                ? html`Next attempt: ${ago(next)}.` : ""} Later events wait. After 5 days it is
                parked. ${sends ? html`<button class="link" @click=${tryNow}>Try now</button>`
                : ""}`) }[status] || ""}</div>`;
    }

    const columns = [
        { head: "Sent", cell: ({ at }) => html`<time datetime=${at} title=${fullTime(at)}>${
            clock.format(new Date(at))}</time>` },
        { head: "Result", cell: (one) => badge(isReceived(one) ? "ok" : "bad", resultText(one)) },
        { head: "Events", type: "num", cell: (one) => html`${count(one.events, "event")}
            <span class="muted d">${rangeText(one)}</span>` },
        { head: "Attempt", type: "muted", cell: (one) => `No. ${number(one.attempt)}` },
        { head: "Took", type: "end d", cell: (one) => `${number(one.duration_ms)} ms` },
        { head: html`<span class="sr">Actions</span>`, type: "act", cell: (one) => (sends
            ? html`<button class="btn ghost" @click=${replayFrom(one.id)}
                aria-label="Replay from ${rangeText(one)}">Replay from here</button>` : "") }];

    function deliveries({ deliveries: all }) {
        const shown = all.filter((one) => !failed || !isReceived(one));
        return html`<div class="tools">${checkbox({ checked: failed, label: "Only failures",
            onChange(on) {
                failed = on;
                refresh();
            } })}</div>${shown.length ? table(columns, shown) : emptyState({ icon: "webhook",
            title: failed ? "No request failed" : "Nothing was sent yet" })}<div class="foot">Roster
            keeps the last 20 that were received and the last 20 that failed.</div>`;
    }

    const screen = recordScreen({ route, kind: "Webhook", list: "Webhooks", every: 3000, read,
        ...needed, form: settings, formTab: "settings", name: (one) => one.name, actions,
        picture: () => mark("webhook"), badge: (one) => badge(...stateOf(one)),
        sub: (one) => html`<span>${hostOf(one.url)}</span><span>${lagText(one)}</span>`,
        menu: (one) => [
            { text: "New secret", icon: "rotate", run: act(() => rotate(one)) },
            { text: "Changes of this webhook", icon: "activity",
                href: to("activity", { subject: `webhooks/${id}` }) }, null,
            { text: "Delete", icon: "trash", danger: true, run: () => remove(one) }],
        tabs: [["", "Deliveries", (one) => [above(one), deliveries(one)]],
            ["settings", "Settings", (one) => [above(one), formView(settings, "Settings",
                html`${sends ? "" : note("info", "Changes need the scope events:read.")}
                ${webhookFields(settings)}`)]]],
        rail: (one) => facts([["To", copied(one.url, "Copy the URL")],
            ["Events", one.types.join(", ")],
            ["Position", copied(one.position, "Copy the position")],
            ["Two secrets until", dateTime(one.former_secret_until)],
            ["Version", number(one.version)], ["Created", html`${dateTime(one.created_at)},
                by <bdi>${actorName(one.created_by)}</bdi>`], ["Updated", ago(one.updated_at)]]),
        gone: () => ({ icon: "webhook", title: "There is no webhook with this id" }) });
    return screen;
}
