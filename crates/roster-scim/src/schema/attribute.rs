//! One attribute and its characteristics (RFC 7643 sections 2.2 and 7).

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($(#[$row:meta])* $variant:ident $text:literal,)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            pub enum $name {
                $($(#[$row])* $variant,)*
            }

            impl $name {
                /// The name in the RFC.
                pub const fn as_str(self) -> &'static str {
                    match self {
                        $(Self::$variant => $text,)*
                    }
                }
            }
        )*
    };
}

words! {
    /// The data type of an attribute (RFC 7643 section 2.3).
    AttributeType {
        /// A string.
        String "string",
        /// `true` or `false`.
        Boolean "boolean",
        /// A number.
        Decimal "decimal",
        /// An integer.
        Integer "integer",
        /// A time (RFC 3339).
        DateTime "dateTime",
        /// A URI.
        Reference "reference",
        /// Bytes in base64.
        Binary "binary",
        /// An object.
        Complex "complex",
    }

    /// Who may set an attribute, and when.
    Mutability {
        /// Only the service; a value from a client is ignored.
        ReadOnly "readOnly",
        /// Clients, at any time.
        ReadWrite "readWrite",
        /// Clients, once.
        Immutable "immutable",
        /// Clients; it is never returned.
        WriteOnly "writeOnly",
    }

    /// When an attribute is returned.
    Returned {
        /// In every response.
        Always "always",
        /// Unless the request excludes it.
        Default "default",
        /// Only if the request names it.
        Request "request",
        /// Never.
        Never "never",
    }

    /// Whether two resources may have the same value.
    Uniqueness {
        /// They may.
        None "none",
        /// Not within this service.
        Server "server",
        /// No two resources anywhere.
        Global "global",
    }
}

/// An attribute or a sub-attribute.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "they are characteristics of the RFC")]
pub struct AttributeSchema {
    /// The name.
    pub name: &'static str,
    /// The data type.
    pub kind: AttributeType,
    /// Whether it has a list of values.
    pub multi_valued: bool,
    /// Whether a resource must have it.
    pub required: bool,
    /// Whether comparisons are case-sensitive.
    pub case_exact: bool,
    /// Whether a text may have several lines.
    pub has_lines: bool,
    /// Who may set it.
    pub mutability: Mutability,
    /// When it is returned.
    pub returned: Returned,
    /// Whether two resources may have the same value.
    pub uniqueness: Uniqueness,
    /// Suggested values; others are accepted too.
    pub canonical_values: &'static [&'static str],
    /// The resource types that a reference may have.
    pub reference_types: &'static [&'static str],
    /// The description.
    pub description: &'static str,
    /// The sub-attributes of a complex attribute.
    pub sub_attributes: &'static [AttributeSchema],
}

impl AttributeSchema {
    /// A string that clients may write; comparisons ignore case.
    pub const fn text(name: &'static str, description: &'static str) -> Self {
        Self {
            name,
            kind: AttributeType::String,
            multi_valued: false,
            required: false,
            case_exact: false,
            has_lines: false,
            mutability: Mutability::ReadWrite,
            returned: Returned::Default,
            uniqueness: Uniqueness::None,
            canonical_values: &[],
            reference_types: &[],
            description,
            sub_attributes: &[],
        }
    }

    /// A boolean.
    pub const fn boolean(name: &'static str, description: &'static str) -> Self {
        Self { kind: AttributeType::Boolean, ..Self::text(name, description) }
    }

    /// A URL outside the directory.
    pub const fn url(name: &'static str, description: &'static str) -> Self {
        Self {
            kind: AttributeType::Reference,
            case_exact: true,
            reference_types: &["external"],
            ..Self::text(name, description)
        }
    }

    /// A complex attribute.
    pub const fn complex(
        name: &'static str,
        description: &'static str,
        sub_attributes: &'static [Self],
    ) -> Self {
        Self { kind: AttributeType::Complex, sub_attributes, ..Self::text(name, description) }
    }

    /// A list of complex values.
    pub const fn list(
        name: &'static str,
        description: &'static str,
        sub_attributes: &'static [Self],
    ) -> Self {
        Self { multi_valued: true, ..Self::complex(name, description, sub_attributes) }
    }

    /// The same attribute, case-sensitive.
    pub const fn exact(self) -> Self {
        Self { case_exact: true, ..self }
    }

    /// The same attribute, whose text may have several lines.
    pub const fn lines(self) -> Self {
        Self { has_lines: true, ..self }
    }

    /// The same attribute, read-only.
    pub const fn read_only(self) -> Self {
        Self { mutability: Mutability::ReadOnly, ..self }
    }

    /// The same attribute, required.
    pub const fn required(self) -> Self {
        Self { required: true, ..self }
    }

    /// The same attribute with suggested values.
    pub const fn suggesting(self, canonical_values: &'static [&'static str]) -> Self {
        Self { canonical_values, ..self }
    }

    /// The sub-attribute with this name, in any case.
    pub fn sub_attribute(&self, name: &str) -> Option<&'static Self> {
        self.sub_attributes.iter().find(|part| part.name.eq_ignore_ascii_case(name))
    }

    /// Whether it is a complex attribute or a list of complex values.
    pub fn is_complex(&self) -> bool {
        self.kind == AttributeType::Complex
    }
}
