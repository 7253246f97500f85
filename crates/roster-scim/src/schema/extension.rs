//! What a user of Roster has beside the standard.

use super::{AttributeSchema, ROSTER_URN, Returned, Schema, user::text};

/// What only Roster has.
pub static ROSTER_USER: Schema = Schema {
    urn: ROSTER_URN,
    name: "RosterUser",
    description: "What a user of Roster has beside the standard; also attributes, which is any \
                  JSON object and cannot be told in this language",
    attributes: &[
        // What `active` says already is shown to whoever asks for it.
        AttributeSchema {
            returned: Returned::Request,
            ..text("status", "The status by its name; active says the same")
                .exact()
                .read_only()
                .suggesting(&["active", "suspended"])
        },
        AttributeSchema::boolean("email_verified", "Whether the primary address was verified"),
        AttributeSchema::boolean(
            "phone_number_verified",
            "Whether the primary telephone number was verified",
        ),
        AttributeSchema::complex("attributes", "Members of your own: any JSON object", &[]),
    ],
};
