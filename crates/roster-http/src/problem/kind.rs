//! A row of the registry of problem codes.

/// One kind of problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProblemKind {
    /// The stable name, used in `code` and at the end of `type`.
    pub code: &'static str,
    /// Its HTTP status.
    pub status: u16,
    /// The kind of problem in a few words: the `title`.
    pub title: &'static str,
    /// What it means. Words in backticks are code.
    pub meaning: &'static str,
    /// What to do about it. Words in backticks are code.
    pub remedy: &'static str,
    /// The default `detail`, or an example of one.
    pub detail: &'static str,
}

/// The table of problem codes.
macro_rules! problems {
    ($($name:ident { $($field:ident: $value:literal,)* })*) => {
        /// A problem code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum ProblemCode {
            $($name,)*
        }

        impl ProblemCode {
            /// All codes, by status.
            pub(crate) const ALL: &[Self] = &[$(Self::$name,)*];

            /// Parses a code.
            pub(crate) fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|code| code.as_str() == text)
            }

            /// The row of the code.
            pub(crate) const fn kind(self) -> ProblemKind {
                match self {
                    $(Self::$name => ProblemKind { $($field: $value,)* },)*
                }
            }

            /// The code's name in `code`.
            pub(crate) const fn as_str(self) -> &'static str {
                self.kind().code
            }
        }

        /// Every kind of problem, by status.
        pub const PROBLEMS: &[ProblemKind] = &[$(ProblemCode::$name.kind(),)*];
    };
}

pub(super) use problems;
