// Names of callers: the change log has "key:ID"; people know the name of the key.
import { get } from "./api.js";
import { caller, can } from "./caller.js";
import { refresh } from "./page.js";

export const NAMES = { anonymous: "Somebody on this machine", system: "Roster",
    "roster:expiry": "Roster, at its end" };
let asked = false;

/** The name of an actor; its id until the names of the keys are known. */
export function actorName(actor = "") {
    if (actor.startsWith("key:") && !asked && can("keys:admin")) {
        asked = true;
        get("/keys", { query: { limit: 1000 }, quiet: true }).then(({ data }) => {
            data.items.forEach(({ id, name }) => Object.assign(NAMES, { [`key:${id}`]: name }));
            refresh();
        }, () => undefined);
    }
    return NAMES[actor] ?? (isMine(actor) && caller().name || actor);
}

export const isMine = (actor) => actor === caller().actor;
