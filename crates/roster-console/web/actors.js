// Names of callers: the change log has "key:ID"; people know the name of the key.
import { get } from "./api.js";
import { can, caller } from "./caller.js";
import { refresh } from "./page.js";

/** @type {Map<string, string> | null} */
let known = null;

const FIXED = /** @type {Record<string, string>} */ ({
    anonymous: "Somebody on this machine", system: "Roster", "roster:expiry": "Roster, at its end",
});

async function read() {
    known = new Map();
    try {
        const { data } = await get("/keys", { query: { limit: 1000 }, quiet: true });
        known = new Map(data.items.map((/** @type {any} */ key) => [`key:${key.id}`, key.name]));
        refresh();
    } catch {
        // Ids are shown in place of names.
    }
}

/** The name of an actor. @param {string | undefined} actor */
export function actorName(actor = "") {
    if (actor.startsWith("key:") && !known && can("keys:admin")) {
        read();
    }
    const own = actor === caller().actor ? caller().name : undefined;
    return FIXED[actor] ?? known?.get(actor) ?? own ?? actor;
}

/** Whether the caller of this page did it. @param {string | undefined} actor */
export const isMine = (actor) => actor === caller().actor;
