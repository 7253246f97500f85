// What to enter at each identity provider, from docs/scim-*.md.
const ONELOGIN = `{ "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User",
    "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"],
  "userName": "{$parameters.scimusername}",
  "name": { "givenName": "{$user.firstname}", "familyName": "{$user.lastname}",
    "formatted": "{$user.display_name}" },
  "emails": [{ "value": "{$user.email}", "type": "work", "primary": true }],
  "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": {
    "department": "{$parameters.department}",
    "manager": { "value": "{$parameters.external_manager_id}" } } }`;

// For each: name and title; the fields with values, to be copied if in brackets; the steps with
// *words* of the provider's page. The one that ends with ":" has the fields.
const GUIDES = `okta | Okta
Base URL, or SCIM connector base URL: [SCIM] | OAuth Bearer Token, or Authorization: KEY | Unique
    identifier field for users: [userName] | Supported provisioning actions: the three of
    Push | Authentication Mode: HTTP Header
*Applications*, *Browse App Catalog*: add *SCIM 2.0 Test App (OAuth Bearer Token)*. Or in a SAML or
    SWA application of your own: *General*, *App Settings*, *Edit*, *Provisioning*: *SCIM*.
*Provisioning*, *Configure API Integration*, *Enable API Integration* and fill in only the
    first two fields; in your own *Integration*, *Edit*:
Press *Test API Credentials* or *Test Connector Configuration*, then *Save*.
*To App*, *Edit*: enable *Create Users*, *Update User Attributes* and *Deactivate Users*.
*Assignments*: assign one person, look at the user here, then assign the others. For groups use
    *Push Groups*, with *Link Group* if the group is here already.

entra | Entra ID
Tenant URL: [SCIM?aadOptscim062020] | Secret token: KEY
*Enterprise applications*, *New application*, *Create your own application*, *Integrate any other
    application you don't find in the gallery*.
*Provisioning*, *New configuration*. Roster needs TLS 1.2 (*tls_min*) and a public certificate:
Press *Test Connection*, then *Create*.
*Users and groups*: assign whom Entra shall provision. Groups inside a group do not count.
*Attribute mapping*: keep the mapping of *active*, or nobody is deactivated. Match by *userName*, or
    by *externalId* with *objectId* mapped to it.
*Provision on demand*: try one person, and look at the user here. Then *Start provisioning*.

onelogin | OneLogin
SCIM Base URL: [SCIM] | SCIM Bearer Token: KEY | SCIM JSON Template: see below | API Status: Enable
*Applications*, *Add App*, *SCIM Provisioner with SAML (SCIM v2 Enterprise)*.
*Configuration*. Attributes that the template lacks are cleared here:
*Provisioning*: switch *Enable provisioning* on. Clear *Require admin approval*, or changes wait.
*Parameters*: *SCIM Username* is matched; *Include in User Provisioning* and *Rules* make groups.

jumpcloud | JumpCloud
SCIM Version: SCIM 2.0 | Base URL: [SCIM] | Token Key: KEY | Test User Email: an address that no
    user here has | Enable management of User Groups and Group Membership: on, for groups
*SSO Applications*, your application, *Identity Management*:
Press *Test Connection*, *Activate*, *Save*. Then select groups on the tab *User Groups*.

pingone | PingOne
SCIM base URL: [SCIM] | Users resource: [/Users] | Groups resource: [/Groups] | SCIM version: 2.0 |
    Authentication method: OAuth 2 Bearer Token | OAuth access token: KEY | Auth type header: Bearer
    | User filter: userName | Action on removal: disable or delete
*Integrations*, *Provisioning*, *New connection*, *Identity Store*, *SCIM Outbound*:
Press *Test connection*. Then make a rule with users and groups. Map one e-mail attribute only: two
    primary addresses get 400.

pingfederate | PingFederate
SCIM URL: [SCIM] | SCIM Version: 2.0 | Authentication Methods: OAuth 2 Bearer Token | Access Token:
    KEY | Unique User Identifier: userName | Remove User Action: Disable or Delete
Make an SP connection with outbound provisioning, by the SCIM Provisioner. Select PATCH for groups:

sailpoint | SailPoint
Base URL: [SCIM] | Authentication type: API Token | API token: KEY | usePatch: PATCH |
    updateGroupsViaUsers: off | Non-Compliant Server: off
Make a source or an application of the type *SCIM 2.0*:
Define a create profile with *userName*, and with *emails[type eq "work"]* for addresses.

other | Another
Base URL: [SCIM] | Version: SCIM 2.0 | Bearer token: KEY | Match users by: [userName]
Enter, and choose PATCH for updates if you can (PUT clears what is not sent):
Provision one person, and look at the user here. Then start for all.`.replace(/\n {4}/g, " ");

export const guides = (scim) => GUIDES.split("\n\n").map((guide) => {
    const [head, fields, ...steps] = guide.split("\n");
    const [name, title] = head.split(" | ");
    return { name, title, steps, code: name === "onelogin" ? ONELOGIN : "",
        values: fields.split(" | ").map((pair) => pair.split(": ")).map(([field, value]) =>
            (value[0] === "[" ? { field, copy: value.slice(1, -1).replace("SCIM", scim) }
                : { field, text: value.replace("KEY", "the key from above") })) };
});

/** Why providers cannot reach a URL, or "". */
export function reachFault(base) {
    const { protocol, hostname } = new URL(base);
    return /^(localhost|.*\.localhost|127\..*|\[::1\])$/.test(hostname)
        ? "This URL works on this machine only. Set base_url to a public name, with https."
        : protocol === "https:" ? "" : "Providers connect over https only: set up TLS or a proxy.";
}
