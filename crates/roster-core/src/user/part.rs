//! The named parts of the record's compound values, in the order of the canonical JSON.

macro_rules! parts {
    ($($variant:ident $name:literal,)*) => {
        /// A named part of an entry.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Part {
            $(
                #[doc = concat!("`", $name, "`")]
                $variant,
            )*
        }

        impl Part {
            /// The part's name in JSON.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

parts! {
    Id "id",
    Value "value",
    Formatted "formatted",
    StreetAddress "street_address",
    Locality "locality",
    Region "region",
    PostalCode "postal_code",
    Country "country",
    Type "type",
    Primary "primary",
    Display "display",
    Ref "ref",
    DisplayName "display_name",
}
