//! Settings whose value is one of a few words.
//!
//! Each is an enum whose words are written once; the table, the help and the errors take them
//! from here. Words are lower case and never change their meaning.

/// Makes an enum with the words that stand for its variants.
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
            /// Every word, in the order of the variants.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The variant that a word stands for.
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
    /// How much is logged.
    LogLevel {
        /// Only what failed and needs somebody.
        Error = "error",
        /// Also what may need somebody soon.
        Warn = "warn",
        /// Also the course of the process: start, stop, each request's outcome.
        Info = "info",
        /// Also what helps to find a fault.
        Debug = "debug"
    }
}

choice! {
    /// How a log line is written.
    LogFormat {
        /// For people.
        Text = "text",
        /// One JSON object a line, for programs.
        Json = "json"
    }
}

choice! {
    /// Which e-mail addresses must be unique among live users.
    EmailUniqueness {
        /// The primary address of each user.
        Primary = "primary",
        /// None: mailboxes may be shared.
        None = "none"
    }
}

choice! {
    /// The least version of TLS that is spoken.
    TlsMin {
        /// What Mozilla calls intermediate.
        V1_2 = "1.2",
        /// What Mozilla calls modern.
        V1_3 = "1.3"
    }
}
