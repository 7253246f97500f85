// Names of callers: the change log has "key:ID"; people know the name of the key.
import { get, url } from "./api.js";
import { caller, can } from "./caller.js";
import { refresh } from "./page.js";

const NAMES = { anonymous: "Somebody on this machine", system: "Roster",
    "roster:expiry": "Roster, at its end" };
/** The names of each tenant. */
const known = {};
/** When they were asked for: a key may be newer. */
const asked = {};
export const actors = () => known[url("")] ?? NAMES;

/** The name of an actor; its id until the names of the keys are known. */
export function actorName(actor = "") {
    if (actor.startsWith("key:") && !actors()[actor] && can("keys:admin")
        && Date.now() - (asked[url("")] ?? 0) > 10_000) {
        const names = known[url("")] = { ...actors() };
        asked[url("")] = Date.now();
        get("/keys", { query: { limit: 1000 }, quiet: true }).then(({ data }) => {
            data.items.forEach(({ id, name }) => {
                names[`key:${id}`] = name;
            });
            refresh();
        }, () => undefined);
    }
    return actors()[actor] ?? (isMine(actor) && caller().name || actor);
}

export const isMine = (actor) => actor === caller().actor;
