//! Filters of a list of users and groups (RFC 7644 section 3.4.2.1): an attribute that only the
//! other type has, has no value in a resource of this type.

use roster_core::{
    Json,
    filter::{Dialect, Expression, Names, Operator},
};

/// The names of one type, and those that only the other type has.
pub(super) struct Spanning<N: Names, O> {
    pub(super) own: N,
    pub(super) other: O,
    /// Whether the type has an attribute. One that filters cannot test is an error, although the
    /// other type may have it too.
    pub(super) has: fn(&str) -> bool,
    /// A condition that is always true, or never.
    pub(super) constant: fn(bool) -> Expression<N::Path>,
}

pub(super) enum Name<N, O> {
    Own(N),
    Other(O),
}

impl<N: Names, O: Names> Names for Spanning<N, O> {
    type Name = Name<N::Name, O::Name>;
    type Path = N::Path;

    fn dialect(&self) -> Dialect {
        self.own.dialect()
    }

    fn resolve(&self, word: &str, within: Option<&Self::Name>) -> Result<Self::Name, String> {
        match within {
            Some(Name::Own(list)) => self.own.resolve(word, Some(list)).map(Name::Own),
            Some(Name::Other(list)) => self.other.resolve(word, Some(list)).map(Name::Other),
            None => match self.own.resolve(word, None) {
                Ok(name) => Ok(Name::Own(name)),
                Err(fault) if (self.has)(word) => Err(fault),
                Err(fault) => self.other.resolve(word, None).map(Name::Other).map_err(|_| fault),
            },
        }
    }

    fn expected(&self, within: Option<&Self::Name>) -> String {
        match within {
            Some(Name::Own(list)) => self.own.expected(Some(list)),
            Some(Name::Other(list)) => self.other.expected(Some(list)),
            None => self.own.expected(None),
        }
    }

    fn takes_brackets(&self, name: &Self::Name) -> Result<(), String> {
        match name {
            Name::Own(name) => self.own.takes_brackets(name),
            Name::Other(name) => self.other.takes_brackets(name),
        }
    }

    fn takes(&self, name: &Self::Name, operator: Operator) -> Result<(), String> {
        match name {
            Name::Own(name) => self.own.takes(name, operator),
            Name::Other(name) => self.other.takes(name, operator),
        }
    }

    fn test(
        &self,
        name: &Self::Name,
        operator: Operator,
        literal: Option<Json>,
    ) -> Result<Expression<Self::Path>, String> {
        let name = match name {
            Name::Own(name) => return self.own.test(name, operator, literal),
            Name::Other(name) => name,
        };
        let is_null = literal == Some(Json::Null);
        self.other.test(name, operator, literal)?;
        Ok((self.constant)(match operator {
            Operator::Equal => is_null,
            Operator::NotEqual => !is_null,
            Operator::Present
            | Operator::Contains
            | Operator::StartsWith
            | Operator::EndsWith
            | Operator::Greater
            | Operator::GreaterOrEqual
            | Operator::Less
            | Operator::LessOrEqual => false,
        }))
    }

    fn entry(
        &self,
        list: &Self::Name,
        condition: Expression<Self::Path>,
    ) -> Result<Expression<Self::Path>, String> {
        match list {
            Name::Own(list) => self.own.entry(list, condition),
            Name::Other(_) => Ok((self.constant)(false)),
        }
    }
}
