//! Indexes of members that the schema names: of declared members, and of built-in members that have
//! no index by themselves.
//!
//! Every live user has at least one row in each index, so an index has the order of a whole list.
//! The first character of a key says what it is: [`OTHER`], [`VALUE`] or [`NONE`].

use std::{borrow::Cow, collections::BTreeSet, ops::Bound};

use sha2::{Digest as _, Sha256};

use super::{DeclaredMember, UserSchema, ValueType};
use crate::{
    id::UserId,
    json::Json,
    limits::{INDEX_KEY_LENGTH_MAX, INDEXED_MEMBERS_MAX},
    read::filter::{Compared as _, Comparison, Filter, FilterFault, MemberNames, Operand, Path},
    text::fold_key,
    timestamp::Timestamp,
    user::{
        User,
        attribute::{Attribute, Kind, TextRule},
        profile::Value,
    },
};

/// The first number of an index. Smaller ones are those of further addresses and numbers.
pub const INDEX_KIND_MIN: i16 = 2;

/// The maximum number of indexes of a tenant, those included whose rows are still to be deleted.
pub const INDEXES_MAX: usize = 64;

/// The maximum number of shared values that a failed index lists.
pub const SHARED_VALUES_MAX: usize = 10;

/// The maximum number of users that it lists for one of them.
pub const SHARING_USERS_MAX: usize = 5;

/// The key of a value that has another type than the member declares. It was stored before the
/// declaration.
pub const OTHER: &str = "0";

/// The first character of the key of a value.
pub const VALUE: &str = "1";

/// The key of a user without a value. It is after all others.
pub const NONE: &str = "2";

/// A member with an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexedMember {
    /// A declared member of `attributes`.
    Declared(String),
    /// A built-in member.
    BuiltIn(Attribute),
}

/// An index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberIndex {
    /// Its number among the indexes of its tenant.
    pub kind: i16,
    /// Its member.
    pub member: IndexedMember,
    /// The type of the values.
    pub value_type: ValueType,
    /// Whether a user may have several values.
    pub multi_valued: bool,
    /// Whether texts are compared exactly; otherwise regardless of case.
    pub case_exact: bool,
    /// Whether no two users may have the same value.
    pub unique: bool,
    /// Its status.
    pub status: IndexStatus,
}

/// The status of an index. Writes keep the rows of their users up to date in every status but the
/// last one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexStatus {
    /// Users that were stored before the declaration get their rows, in the order of their ids.
    Building {
        /// The last user that has its rows.
        reached: Option<UserId>,
        /// The number of users up to there.
        users: u64,
    },
    /// All users have their rows. Values that must be unique are compared.
    Checking,
    /// Queries may use it.
    Ready,
    /// Users share values that must be unique. Queries may use it, and no further user can take
    /// such a value.
    Failed {
        /// The users of each of the first shared values.
        shared: Vec<Vec<UserId>>,
    },
    /// It is no longer declared. Its rows are deleted.
    Dropped,
}

impl IndexStatus {
    /// Its name in JSON.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Building { .. } => "building",
            Self::Checking => "checking",
            Self::Ready => "ready",
            Self::Failed { .. } => "failed",
            Self::Dropped => "dropped",
        }
    }
}

impl IndexedMember {
    /// The name in filters and in the schema.
    pub fn name(&self) -> Cow<'_, str> {
        match self {
            Self::Declared(name) => Cow::Owned(format!("attributes.{name}")),
            Self::BuiltIn(attribute) => Cow::Borrowed(attribute.name()),
        }
    }

    /// The member with this name.
    pub fn parse(name: &str) -> Option<Self> {
        match name.strip_prefix("attributes.") {
            Some(name) => Some(Self::Declared(name.to_owned())),
            None => Attribute::from_name(name).map(Self::BuiltIn),
        }
    }
}

/// Whether the schema may give a built-in member an index: it is one text, and has none.
pub fn can_be_indexed(attribute: Attribute) -> bool {
    let Kind::Text(rule) = attribute.kind() else { return false };
    let is_folded = match rule {
        TextRule::Plain
        | TextRule::Name
        | TextRule::EntryText
        | TextRule::AddressLines
        | TextRule::LanguageTag
        | TextRule::Zone
        | TextRule::Country => true,
        TextRule::Username
        | TextRule::Email
        | TextRule::PhoneNumber
        | TextRule::Url
        | TextRule::Time
        | TextRule::Certificate => false,
    };
    let has_index = matches!(
        attribute,
        Attribute::Name | Attribute::FamilyName | Attribute::ExternalId | Attribute::Username
    );
    is_folded && !has_index
}

impl MemberIndex {
    /// The index that a declaration asks for, before any user has a row.
    fn of_declared(member: &DeclaredMember) -> Self {
        Self {
            kind: 0,
            member: IndexedMember::Declared(member.name.clone()),
            value_type: member.value_type,
            multi_valued: member.multi_valued,
            case_exact: member.case_exact,
            unique: member.is_unique(),
            status: IndexStatus::Building { reached: None, users: 0 },
        }
    }

    fn of_built_in(attribute: Attribute) -> Self {
        Self {
            kind: 0,
            member: IndexedMember::BuiltIn(attribute),
            value_type: ValueType::String,
            multi_valued: false,
            case_exact: false,
            unique: false,
            status: IndexStatus::Building { reached: None, users: 0 },
        }
    }

    /// Whether the rows are those of the same values.
    pub fn has_rows_of(&self, other: &Self) -> bool {
        self.status != IndexStatus::Dropped
            && self.member == other.member
            && self.value_type == other.value_type
            && self.multi_valued == other.multi_valued
            && self.case_exact == other.case_exact
    }

    /// Whether writes keep its rows up to date.
    pub fn is_live(&self) -> bool {
        self.status != IndexStatus::Dropped
    }

    /// Whether every live user has its rows.
    pub const fn is_complete(&self) -> bool {
        match self.status {
            IndexStatus::Checking | IndexStatus::Ready | IndexStatus::Failed { .. } => true,
            IndexStatus::Building { .. } | IndexStatus::Dropped => false,
        }
    }

    /// Whether a list may be in its order: every user has one row in it.
    pub const fn is_sortable(&self) -> bool {
        self.is_complete() && !self.multi_valued
    }

    /// The keys of a user, sorted and without duplicates; at least one.
    pub fn keys(&self, user: &User) -> Vec<String> {
        let value = match &self.member {
            IndexedMember::BuiltIn(attribute) => {
                let text = user.profile.text(*attribute);
                return vec![text.map_or_else(|| NONE.to_owned(), |text| self.text_key(text))];
            }
            IndexedMember::Declared(name) => match user.profile.get(Attribute::Attributes) {
                Some(Value::Object(members)) => {
                    members.iter().find(|(found, _)| found == name).map(|(_, value)| value)
                }
                _ => None,
            },
        };
        self.keys_of(value)
    }

    /// The keys of a user with this value of the member; at least one.
    fn keys_of(&self, value: Option<&Json>) -> Vec<String> {
        let keys: BTreeSet<String> = match (value, self.multi_valued) {
            (None | Some(Json::Null), _) => BTreeSet::new(),
            (Some(Json::Array(items)), _) if items.is_empty() => BTreeSet::new(),
            (Some(Json::Array(items)), true) => items.iter().map(|item| self.key(item)).collect(),
            (Some(value), false) => BTreeSet::from([self.key(value)]),
            (Some(_), true) => BTreeSet::from([OTHER.to_owned()]),
        };
        if keys.is_empty() { vec![NONE.to_owned()] } else { keys.into_iter().collect() }
    }

    /// The key of the user's only row, if the index is sortable.
    pub fn sort_key(&self, user: &User) -> String {
        self.keys(user).into_iter().next().unwrap_or_else(|| NONE.to_owned())
    }

    fn key(&self, value: &Json) -> String {
        let key = match (self.value_type, value) {
            // An empty text is no value, and was stored before the declaration.
            (ValueType::String, Json::Text(text)) if text.is_empty() => None,
            (ValueType::String, Json::Text(text)) => return self.text_key(text),
            (ValueType::Boolean, Json::Bool(flag)) => Some(flag.to_string()),
            (ValueType::Integer | ValueType::Number, number) => number_key(number),
            (ValueType::DateTime, Json::Text(text)) => Timestamp::parse(text).map(time_key),
            _ => None,
        };
        key.map_or_else(|| OTHER.to_owned(), |key| format!("{VALUE}{key}"))
    }

    fn text_key(&self, text: &str) -> String {
        if self.case_exact { key_of_folded(text) } else { key_of_folded(&fold_key(text)) }
    }

    /// Whether a filter's path has the values of this index, compared as its keys are.
    pub fn has_values_of(&self, path: &Path) -> bool {
        match (&self.member, path) {
            (IndexedMember::BuiltIn(attribute), Path::Member(tested)) => attribute == tested,
            (IndexedMember::Declared(name), Path::Free(free)) => {
                matches!(free.keys.as_slice(), [key] if key == name)
                    && path.comparison() == comparison(self.value_type, self.case_exact)
            }
            _ => false,
        }
    }

    /// The key that equals an operand; `None` if a key does not show whether a value equals it.
    pub fn key_of(&self, operand: &Operand) -> Option<String> {
        let key = match (self.value_type, operand) {
            (ValueType::String, Operand::Text { key: Some(key), .. }) => {
                return Some(key_of_folded(key));
            }
            (ValueType::Boolean, Operand::Flag(flag)) => Some(flag.to_string()),
            (ValueType::Integer | ValueType::Number, Operand::Integer(number)) => {
                number_key(&Json::Int(*number))
            }
            (ValueType::Integer | ValueType::Number, Operand::Number(number)) => {
                number_key(&Json::Float(*number))
            }
            (ValueType::DateTime, Operand::Time(time)) => Some(time_key(*time)),
            _ => None,
        };
        key.map(|key| format!("{VALUE}{key}"))
    }

    /// The beginning of the key of a text that is too long for a key. The keys with this beginning
    /// are not in the order of their texts. `None` for other keys.
    pub fn beginning(key: &str) -> Option<&str> {
        let (end, _) = key.char_indices().nth(VALUE.len() + INDEX_KEY_LENGTH_MAX)?;
        key.get(..end)
    }

    /// The bounds of all values.
    pub fn values() -> (Bound<String>, Bound<String>) {
        (Bound::Included(VALUE.to_owned()), Bound::Excluded(NONE.to_owned()))
    }
}

/// The key of a folded text. Of a text that is too long for a key it has the beginning, and a
/// digest of all of it, so that it equals no other one. Such a text was stored before the
/// declaration, or is that of a member that every user can have.
fn key_of_folded(text: &str) -> String {
    let Some((end, _)) = text.char_indices().nth(INDEX_KEY_LENGTH_MAX) else {
        return format!("{VALUE}{text}");
    };
    let digest: [u8; 32] = Sha256::digest(text).into();
    let begin = digest.first_chunk().copied().unwrap_or_default();
    format!("{VALUE}{}{:032x}", text.get(..end).unwrap_or_default(), u128::from_be_bytes(begin))
}

/// How a filter compares the values of a declared member.
const fn comparison(value_type: ValueType, case_exact: bool) -> Comparison {
    match value_type {
        ValueType::String if !case_exact => Comparison::FoldedJson,
        ValueType::DateTime => Comparison::TimeJson,
        ValueType::String | ValueType::Boolean | ValueType::Integer | ValueType::Number => {
            Comparison::Json
        }
    }
}

/// The bit of a floating-point number's sign.
const SIGN: u64 = 1 << 63;

/// A text that orders numbers by value: the nearest floating-point number, then the distance from
/// it, which is zero except for large whole numbers.
fn number_key(number: &Json) -> Option<String> {
    let (float, distance) = match number {
        Json::Int(whole) => {
            // The text of a number is read as the nearest floating-point number.
            let float: f64 = whole.to_string().parse().ok()?;
            let exact: i128 = format!("{float:.0}").parse().ok()?;
            (float, i128::from(*whole) - exact)
        }
        // Adding zero removes the sign of a negative zero.
        Json::Float(float) => (*float + 0.0, 0),
        Json::Null | Json::Bool(_) | Json::Text(_) | Json::Array(_) | Json::Object(_) => {
            return None;
        }
    };
    let bits = float.to_bits();
    let ordered = if bits & SIGN == 0 { bits | SIGN } else { !bits };
    Some(format!("{ordered:016x}{:04x}", distance + 0x8000))
}

/// A text that orders times.
fn time_key(time: Timestamp) -> String {
    let millis = i128::from(time.as_millis()) - i128::from(i64::MIN);
    format!("{millis:016x}")
}

impl DeclaredMember {
    /// How a filter compares its values.
    pub const fn comparison(&self) -> Comparison {
        comparison(self.value_type, self.case_exact)
    }
}

impl UserSchema {
    /// Parses a filter of users with the member names of the REST interface.
    pub fn filter(&self, text: &str) -> Result<Filter, FilterFault> {
        Filter::parse_with(text, &MemberNames(|name: &str| self.comparison_of(name)))
    }

    /// How a filter compares the values of this member of `attributes`, if it is declared.
    pub fn comparison_of(&self, name: &str) -> Option<Comparison> {
        let mut declared = self.members.iter().filter(|member| member.name == name);
        declared.next().map(DeclaredMember::comparison)
    }

    /// The index of a filter's path, if every user has its rows.
    pub(crate) fn index_of(&self, path: &Path) -> Option<&MemberIndex> {
        self.indexes.iter().find(|index| index.is_complete() && index.has_values_of(path))
    }

    /// The keys that unique indexes have for these members of `attributes`, each with the number of
    /// its index.
    pub(crate) fn unique_keys(&self, members: &[(String, Json)]) -> Vec<(i16, String)> {
        let unique = self.indexes.iter().filter(|index| index.unique && index.is_live());
        let keys = unique.flat_map(|index| {
            let IndexedMember::Declared(name) = &index.member else { return Vec::new() };
            let value = members.iter().find(|(found, _)| found == name).map(|(_, value)| value);
            index.keys_of(value).into_iter().map(|key| (index.kind, key)).collect()
        });
        keys.filter(|(_, key)| key.starts_with(VALUE)).collect()
    }

    /// The index with this number.
    pub fn index(&self, kind: i16) -> Option<&MemberIndex> {
        self.indexes.iter().find(|index| index.kind == kind)
    }

    /// The index of a member with this name that is still declared.
    pub fn index_named(&self, name: &str) -> Option<&MemberIndex> {
        self.indexes.iter().find(|index| index.is_live() && index.member.name() == name)
    }

    /// Whether some index is to be built, compared or deleted.
    pub fn has_index_work(&self) -> bool {
        self.indexes.iter().any(|index| index.status != IndexStatus::Ready)
    }

    /// The indexes after a change of the declarations. An index whose values stay keeps its rows.
    /// A new one gets a number that no index had for more than a thousand versions: requests and
    /// cursors that began before know an index by its number.
    pub(super) fn indexes_for(
        &self,
        members: &[DeclaredMember],
        built_in: &[Attribute],
    ) -> Vec<MemberIndex> {
        let declared = members.iter().filter(|member| member.index.is_some());
        let wanted = declared.map(MemberIndex::of_declared);
        let wanted = wanted.chain(built_in.iter().copied().map(MemberIndex::of_built_in));
        let (mut indexes, mut kept) = (Vec::new(), BTreeSet::new());
        let mut used: BTreeSet<i16> = self.indexes.iter().map(|index| index.kind).collect();
        for mut index in wanted {
            if let Some(before) = self.indexes.iter().find(|before| before.has_rows_of(&index)) {
                kept.insert(before.kind);
                index.kind = before.kind;
                index.status = if !before.is_complete() || index.unique && before.unique {
                    before.status.clone()
                } else if index.unique {
                    IndexStatus::Checking
                } else {
                    IndexStatus::Ready
                };
            } else {
                let mut free = numbers_from(self.version).filter(|kind| !used.contains(kind));
                index.kind = free.next().unwrap_or(i16::MAX);
                used.insert(index.kind);
            }
            indexes.push(index);
        }
        let dropped = self.indexes.iter().filter(|index| !kept.contains(&index.kind));
        indexes.extend(
            dropped.map(|index| MemberIndex { status: IndexStatus::Dropped, ..index.clone() }),
        );
        indexes
    }
}

/// All numbers of indexes, first those of this version of the schema.
fn numbers_from(version: i64) -> impl Iterator<Item = i16> {
    let (all, each) = (usize::from(i16::MAX.unsigned_abs()), INDEXED_MEMBERS_MAX);
    let first = usize::try_from(version - 1).unwrap_or(0) % (all / each) * each;
    let turned = (INDEX_KIND_MIN..i16::MAX).cycle().skip(first);
    turned.take(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_keys_have_the_order_of_numbers() {
        let numbers = [
            Json::Float(f64::MIN),
            Json::Int(i64::MIN),
            Json::Int(i64::MIN + 1),
            Json::Int(-9_007_199_254_740_993),
            Json::Float(-9_007_199_254_740_992.0),
            Json::Float(-1.5),
            Json::Int(-1),
            Json::Float(-f64::MIN_POSITIVE),
            Json::Int(0),
            Json::Float(f64::MIN_POSITIVE),
            Json::Int(1),
            Json::Float(1.5),
            Json::Float(9_007_199_254_740_992.0),
            Json::Int(9_007_199_254_740_993),
            Json::Int(9_007_199_254_740_994),
            Json::Int(i64::MAX - 1),
            Json::Int(i64::MAX),
            Json::Float(9_223_372_036_854_775_808.0),
            Json::Float(f64::MAX),
        ];
        let keys: Vec<String> = numbers.iter().filter_map(number_key).collect();
        assert_eq!(keys.len(), numbers.len());
        assert!(keys.is_sorted_by(|one, other| one < other), "{keys:?}");
        assert_eq!(number_key(&Json::Float(-0.0)), number_key(&Json::Int(0)));
        assert_eq!(number_key(&Json::Float(2.0)), number_key(&Json::Int(2)));
    }
}
