// Writes to a user that are not the form: status, deletion, and taking a save back.
import { asProblem, del, patch, post } from "../api.js";
import { patchOf, valueAt } from "../merge.js";
import { go, toast } from "../page.js";
import { userName } from "../texts.js";
import { changeKept, neighbours } from "./users_list.js";

/** @typedef {Record<string, any>} User */

/** @param {unknown} error */
const tell = (error) => toast(asProblem(error).detail || asProblem(error).title, { kind: "bad" });

/** Suspend or activate, with an undo. @param {User} user
 * @param {{show: (user: User) => void, conflict: () => unknown}} page */
export async function setStatus(user, { show, conflict }) {
    const before = user.status;
    const goal = before === "suspended" ? "active" : "suspended";
    const set = async (/** @type {string} */ status, /** @type {number} */ version) => {
        const { data } = await patch(`/users/${user.id}`, { status }, { version });
        show(data);
        return data.version;
    };
    try {
        const version = await set(goal, user.version);
        toast(`${userName(user)} is ${goal === "active" ? "active again" : "suspended"}`,
            { undo: () => set(before, version).catch(tell) });
    } catch (error) {
        asProblem(error).status === 412 ? await conflict() : tell(error);
    }
}

/** Delete, go to the list, and offer to restore. @param {User} user */
export async function deleteUser(user) {
    const name = userName(user);
    const query = neighbours(user.id)?.query ?? {};
    try {
        await del(`/users/${user.id}`, { version: user.version });
    } catch (error) {
        tell(error);
        return false;
    }
    changeKept(null, user.id);
    // The form may have edits; they are gone with the user.
    queueMicrotask(() => go("users", query));
    toast(`${name} is deleted. Roster keeps the record under Deleted users for some time.`,
        { undo: () => restore(user) });
    return true;
}

/** @param {User} user */
async function restore(user) {
    try {
        await post(`/deleted-users/${user.id}/restore`, undefined, { query: { groups: true } });
        toast(`${userName(user)} is restored`);
        go("users", user.id);
    } catch (error) {
        tell(error);
    }
}

/** Undo of a save: the values of before, if nobody changed the user since.
 * @param {User} now @param {User} before @param {string[]} pointers @param {(user: User) => void}
 * show */
export async function putBack(now, before, pointers, show) {
    const back = new Map(pointers.map((pointer) => [pointer, valueAt(before, pointer)]));
    try {
        const { data } = await patch(`/users/${now.id}`, patchOf(now, back),
            { version: now.version });
        show(data);
        toast("Undone");
    } catch (error) {
        tell(error);
    }
}
