// Sign in, renew and sign out. The cookie is the other half; the browser sends it by itself.
import { getSession, request, setSession, url } from "./api.js";

/** Sign in with a key or a token; one for a tenant alone signs in below that tenant.
 * @param {string} credential @param {string} [tenant] */
export async function openSession(credential, tenant) {
    setSession(null);
    const below = tenant ? `/tenants/${encodeURIComponent(tenant)}` : "";
    const { data } = await request("POST", `${below}/console/session`, {
        headers: { Authorization: `Bearer ${credential.trim()}` }, quiet: true, service: true });
    setSession(data);
}

/** Put the end of the session off. A failure shows with the next request. */
export async function renew() {
    const session = getSession();
    try {
        const { data } = await request("PUT", "/console/session",
            { service: !session?.tenant });
        if (session && data) {
            setSession({ ...session, ends_at: data.ends_at, idle_s: data.idle_s });
        }
    } catch {
        // The next request says what is wrong.
    }
}

/** Sign out here, and load the page again so that nothing of it stays in memory. */
export async function signOut() {
    try {
        await request("DELETE", "/console/session", { service: true, quiet: true });
    } finally {
        setSession(null);
        location.href = url("/console", {}, true);
        location.reload();
    }
}
