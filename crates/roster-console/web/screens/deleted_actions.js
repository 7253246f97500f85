// Restore and purge a deleted user.
import { html } from "../vendor/lit-html/lit-html.js";
import { asProblem, del, get, newKey, post } from "../api.js";
import { to, toast } from "../page.js";
import { label, userName } from "../texts.js";
import { confirm } from "../ui/confirm.js";
import { dialog } from "../ui/dialog.js";
import { errorPanel } from "../ui/parts.js";

/** How long until it is erased: words, and whether that is soon.
 * @param {string | undefined} time @param {Date} [now] */
export function daysLeft(time, now = new Date()) {
    if (!time) {
        return { text: "Kept", soon: false };
    }
    const hours = (new Date(time).getTime() - now.getTime()) / 3600000;
    const days = Math.floor(hours / 24);
    const text = hours <= 0 ? "Any moment" : days >= 2 ? `${days} days`
        : hours >= 24 ? "1 day" : hours >= 1 ? `${Math.floor(hours)} h` : "Under 1 h";
    return { text, soon: days < 3 };
}

/** Restore with the groups. @param {any} user @returns {Promise<boolean>} */
export async function restore(user) {
    const name = userName(user);
    try {
        await post(`/deleted-users/${user.id}/restore`, undefined, { query: { groups: true },
            headers: { "Idempotency-Key": newKey() } });
    } catch (error) {
        const problem = asProblem(error);
        if (problem.status === 409) {
            await showHolder(user, problem);
        } else {
            toast(problem.status === 404 ?
                `${name} is not here any more: restored or erased by now.`
                : `${name} was not restored: ${problem.detail || problem.title}`, { kind: "bad" });
        }
        return problem.status === 404;
    }
    toast(/** @type {any} */ (html`<bdi>${name}</bdi> restored, with the groups that still exist.
        <a class="link" href=${to("users", user.id)}>Open</a>`));
    return true;
}

const BY = /** @type {Record<string, (user: any) => Record<string, string>>} */ ({
    "/username": (user) => ({ username: user.username }),
    "/email": (user) => ({ email: user.email }),
    "/emails": (user) => ({ email: user.email }),
    "/external_id": (user) => ({ external_id: user.external_id }),
});

/** Who has the name or the address now. @param {any} user @param {import("../api.js").Problem}
 * problem */
async function showHolder(user, problem) {
    const taken = [];
    for (const { pointer = "", detail } of problem.errors) {
        const query = BY[pointer]?.(user);
        let holder;
        try {
            holder = query ? (await get("/users", { query: { ...query, limit: 1 } })).data.items[0]
                : undefined;
        } catch {
            // The dialog says it without a link.
        }
        taken.push({ member: label(pointer.slice(1)), detail, holder });
    }
    const name = userName(user);
    await dialog({
        title: `${name} cannot be restored yet`,
        lead: () => "Another user has what must be unique. Nothing was changed.",
        body: (close) => (taken.length ? html`<dl class="facts">${taken.map(({ member, detail,
            holder }) =>
            html`<dt>${member}</dt><dd>${holder ? html`is that of <a class="link"
                href=${to("users", holder.id)}
                    @click=${() => close()}><bdi>${userName(holder)}</bdi></a>`
                : detail}</dd>`)}</dl>
            <p>Change or delete that user, then restore this one. Roster keeps this one until then,
                or until
            it is erased.</p>` : errorPanel(problem)),
        actions: (close) => html`<div class="sp"><button type="button" class="btn primary" autofocus
            @click=${() => close()}>Close</button></div>`,
    });
}

/** Erase for good. @param {any} user @returns {Promise<boolean>} */
export async function purge(user) {
    const name = userName(user);
    const sure = await confirm({ title: `Erase ${name} for good?`, danger: true, action: "Erase",
        type: user.username || user.id,
        text: html`<p>The record, and the records in all events of this user, are erased at once.
            <strong>This cannot be undone.</strong></p>
            <p>The log keeps the id of the user, and for each change its time, who made it, its
                kind, its
            version, the id of the request, and the names of the members that changed: no values.
                Backups
            that were made before still have the person.</p>` });
    if (!sure) {
        return false;
    }
    try {
        await del(`/deleted-users/${user.id}`, { version: user.version });
        toast(`${name} was erased`);
        return true;
    } catch (error) {
        const problem = asProblem(error);
        toast(problem.status === 404 ? `${name} is not here any more: restored or erased by now.`
            : problem.status === 412 ?
                `${name} was not erased: the record changed just now. Look again.`
                : `${name} was not erased: ${problem.detail || problem.title}`, { kind: "bad" });
        return problem.status === 404;
    }
}
