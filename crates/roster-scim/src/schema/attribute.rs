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
                /// The word of the standard.
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
    /// What kind of value it takes (RFC 7643 section 2.3).
    AttributeType {
        /// A text.
        String "string",
        /// `true` or `false`.
        Boolean "boolean",
        /// A number.
        Decimal "decimal",
        /// A whole number.
        Integer "integer",
        /// A moment (RFC 3339).
        DateTime "dateTime",
        /// A URI.
        Reference "reference",
        /// Bytes in base64.
        Binary "binary",
        /// An object.
        Complex "complex",
    }

    /// Who may set it, and when.
    Mutability {
        /// The service alone; what a client sends is passed over.
        ReadOnly "readOnly",
        /// Clients, at any time.
        ReadWrite "readWrite",
        /// Clients, once.
        Immutable "immutable",
        /// Clients, who never see it again.
        WriteOnly "writeOnly",
    }

    /// When it is shown.
    Returned {
        /// In every answer.
        Always "always",
        /// Unless it is left out by wish.
        Default "default",
        /// By wish alone.
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
        /// Nowhere.
        Global "global",
    }
}

/// An attribute, or a part of a complex one.
#[derive(Clone, Copy, Debug)]
pub struct AttributeSchema {
    /// Its name.
    pub name: &'static str,
    /// What kind of value it takes.
    pub kind: AttributeType,
    /// Whether it has any number of values.
    pub multi_valued: bool,
    /// Whether a resource must have it.
    pub required: bool,
    /// Whether its texts are told apart by case.
    pub case_exact: bool,
    /// Who may set it.
    pub mutability: Mutability,
    /// When it is shown.
    pub returned: Returned,
    /// Whether two resources may have the same value.
    pub uniqueness: Uniqueness,
    /// Values that are suggested; others are taken too.
    pub canonical_values: &'static [&'static str],
    /// What a reference leads to.
    pub reference_types: &'static [&'static str],
    /// What it is, in words.
    pub description: &'static str,
    /// The parts of a complex value.
    pub sub_attributes: &'static [AttributeSchema],
}

impl AttributeSchema {
    /// One text that clients may write, told apart without regard to case.
    pub const fn text(name: &'static str, description: &'static str) -> Self {
        Self {
            name,
            kind: AttributeType::String,
            multi_valued: false,
            required: false,
            case_exact: false,
            mutability: Mutability::ReadWrite,
            returned: Returned::Default,
            uniqueness: Uniqueness::None,
            canonical_values: &[],
            reference_types: &[],
            description,
            sub_attributes: &[],
        }
    }

    /// One boolean.
    pub const fn boolean(name: &'static str, description: &'static str) -> Self {
        Self { kind: AttributeType::Boolean, ..Self::text(name, description) }
    }

    /// One URL of something outside the directory.
    pub const fn url(name: &'static str, description: &'static str) -> Self {
        Self {
            kind: AttributeType::Reference,
            case_exact: true,
            reference_types: &["external"],
            ..Self::text(name, description)
        }
    }

    /// One object of these parts.
    pub const fn complex(
        name: &'static str,
        description: &'static str,
        sub_attributes: &'static [Self],
    ) -> Self {
        Self { kind: AttributeType::Complex, sub_attributes, ..Self::text(name, description) }
    }

    /// Any number of objects of these parts.
    pub const fn list(
        name: &'static str,
        description: &'static str,
        sub_attributes: &'static [Self],
    ) -> Self {
        Self { multi_valued: true, ..Self::complex(name, description, sub_attributes) }
    }

    /// The same attribute, told apart by case.
    pub const fn exact(self) -> Self {
        Self { case_exact: true, ..self }
    }

    /// The same attribute, set by the service alone.
    pub const fn read_only(self) -> Self {
        Self { mutability: Mutability::ReadOnly, ..self }
    }

    /// The same attribute, without which there is no value.
    pub const fn required(self) -> Self {
        Self { required: true, ..self }
    }

    /// The same attribute with values that are suggested.
    pub const fn suggesting(self, canonical_values: &'static [&'static str]) -> Self {
        Self { canonical_values, ..self }
    }

    /// The part of that name, in whatever case.
    pub fn sub_attribute(&self, name: &str) -> Option<&'static Self> {
        self.sub_attributes.iter().find(|part| part.name.eq_ignore_ascii_case(name))
    }

    /// Whether it is an object, or a list of such.
    pub fn is_complex(&self) -> bool {
        self.kind == AttributeType::Complex
    }
}
