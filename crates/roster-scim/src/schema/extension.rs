//! Attributes of a user that only Roster has.

use super::{AttributeSchema, AttributeType, ROSTER_URN, Returned, Schema, common::text};

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
        AttributeSchema {
            kind: AttributeType::DateTime,
            ..text("expires_at", "When the user is suspended").exact()
        },
        AttributeSchema::boolean("email_verified", "Whether the primary address was verified"),
        AttributeSchema::boolean(
            "phone_number_verified",
            "Whether the primary telephone number was verified",
        ),
        AttributeSchema::complex("attributes", "Members of your own: any JSON object", &[]),
    ],
};
