// Export what the list shows, or the selected users. The download needs the header of the session,
// so
// it is read by the page and then saved.
import { asProblem, send, textLines } from "../api.js";
import { toast } from "../page.js";
import { count } from "../texts.js";

const IDS_MAX = 100;

/** @param {import("./users_list.js").List} list @param {"csv" | "ndjson"} kind
 * @param {string[]} [ids] only these users */
export async function exportUsers(list, kind, ids) {
    const type = kind === "csv" ? "text/csv" : "application/x-ndjson";
    /** @type {string[]} */
    const lines = [];
    try {
        const parts = ids ? Array.from({ length: Math.ceil(ids.length / IDS_MAX) }, (_, i) =>
            ids.slice(i * IDS_MAX, (i + 1) * IDS_MAX)) : [undefined];
        for (const [at, id] of parts.entries()) {
            const response = await send("GET", "/bulk/users", { headers: { Accept: type },
                query: id ? { id } : { q: list.q, filter: list.f } });
            let first = kind === "csv" && at > 0; // one head is enough
            for await (const line of textLines(response)) {
                if (line && !first) {
                    lines.push(`${line}\n`);
                }
                first = false;
            }
        }
    } catch (error) {
        toast(`The export failed: ${asProblem(error).detail || asProblem(error).title}`,
            { kind: "bad" });
        return;
    }
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(lines, { type }));
    link.download = `users-${new Date().toISOString().slice(0, 10)}.${kind}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    toast(`${count(ids?.length ?? lines.length - (kind === "csv" ? 1 : 0), "user")} exported`);
}
