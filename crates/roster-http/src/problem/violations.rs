//! The registry of violation codes: one row for each code in `errors`.
//!
//! Rows are added, never renamed or removed. The rules that use these codes are elsewhere; a test
//! there compares them with this table. No text here contains a value of a request.

/// One kind of error in `errors`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViolationKind {
    /// The stable name.
    pub code: &'static str,
    /// The kind of error in a few words.
    pub title: &'static str,
    /// What it means. Words in backticks are code.
    pub meaning: &'static str,
    /// What to do about it. Words in backticks are code.
    pub remedy: &'static str,
    /// Its location in the example.
    pub place: Place,
    /// An example of a `detail`.
    pub detail: &'static str,
}

/// The location of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the body, by JSON pointer (RFC 6901).
    Pointer(&'static str),
    /// In the query, by name.
    Parameter(&'static str),
    /// In the header row of CSV, by the column.
    Column(&'static str),
    /// In a row of CSV, by the member and its column.
    Cell(&'static str, &'static str),
}

/// The violation with this code.
pub fn find(code: &str) -> Option<&'static ViolationKind> {
    VIOLATIONS.iter().find(|kind| kind.code == code)
}

/// Every kind of error: first those of a body, then those of a query.
pub const VIOLATIONS: &[ViolationKind] = &[
    ViolationKind {
        code: "required",
        title: "A member is missing",
        meaning: "A member that is needed is absent or empty.",
        remedy: "Send the member. To create a user, give a `username` or an `email`; each entry \
            of a list needs its `value`.",
        place: Place::Pointer("/username"),
        detail: "give a username or an email",
    },
    ViolationKind {
        code: "unknown-member",
        title: "The member is not known",
        meaning: "Roster has no member of this name. It is refused rather than ignored, so that a \
            slip of the pen is not lost data.",
        remedy: "Correct the name; the detail says which member may be meant. Data of your own \
            goes under `attributes`.",
        place: Place::Pointer("/nmae"),
        detail: "did you mean name?",
    },
    ViolationKind {
        code: "id-mismatch",
        title: "The id is another user's",
        meaning: "The `id` in the body is not the one in the path.",
        remedy: "Send the body to the path of its own id, or leave `id` out.",
        place: Place::Pointer("/id"),
        detail: "send the id of the path, or leave it out",
    },
    ViolationKind {
        code: "wrong-type",
        title: "The value has the wrong type",
        meaning: "The value is of another JSON type than the member takes, for example a number \
            in place of a string.",
        remedy: "Send the type that the reference names for the member.",
        place: Place::Pointer("/name"),
        detail: "send a string, not a number",
    },
    ViolationKind {
        code: "invalid-value",
        title: "The value is not allowed",
        meaning: "The value is none that the member or the query parameter takes. Numbers out of \
            range are refused rather than clamped.",
        remedy: "Use a value that the detail names.",
        place: Place::Pointer("/status"),
        detail: "send active or suspended",
    },
    ViolationKind {
        code: "too-long",
        title: "The text is too long",
        meaning: "The text has more characters than the member holds. Code points are counted, \
            after composition (NFC).",
        remedy: "Shorten the text.",
        place: Place::Pointer("/nickname"),
        detail: "shorten it to at most 256 characters",
    },
    ViolationKind {
        code: "too-short",
        title: "The text is too short",
        meaning: "The text has fewer characters than the member needs. Spaces and characters that \
            are not displayed do not count in a name.",
        remedy: "Write something, or leave the member out.",
        place: Place::Pointer("/nickname"),
        detail: "give at least one visible character, or leave it out",
    },
    ViolationKind {
        code: "too-many",
        title: "The list is too long",
        meaning: "The list has more entries than the member holds.",
        remedy: "Send fewer entries.",
        place: Place::Pointer("/emails"),
        detail: "send at most 20 entries",
    },
    ViolationKind {
        code: "too-deep",
        title: "The object is nested too deeply",
        meaning: "`attributes` holds at most 8 levels of objects and lists.",
        remedy: "Flatten the object.",
        place: Place::Pointer("/attributes"),
        detail: "nest at most 8 levels",
    },
    ViolationKind {
        code: "too-large",
        title: "The object is too large",
        meaning: "`attributes` holds at most 16 KiB as JSON.",
        remedy: "Send less. Keep large data elsewhere and store a reference.",
        place: Place::Pointer("/attributes"),
        detail: "keep it within 16384 bytes of JSON",
    },
    ViolationKind {
        code: "user-too-large",
        title: "The user is too large",
        meaning: "The whole user has more than 64 KiB as JSON.",
        remedy: "Send less. Keep large data elsewhere and store a reference.",
        place: Place::Pointer(""),
        detail: "keep the whole record within 65536 bytes of JSON",
    },
    ViolationKind {
        code: "control-character",
        title: "The text holds a control character",
        meaning: "Control characters cannot be shown and are a way to deceive. Tabulators and \
            line breaks are taken in `formatted` and `street_address` of an address and inside \
            `attributes`, and U+0000 nowhere.",
        remedy: "Remove the control character.",
        place: Place::Pointer("/name"),
        detail: "a line break is not allowed here: write one line",
    },
    ViolationKind {
        code: "invalid-username",
        title: "The username cannot be used",
        meaning: "The text is empty or holds characters that a username may not have (RFC 8265), \
            for example symbols that look alike or mixed writing directions.",
        remedy: "Choose another username. Letters, digits, dots, dashes and single spaces are \
            fine in every script.",
        place: Place::Pointer("/username"),
        detail: "not a valid username (RFC 8265)",
    },
    ViolationKind {
        code: "invalid-email",
        title: "The e-mail address is not valid",
        meaning: "The text is not an e-mail address (RFC 5321, RFC 6531) or has more than 254 \
            octets.",
        remedy: "Write the bare address, without a name or angle brackets.",
        place: Place::Pointer("/email"),
        detail: "write an address such as name@example.com: the `@` is missing",
    },
    ViolationKind {
        code: "invalid-phone-number",
        title: "The telephone number is not valid",
        meaning: "The text holds no digits, or characters that telephone numbers do not have.",
        remedy: "Write digits, with `+` and the country code where you can. Spaces, dashes, dots \
            and parentheses are kept.",
        place: Place::Pointer("/phone_number"),
        detail: "a phone number has at least two digits",
    },
    ViolationKind {
        code: "invalid-url",
        title: "The URL is not valid",
        meaning: "The text is not an absolute URL.",
        remedy: "Write the whole URL, from `https://` on.",
        place: Place::Pointer("/picture"),
        detail: "write an absolute URL, beginning with https://",
    },
    ViolationKind {
        code: "script-url",
        title: "The URL is a script",
        meaning: "A page that shows this URL would run it. Roster rejects it in every interface, \
            also where it stores other invalid URLs.",
        remedy: "Write an `https://` URL.",
        place: Place::Pointer("/profile"),
        detail: "a page that shows this URL would run it as a script: give an https:// URL",
    },
    ViolationKind {
        code: "invalid-language-tag",
        title: "The language tag is not valid",
        meaning: "The text is not a well-formed BCP 47 language tag.",
        remedy: "Write a tag such as `en`, `en-GB` or `zh-Hant-TW`.",
        place: Place::Pointer("/locale"),
        detail: "write a language tag of BCP 47, such as `en` or `en-GB`",
    },
    ViolationKind {
        code: "invalid-zone",
        title: "The time zone is not known",
        meaning: "The text is not the name of a time zone in the IANA database.",
        remedy: "Write a name such as `Europe/London`.",
        place: Place::Pointer("/zoneinfo"),
        detail: "write the time zone as `Europe/London`",
    },
    ViolationKind {
        code: "invalid-country",
        title: "The country is not known",
        meaning: "The text is not an ISO 3166-1 alpha-2 country code.",
        remedy: "Write two capitals such as `GB`.",
        place: Place::Pointer("/addresses/0/country"),
        detail: "write the country as its code of two capitals in ISO 3166-1, such as GB",
    },
    ViolationKind {
        code: "invalid-certificate",
        title: "The certificate is not valid",
        meaning: "The text is not base64 in one line with its padding (RFC 4648, section 4).",
        remedy: "Send the certificate as DER in base64. From a PEM file, take what stands between \
            the dashes and remove the line breaks.",
        place: Place::Pointer("/x509_certificates/0/value"),
        detail: "send the DER certificate in base64, in one line, with its padding",
    },
    ViolationKind {
        code: "duplicate-primary",
        title: "More than one entry is primary",
        meaning: "Several entries of one list are flagged as primary.",
        remedy: "Flag one entry. Without a flag the first is the primary one.",
        place: Place::Pointer("/emails/1/primary"),
        detail: "flag one entry as primary, not more",
    },
    ViolationKind {
        code: "conflicting-short-form",
        title: "The short form and its list contradict each other",
        meaning: "`email`, `phone_number` and `picture` are short forms of the primary entry of \
            `emails`, `phone_numbers` and `photos`. Both were sent, both differ from what is \
            stored, and they do not agree.",
        remedy: "Send one of the two, or make them agree.",
        place: Place::Pointer("/email"),
        detail: "differs from the primary entry of emails",
    },
    ViolationKind {
        code: "password-not-kept",
        title: "Roster keeps no passwords",
        meaning: "Roster is a directory. It holds no passwords, logins or sessions.",
        remedy: "Leave the password out and keep it where your users sign in.",
        place: Place::Pointer("/password"),
        detail: "Roster keeps no passwords; leave them to the identity provider in front",
    },
    ViolationKind {
        code: "unknown-column",
        title: "The column is not known",
        meaning: "The header row of a CSV file names a column that has no member. It is refused \
            rather than ignored, so that no column is lost data.",
        remedy: "Name the column as the member or as its path in SCIM, or map it: \
            `map=COLUMN:MEMBER`, or `map=COLUMN:` to ignore it. `map=guess` guesses common names.",
        place: Place::Column("Nick"),
        detail: "did you mean nickname? map=COLUMN:MEMBER names its member, and map=COLUMN: \
            ignores it",
    },
    ViolationKind {
        code: "duplicate-column",
        title: "Two columns have one member",
        meaning: "Two columns of a CSV file have the same member, so a row has two values for it.",
        remedy: "Remove one of the columns, or ignore it with `map=COLUMN:`.",
        place: Place::Column("E-mail"),
        detail: "the column email has the same member",
    },
    ViolationKind {
        code: "ambiguous-column",
        title: "The mapping means two columns",
        meaning: "A value of `map` can be split at two colons, and the file has both columns.",
        remedy: "Rename one of the columns.",
        place: Place::Column("Dept"),
        detail: "map=Dept:urn:example:User:department means the column Dept or the column \
            Dept:urn:example:User; rename one of them",
    },
    ViolationKind {
        code: "bare-cr",
        title: "A line ends with CR alone",
        meaning: "A line break in a CSV file is CR without LF, as old programs write it. All lines \
            up to the next LF look like one row.",
        remedy: "Save the file with LF or CRLF as line breaks.",
        place: Place::Column("Full name"),
        detail: "a line ends with CR alone; save the file with LF or CRLF as line breaks",
    },
    ViolationKind {
        code: "misquoted-cell",
        title: "The quotation marks of a cell are wrong",
        meaning: "A quotation mark in a row of CSV neither opens a cell, nor closes it, nor is \
            doubled inside it. The row after it begins on the next line.",
        remedy: "Put the whole cell in quotation marks, and double those inside it.",
        place: Place::Column("Full name"),
        detail: "a quotation mark neither opens nor closes the cell, nor is doubled inside it, or \
            the row has more than 65536 bytes",
    },
    ViolationKind {
        code: "missing-cell",
        title: "The row has too few cells",
        meaning: "A row of CSV has fewer cells than the header row. The column is the first one \
            without a cell.",
        remedy: "Write a cell for each column; it may be empty.",
        place: Place::Column("Full name"),
        detail: "the row has 3 cells, and the header 5",
    },
    ViolationKind {
        code: "extra-cell",
        title: "The row has too many cells",
        meaning: "A row of CSV has more cells than the header row. Often a cell with the delimiter \
            in it has no quotation marks.",
        remedy: "Put cells with the delimiter in quotation marks, or name the column.",
        place: Place::Column("cell 6"),
        detail: "the row has 6 cells, and the header 5",
    },
    ViolationKind {
        code: "invalid-encoding",
        title: "The cell is not UTF-8",
        meaning: "The bytes of a cell are not text in UTF-8.",
        remedy: "Save the file as CSV UTF-8, and send it again.",
        place: Place::Cell("/name", "Full name"),
        detail: "the text is not UTF-8; save the file as CSV UTF-8",
    },
    ViolationKind {
        code: "formula",
        title: "The cell is a formula",
        meaning: "A spreadsheet would execute the text of the cell.",
        remedy: "Send the result of the formula. If the text itself is the value, put an \
            apostrophe before it, as exports do.",
        place: Place::Cell("/title", "Position"),
        detail: "a spreadsheet would execute this; if it is the value, put an apostrophe before it",
    },
    ViolationKind {
        code: "unknown-parameter",
        title: "The parameter is not known",
        meaning: "The path has no query parameter of this name. It is refused rather than \
            ignored, so that a misspelt condition does not show everybody.",
        remedy: "Correct the name; the reference lists the parameters.",
        place: Place::Parameter("offset"),
        detail: "there is no such parameter",
    },
    ViolationKind {
        code: "duplicate-parameter",
        title: "The parameter stands twice",
        meaning: "A query parameter that takes one value was given more than once.",
        remedy: "Give it once. Only `id` may be repeated.",
        place: Place::Parameter("limit"),
        detail: "give this parameter once",
    },
    ViolationKind {
        code: "out-of-range",
        title: "The number is out of range",
        meaning: "The number is smaller or larger than the parameter takes. Nothing is clamped in \
            silence.",
        remedy: "Send a number within the range that the detail names.",
        place: Place::Parameter("limit"),
        detail: "give a number from 1 to 1000",
    },
    ViolationKind {
        code: "conflicting-parameter",
        title: "The parameter does not go with the rest",
        meaning: "The parameter does not go together with another one, or with the form of the \
            answer that `Accept` asks for.",
        remedy: "Leave it out, or do without the other; the detail says which.",
        place: Place::Parameter("sort"),
        detail: "an export has the order of ids; leave sort out",
    },
    ViolationKind {
        code: "index-not-ready",
        title: "The index is not ready",
        meaning: "A list should be in the order of a member whose index is still being built, or \
            `match` names a unique member whose index is not ready or has shared values.",
        remedy: "Wait until `GET /schema` shows that the index is ready, and make shared values \
            different. Filters on the member work meanwhile.",
        place: Place::Parameter("sort"),
        detail: "the index of attributes.badge is being built; GET /schema shows when the list can \
            be in its order",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_sentences() {
        for kind in VIOLATIONS {
            for text in [kind.meaning, kind.remedy] {
                assert!(text.ends_with('.'), "{}: {text}", kind.code);
                assert!(!text.contains("  "), "{}: {text}", kind.code);
                let mut sentences: Vec<&str> = text.trim_end_matches('.').split(". ").collect();
                let count = sentences.len();
                sentences.sort_unstable();
                sentences.dedup();
                assert_eq!(sentences.len(), count, "{}: {text}", kind.code);
                assert_eq!(text.matches('`').count() % 2, 0, "{}: {text}", kind.code);
            }
            assert!(!kind.title.ends_with('.'), "{}", kind.code);
        }
    }

    #[test]
    fn examples_point_somewhere() {
        for kind in VIOLATIONS {
            match kind.place {
                Place::Pointer(pointer) | Place::Cell(pointer, _) => {
                    assert!(pointer.is_empty() || pointer.starts_with('/'), "{}", kind.code);
                }
                Place::Parameter(name) | Place::Column(name) => {
                    assert!(!name.is_empty(), "{}", kind.code);
                }
            }
        }
    }
}
