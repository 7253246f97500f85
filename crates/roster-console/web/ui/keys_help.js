// All keys of the page.
import { html } from "../vendor/lit-html/lit-html.js";
import { dialog } from "./dialog.js";
import { modifier } from "./parts.js";

const KEYS = [
    [`${modifier}K`, "jump to a screen, a user or an id"], ["/", "search the list"],
    ["J  K", "next or previous row"], ["X", "select the row"], ["Enter", "open the row"],
    ["F", "filter the list"], ["C", "new user"], ["S", "suspend or activate the selected users"],
    ["#", "delete the selected users"], ["Z", "undo, while the message is shown"],
    ["G then U G D A", "go to users, groups, deleted users, activity"],
    ["G then K W I S", "go to keys, webhooks, import, SCIM"],
    [`${modifier}Enter`, "save"], ["Esc", "close"], ["?", "this list"],
];

export const showKeys = () => dialog({
    title: "Keys",
    body: () => html`<dl class="keylist">${KEYS.map(([key, text]) => html`
        <dt>${key.split(/ {2}| then /).map((one) => one.split(" ").map((part) =>
        html`<kbd>${part}</kbd> `))}</dt><dd>${text}</dd>`)}</dl>`,
    submit: (close) => close(),
    actions: (close) => html`<div class="sp"><button type="submit" class="btn" autofocus
        @click=${() => close()}>Close</button></div>`,
});
