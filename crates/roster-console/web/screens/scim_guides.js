// What to enter at each identity provider, from docs/scim-okta.md, scim-entra.md and
// scim-providers.md. Pure data: a text may have *words* of the provider's pages.

/** A row of values: the field at the provider, and what to enter. `copy` may be copied as it is.
 * @typedef {{field: string, copy?: string, text?: string}} Value */
/** @typedef {{text: string, values?: Value[], code?: string, then?: string[]}} Step */
/** @typedef {{name: string, title: string, keyName: string, tested: string, steps: Step[],
 *   after: string[], test: string}} Guide */

const KEY = "the key from above";

const ONELOGIN = JSON.stringify({
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:User",
        "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"],
    userName: "{$parameters.scimusername}",
    name: { givenName: "{$user.firstname}", familyName: "{$user.lastname}",
        formatted: "{$user.display_name}" },
    emails: [{ value: "{$user.email}", type: "work", primary: true }],
    "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": {
        department: "{$parameters.department}",
        manager: { value: "{$parameters.external_manager_id}" } },
}, null, 2);

const REPLAYED = "The requests that the provider documents were replayed against Roster. The names "
    + "of menus are those of November 2026.";
const READ_ONLY = "These steps follow the provider's public documentation of November 2026. They "
    + "were not tried with the provider.";

/** @type {((scim: string) => Guide)[]} */
const GUIDES = [
    (scim) => ({
        name: "okta", title: "Okta", keyName: "Okta", tested: REPLAYED,
        test: "Test API Credentials or Test Connector Configuration",
        steps: [
            { text: "Open *Applications*, *Browse App Catalog*, search for *SCIM 2.0* "
                + "and add *SCIM 2.0 Test App (OAuth Bearer Token)*. Any sign-on option will do.",
            then: ["Or use a SAML or SWA application of your own: *General*, *App Settings*, "
                + "*Edit*, *Provisioning*: *SCIM*."] },
            { text: "Open *Provisioning*, *Configure API Integration*, *Enable API Integration*. "
                + "In an application of your own: *Provisioning*, *Integration*, *Edit*.",
            values: [
                { field: "Base URL, or SCIM connector base URL", copy: scim },
                { field: "OAuth Bearer Token, or Authorization", text: KEY },
                { field: "Unique identifier field for users", copy: "userName" },
                { field: "Supported provisioning actions", text: "Import New Users and Profile "
                    + "Updates, Push New Users, Push Profile Updates, Push Groups" },
                { field: "Authentication Mode", text: "HTTP Header" }],
            then: ["The catalogue application has the first two fields only."] },
            { text: "Press *Test API Credentials* or *Test Connector "
                + "Configuration*, then *Save*." },
            { text: "Open *Provisioning*, *To App*, *Edit*. Enable *Create Users*, *Update User "
                + "Attributes* and *Deactivate Users*. Leave *Sync Password* off: Roster stores no "
                + "passwords." },
            { text: "Open *Assignments* and assign one person. Look at the user here, then assign "
                + "the others." },
        ],
        after: ["*userName* must be the value by which the users who are here already are found. "
            + "Okta then links them and creates nothing twice.",
        "Remove mappings of what you maintain in Roster: Okta overwrites what it maps.",
        "For groups use *Push Groups*. If the group is here already, choose *Link Group*.",
        "Unassigned people become suspended here. Okta deletes no users."],
    }),
    (scim) => ({
        name: "entra", title: "Entra ID", keyName: "Entra ID", tested: REPLAYED,
        test: "Test Connection",
        steps: [
            { text: "In the Entra admin centre open *Enterprise applications*, *New application*, "
                + "*Create your own application*, *Integrate any other application you don't find "
                + "in the gallery*." },
            { text: "Open *Provisioning*, *New configuration*.",
                values: [{ field: "Tenant URL", copy: `${scim}?aadOptscim062020` },
                    { field: "Secret token", text: KEY }],
                then: ["Do not leave the token empty: Entra would send one of its own. The end of "
                    + "the URL makes Entra send standard requests; it works without it too."] },
            { text: "Press *Test Connection*, then *Create*." },
            { text: "Open *Users and groups* and assign whom Entra shall provision. Only direct "
                + "members of a group count, not those of groups inside it." },
            { text: "Open *Attribute mapping*. Keep the mapping of *active*, or nobody is "
                + "deactivated. Match by *userName*, unless your usernames differ from those of "
                + "Entra. If you match by *externalId*, map *objectId* to it, not "
                    + "*mailNickname*." },
            { text: "Try one person with *Provision on demand*, and look at the user here." },
            { text: "In *Properties*, enter an address for notifications and enable accidental "
                + "deletion prevention. Then *Overview*, *Start provisioning*. Entra repeats it "
                + "about every 40 minutes." },
        ],
        after: ["Roster must be reachable by TLS 1.2, with a certificate of a public "
            + "authority that Microsoft lists. Leave the setting *tls_min* at 1.2.",
        "People who are unassigned become suspended here. People who are deleted for good in Entra "
            + "become deleted users here, and can be restored.",
        "If the key ends, Entra tries less and less often, and stops after four weeks. Then start "
            + "provisioning again with a new key."],
    }),
    (scim) => ({
        name: "onelogin", title: "OneLogin", keyName: "OneLogin", tested: READ_ONLY, test: "Enable",
        steps: [
            { text: "Open *Applications*, *Add App*, *SCIM Provisioner with SAML (SCIM v2 "
                + "Enterprise)*, or *(SCIM v2 Core)* without the enterprise attributes." },
            { text: "Open the tab *Configuration*.",
                values: [{ field: "SCIM Base URL", copy: scim }, { field: "SCIM Bearer Token",
                    text: KEY },
                    { field: "SCIM JSON Template", text: "the text below" },
                    { field: "API Status", text: "Enable, which tests the connection" }],
                code: ONELOGIN },
            { text: "Open the tab *Provisioning*: switch *Enable provisioning* on, and choose "
                + "*Suspend* or *Delete* for users who lose access." },
            { text: "Open the tab *Parameters*: *SCIM Username* is the value to match "
                + "by. For groups, set *Include in User Provisioning*, and in *Rules* "
                    + "say which roles become groups." },
        ],
        after: ["Updates arrive as whole users: attributes that the template lacks are "
            + "cleared here.",
            "Changes wait for approval unless you clear *Require admin approval*."],
    }),
    (scim) => ({
        name: "jumpcloud", title: "JumpCloud", keyName: "JumpCloud", tested: READ_ONLY,
        test: "Test Connection",
        steps: [
            { text: "Open *SSO Applications*, your application (or *Custom Application* "
                + "with *Export users to this app*), *Identity Management*.",
            values: [{ field: "SCIM Version", text: "SCIM 2.0" }, { field: "Base URL", copy: scim },
                { field: "Token Key", text: KEY },
                { field: "Test User Email", text: "an address that no user here has" },
                { field: "Enable management of User Groups and Group Membership",
                    text: "on, if groups are provisioned" }] },
            { text: "Press *Test Connection*, *Activate*, *Save*." },
            { text: "Select groups on the tab *User Groups*: their members are provisioned." },
        ],
        after: ["The test creates a user and a group and deletes both. The user stays among the "
            + "deleted users until it is purged."],
    }),
    (scim) => ({
        name: "pingone", title: "PingOne", keyName: "PingOne", tested: READ_ONLY,
        test: "Test connection",
        steps: [
            { text: "Open *Integrations*, *Provisioning*, *New connection*, *Identity "
                + "Store*, *SCIM Outbound*.",
            values: [{ field: "SCIM base URL", copy: scim }, { field: "Users resource",
                copy: "/Users" },
                { field: "Groups resource", copy: "/Groups" }, { field: "SCIM version",
                    text: "2.0" },
                { field: "Authentication method", text: "OAuth 2 Bearer Token" },
                { field: "OAuth access token", text: KEY },
                { field: "Auth type header", text: "Bearer" },
                { field: "User filter", text: "the attribute to match by, such as userName" },
                { field: "Action on removal", text: "disable or delete" }] },
            { text: "Press *Test connection*. Then create a rule that selects users and, under "
                + "*Groups*, the groups." },
        ],
        after: ["Map one e-mail attribute only. With two, PingOne sends two primary "
            + "addresses, which Roster refuses with 400.",
        "PingOne cannot clear an attribute once it is set, nor change the identifier to match by: "
            + "make another connection then."],
    }),
    (scim) => ({
        name: "pingfederate", title: "PingFederate", keyName: "PingFederate", tested: READ_ONLY,
        test: "",
        steps: [
            { text: "Make an SP connection with outbound provisioning, by the SCIM Provisioner.",
                values: [{ field: "SCIM URL", copy: scim }, { field: "SCIM Version", text: "2.0" },
                    { field: "Authentication Methods", text: "OAuth 2 Bearer Token" },
                    { field: "Access Token", text: KEY },
                    { field: "Unique User Identifier", text: "userName, or workEmail" },
                    { field: "Remove User Action", text: "Disable or Delete" }] },
            { text: "Select PATCH for groups. Otherwise a change of one member sends "
                + "the whole group." },
        ],
        after: ["To change the identifier later, delete the SP connection, restart "
            + "PingFederate, and make it again.",
        "Users who are disabled in the data store are created only with *Provision "
            + "Disabled Users*."],
    }),
    (scim) => ({
        name: "sailpoint", title: "SailPoint", keyName: "SailPoint", tested: READ_ONLY, test: "",
        steps: [
            { text: "In Identity Security Cloud make a source of the type *SCIM 2.0*; in "
                + "IdentityIQ an application of that type.",
            values: [{ field: "Base URL", copy: scim }, { field: "Authentication type",
                text: "API Token" },
                { field: "API token", text: KEY },
                { field: "Filters for accounts and groups", text: "empty, or filters of SCIM" },
                { field: "usePatch", text: "PATCH; a PUT clears what SailPoint does not send" },
                { field: "updateGroupsViaUsers", text: "off" },
                { field: "Non-Compliant Server", text: "off" }] },
            { text: "Define a create profile with *userName*, and with *emails[type eq "
                + "\"work\"]* if you "
                + "need addresses. A SCIM 2.0 source has none." },
        ],
        after: ["SailPoint expects a token that lasts long: note the day on which the key "
            + "ends, or make one that never ends and rotate it."],
    }),
    (scim) => ({
        name: "other", title: "Another", keyName: "Identity provider", test: "",
        tested: "Every provider of SCIM 2.0 (RFC 7643, RFC 7644) with a bearer token can connect.",
        steps: [
            { text: "Enter these values.",
                values: [{ field: "Base URL", copy: scim }, { field: "Version", text: "SCIM 2.0" },
                    { field: "Authentication", text: "a bearer token in the header Authorization" },
                    { field: "Token", text: `${KEY}, from rst_ on` },
                    { field: "Match users by", copy: "userName" }] },
            { text: "Let it send PATCH if you can choose: a PUT clears what the provider "
                + "does not send." },
            { text: "Provision one person first, and look at the user here. Then start for all." },
        ],
        after: ["*active* set to false suspends a user here; DELETE makes it a deleted "
            + "user, which can be restored."],
    }),
];

/** @param {string} scim the base URL of SCIM */
export const guides = (scim) => GUIDES.map((guide) => guide(scim));

/** The parts of a text between stars are words of the provider's pages.
 * @param {string} text @returns {{text: string, strong: boolean}[]} */
export const wordsOf = (text) => text.split("*").map((part, at) =>
    ({ text: part, strong: at % 2 === 1 })).filter((part) => part.text);

/** Why providers cannot reach a URL, or "". @param {string} base */
export function reachFault(base) {
    const { protocol, hostname } = new URL(base);
    if (/^(localhost|.*\.localhost|127\..*|\[::1\])$/.test(hostname)) {
        return "This URL works on this machine only. Give Roster a public name: the "
            + "setting base_url, with https.";
    }
    return protocol === "https:" ? "" : "Providers connect over https only. Set up TLS or "
        + "a proxy, and the setting base_url.";
}

/** What an answer with a status means, and what to do. @type {[string, string][]} */
export const FAULTS = [
    ["401", "The key is wrong, has ended or was revoked. Enter the whole key, from rst_ on."],
    ["403", "The key lacks the scope scim, or the setting scim_filter_guard is on: remove it. A "
        + "suspended tenant refuses all its keys with 403 too."],
    ["404 everywhere", "The base URL lacks /scim/v2, or is that of another tenant. Copy it again."],
    ["404 on one id", "The user or group was deleted here. Restore the user, which "
        + "keeps its id, or let the provider make it again."],
    ["409", "The username, address or group name is taken. Match the user who is here instead of "
        + "making one. If users share addresses, run roster policy set email-uniqueness none."],
    ["400", "A value is too long, a filter has an unknown attribute, or a member of a "
        + "group is not here yet. Read the detail in the provider's log. Provision users "
            + "before groups."],
    ["428", "The settings put_guard or delete_guard are on. Remove them: providers do "
        + "not meet them."],
    ["421", "Roster does not serve this name. Set base_url or hosts."],
    ["429", "Too many requests, or too many wrong keys from this address. Correct the "
        + "key, or raise rate_limit_per_s."],
];
