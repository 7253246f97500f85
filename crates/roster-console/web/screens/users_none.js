// What the list of users shows when it has no rows.
import { html } from "../vendor/lit-html/lit-html.js";
import { can } from "../caller.js";
import { to } from "../page.js";
import { icon } from "../ui/icons.js";
import { emptyState } from "../ui/parts.js";

/** @param {boolean} limited whether there is a search or a filter */
export const noUsers = (limited) => (limited ? emptyState({ icon: "search", title:
    "No user matches",
    text: "Search finds the beginnings of words in names, usernames and addresses.",
    action: html`<a class="btn" href=${to("users")}>Show all users</a>` })
    : emptyState({ icon: "users", title: "There are no users yet",
        text: "Make the first one, or import a CSV file of the users that you have.",
        action: can("users:write") ? html`<div class="row center"><a class="btn primary"
            href=${to("users", "new")}>${icon("plus")}New user</a>
            <a class="btn" href=${to("import")}>${icon("upload")}Import</a></div>` : "" }));
