//! Settings whose value is one of several words.
//!
//! Each is an enum that defines its words; the table, the help and the errors use them. Words are
//! lower case and never change their meaning.

/// Defines an enum with a word for each variant.
macro_rules! choice {
    (
        $(#[$doc:meta])*
        $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal),+ }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $($(#[$variant_doc])* $variant),+
        }

        impl $name {
            /// All words, in the order of the variants.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The variant of a word.
            pub fn from_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

choice! {
    /// The minimum level of log lines.
    LogLevel {
        /// Failures that need an operator.
        Error = "error",
        /// Also conditions that may soon need one.
        Warn = "warn",
        /// Also start, stop and the result of each request.
        Info = "info",
        /// Also details for finding faults.
        Debug = "debug"
    }
}

choice! {
    /// The format of log lines.
    LogFormat {
        /// Text.
        Text = "text",
        /// One JSON object per line.
        Json = "json"
    }
}

choice! {
    /// Which e-mail addresses are unique among live users.
    EmailUniqueness {
        /// The primary address of each user.
        Primary = "primary",
        /// None: users may share addresses.
        None = "none"
    }
}

choice! {
    /// The minimum version of TLS.
    TlsMin {
        /// Mozilla's intermediate configuration.
        V1_2 = "1.2",
        /// Mozilla's modern configuration.
        V1_3 = "1.3"
    }
}
