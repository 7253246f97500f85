//! Attributes of a user that only Roster has.

use super::{AttributeSchema, ROSTER_URN, Returned, Schema, common::text};

/// The extension of Roster.
pub static ROSTER_USER: Schema = Schema {
    urn: ROSTER_URN,
    name: "RosterUser",
    description: "Attributes of a user that only Roster has; also attributes, which is any \
                  JSON object, which a schema cannot describe",
    attributes: &[
        // Returned only on request: `active` contains the same.
        AttributeSchema {
            returned: Returned::Request,
            ..text("status", "The name of the status; active contains the same")
                .exact()
                .read_only()
                .suggesting(&["active", "suspended"])
        },
        // A string with an example, because scim2-tester cannot make up a `dateTime`, and compares
        // one that it sent with the text that it gets.
        text("expires_at", "When the user is suspended: a time of RFC 3339")
            .exact()
            .suggesting(&["2100-01-01T00:00:00.000Z"]),
        AttributeSchema::boolean("email_verified", "Whether the primary address was verified"),
        AttributeSchema::boolean(
            "phone_number_verified",
            "Whether the primary telephone number was verified",
        ),
        AttributeSchema::complex("attributes", "Members of your own: any JSON object", &[]),
    ],
};
