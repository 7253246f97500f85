// Sign in, renew and sign out. The cookie is the other half; the browser sends it by itself.
import { getSession, request, setSession, url } from "./api.js";

const PATH = "/console/session";

const forget = () => request("DELETE", PATH, { service: true, quiet: true });

/** A key or a token without what is copied with it: quotation marks, and what cannot be seen. */
export const plainCredential = (text) => text.replace(/\p{Cf}/gu, "").trim()
    .replace(/^["'`„‚\p{Pi}\p{Pf}]+|["'`\p{Pi}\p{Pf}]+$/gu, "").trim();

/** A key or a token for a tenant alone signs in below that tenant. The session of before stays
 * until there is another one: other requests go to its tenant. `refuse(session)` says why the page
 * cannot take this one, which the browser then forgets. */
export async function openSession(credential, tenant = "", refuse = (_) => "") {
    const below = tenant && `/tenants/${encodeURIComponent(tenant)}`;
    const plain = plainCredential(credential);
    const [odd] = plain.match(/[^ -~]/u) ?? [];
    if (odd) {
        throw new Error(`It has the character “${odd}”, which no key or token has. Copy it again`);
    }
    // A session cannot begin another one, so its proof is left out.
    const { data } = await request("POST", below + PATH, { quiet: true, service: true,
        headers: { Authorization: `Bearer ${plain}`, "Roster-Console": "" } });
    const why = refuse(data);
    if (why) {
        await forget();
        throw new Error(why);
    }
    setSession(data);
}

/** Put the end of the session off. A failure shows with the next request. */
export const renew = () =>
    request("PUT", PATH, { service: !getSession().tenant }).catch(() => undefined);

/** Sign out here, and load the page again so that nothing of it stays in memory. */
export const signOut = () => forget().finally(() => {
    setSession(null);
    location.href = url("/console", {}, true);
    location.reload();
});
