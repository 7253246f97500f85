// Sign in, renew and sign out. The cookie is the other half; the browser sends it by itself.
import { getSession, request, setSession, url } from "./api.js";

const PATH = "/console/session";

/** A key or a token for a tenant alone signs in below that tenant. */
export async function openSession(credential, tenant = "") {
    setSession(null);
    const below = tenant && `/tenants/${encodeURIComponent(tenant)}`;
    setSession((await request("POST", below + PATH, { quiet: true, service: true,
        headers: { Authorization: `Bearer ${credential.trim()}` } })).data);
}

/** Put the end of the session off. A failure shows with the next request. */
export const renew = () =>
    request("PUT", PATH, { service: !getSession().tenant }).catch(() => undefined);

/** Sign out here, and load the page again so that nothing of it stays in memory. */
export const signOut = () => request("DELETE", PATH, { service: true, quiet: true }).finally(() => {
    setSession(null);
    location.href = url("/console", {}, true);
    location.reload();
});
