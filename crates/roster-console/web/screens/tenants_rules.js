// Names of tenants. Pure functions.

/** A name made of the words for people: "Acme Ltd." -> "acme-ltd". @param {string} text */
export const suggestName = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase()
    .replace(/[^a-z0-9]+/g, "-").slice(0, 63).replace(/^-+|-+$/g, "");

/** Tenants of a list that a search finds. @param {string} text */
export const findTenants = (tenants, text) => tenants.filter((one) =>
    [one.name, one.display_name, one.external_id].some((value) =>
        value?.toLowerCase().includes(text.trim().toLowerCase())));
