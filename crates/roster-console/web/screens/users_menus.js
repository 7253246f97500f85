// The menus of the list of users: of a row, of the order, of the export.
import { to } from "../page.js";
import { userName } from "../texts.js";
import { openMenu } from "../ui/menu.js";
import { exportUsers } from "./users_export.js";
import { WORDS } from "./users.js";
import { order } from "./users_list.js";

/** @typedef {{list: import("./users_list.js").List, user: any, writes: boolean,
 *   act: (what: any, some: any[]) => unknown, step: (next: any) => unknown}} Parts */

/** @param {HTMLElement} button @param {Parts} parts */
export function rowMenu(button, { user, act, writes }) {
    const off = user.status === "suspended";
    openMenu(button, `More for ${userName(user)}`, [
        { text: "Open", icon: "user", href: to("users", user.id) },
        { text: "Copy the id", icon: "copy", run: () => navigator.clipboard.writeText(user.id) },
        ...(writes ? [null,
            { text: off ? "Activate" : "Suspend", icon: /** @type {"play"} */ (off ? "play" :
                "pause"),
                run: () => act("toggle", [user]) },
            { text: "Delete", icon: /** @type {"trash"} */ ("trash"), danger: true,
                run: () => act("delete", [user]) }] : [])]);
}

/** @param {HTMLElement} button @param {Parts} parts */
export const sortMenu = (button, { list, step }) => openMenu(button, "Order",
    Object.keys(WORDS).map((sort) => ({ text: WORDS[sort], checked: order(list) === sort,
        run: () => step({ sort }) })));

/** @param {HTMLElement} button @param {Parts} parts */
export const exportMenu = (button, { list }) => openMenu(button, "Export", [
    { text: "CSV, for spreadsheets", run: () => exportUsers(list, "csv") },
    { text: "NDJSON, exact, for programs", run: () => exportUsers(list, "ndjson") }]);
