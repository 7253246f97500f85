//! The cases that are measured over HTTP: what is asked, and on how many connections.

use std::fmt;

/// What is asked of which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// The bare hyper server, 500 bytes.
    Hello,
    /// The bare hyper server, the bytes of a page.
    HelloPage,
    /// One user out of a set that the byte cache holds.
    GetHot,
    /// The same, on a service whose callers need a key.
    GetKeyed,
    /// One user of all, on a service without a byte cache.
    GetCold,
    /// The first page of 50.
    ListFirst,
    /// The last page of 50.
    ListLast,
    /// The first page of 50, on a service without a byte cache.
    ListCold,
    /// One user of all by SCIM, on a service without a byte cache.
    ScimGet,
    /// The first page of 50 by SCIM, on a service without a byte cache.
    ScimList,
    /// The user with a username.
    ByUsername,
    /// The user with an e-mail address.
    ByEmail,
    /// The user with a username, by a filter.
    FilterUsername,
    /// The user with an e-mail address, primary or not, by a filter.
    FilterEmail,
    /// The one user with a word.
    SearchRare,
    /// The first page of the many users with a word.
    SearchCommon,
    /// The first page of the users with a word that begins with a letter.
    SearchLetter,
    /// A page of users that no index helps to find.
    Scan,
    /// The same, by the dearest filter.
    ScanWorst,
    /// One user of the hot set, while others ask for what no index helps to find.
    GetBesideScans,
    /// A new user.
    Post,
    /// A new user, by a request that may come twice.
    PostMarked,
    /// A change of a user.
    Put,
    /// A user leaves.
    Delete,
}

/// A kind of request on a number of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Case {
    /// What is asked.
    pub(super) kind: Kind,
    /// On how many connections, one request under way on each.
    pub(super) connections: usize,
}

/// Every case, in the order in which a round goes through them. Creates come before deletes, which
/// take what they made.
pub(super) const CASES: [Case; 42] = [
    case(Kind::Hello, 1),
    case(Kind::GetHot, 1),
    case(Kind::GetBesideScans, 1),
    case(Kind::ListFirst, 1),
    case(Kind::ListLast, 1),
    case(Kind::Hello, 16),
    case(Kind::GetHot, 16),
    case(Kind::GetKeyed, 16),
    case(Kind::GetCold, 16),
    case(Kind::ListFirst, 16),
    case(Kind::ListLast, 16),
    case(Kind::ListCold, 16),
    case(Kind::ScimGet, 16),
    case(Kind::ScimList, 16),
    case(Kind::HelloPage, 16),
    case(Kind::ByUsername, 16),
    case(Kind::ByEmail, 16),
    case(Kind::FilterUsername, 16),
    case(Kind::FilterEmail, 16),
    case(Kind::SearchRare, 16),
    case(Kind::SearchCommon, 16),
    case(Kind::SearchLetter, 16),
    case(Kind::Scan, 1),
    case(Kind::ScanWorst, 1),
    case(Kind::GetHot, 4),
    case(Kind::GetBesideScans, 4),
    case(Kind::Hello, 64),
    case(Kind::GetHot, 64),
    case(Kind::GetKeyed, 64),
    case(Kind::GetCold, 64),
    case(Kind::ScimGet, 64),
    case(Kind::ListFirst, 64),
    case(Kind::ByUsername, 64),
    case(Kind::ByEmail, 64),
    case(Kind::FilterUsername, 64),
    case(Kind::FilterEmail, 64),
    case(Kind::Post, 1),
    case(Kind::Post, 16),
    case(Kind::Post, 64),
    case(Kind::PostMarked, 64),
    case(Kind::Put, 64),
    case(Kind::Delete, 64),
];

/// A case by its parts.
pub(super) const fn case(kind: Kind, connections: usize) -> Case {
    Case { kind, connections }
}

impl Kind {
    /// Fewest bytes of a body: a fast page without what was asked for would be no result.
    pub(super) const fn body_bytes_min(self) -> usize {
        match self {
            Self::HelloPage
            | Self::ListFirst
            | Self::ListLast
            | Self::ListCold
            | Self::ScimList
            | Self::SearchCommon
            | Self::SearchLetter => 50 * 200,
            Self::Hello
            | Self::GetHot
            | Self::GetKeyed
            | Self::GetCold
            | Self::ScimGet
            | Self::ByUsername
            | Self::ByEmail
            | Self::FilterUsername
            | Self::FilterEmail
            | Self::SearchRare
            | Self::GetBesideScans
            | Self::Post
            | Self::PostMarked
            | Self::Put => 200,
            Self::Scan | Self::ScanWorst | Self::Delete => 0,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Hello => "hello (500 bytes)",
            Self::HelloPage => "hello (24 KB)",
            Self::GetHot => "GET one, hot",
            Self::GetKeyed => "GET one, hot, with a key",
            Self::GetCold => "GET one, cold",
            Self::ListFirst => "list of 50, first page",
            Self::ListLast => "list of 50, last page",
            Self::ListCold => "list of 50, no byte cache",
            Self::ScimGet => "SCIM get, cold",
            Self::ScimList => "SCIM list of 50, no byte cache",
            Self::ByUsername => "list by username",
            Self::ByEmail => "list by email",
            Self::FilterUsername => "filter by username",
            Self::FilterEmail => "filter by emails.value",
            Self::SearchRare => "q of one user",
            Self::SearchCommon => "q of many",
            Self::SearchLetter => "q of one letter",
            Self::Scan => "filter without an index",
            Self::ScanWorst => "worst filter without an index",
            Self::GetBesideScans => "GET one beside 4 worst filters",
            Self::Post => "POST",
            Self::PostMarked => "POST with a key",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} conn", self.kind.name(), self.connections)
    }
}
