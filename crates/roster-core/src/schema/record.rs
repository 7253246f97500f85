//! The canonical JSON of the schema, which the store, events and responses contain.

use bytes::Bytes;

use super::{
    DeclaredMember, IndexStatus, IndexedMember, MemberIndex, UserSchema, ValueType, index_of_flags,
};
use crate::{
    id::UserId,
    json::{self, Json},
    timestamp::Timestamp,
    user::{CorruptRecord, attribute::Attribute},
};

impl UserSchema {
    /// The canonical JSON.
    pub fn to_record(&self) -> Bytes {
        let declared = self.members.iter().map(DeclaredMember::to_json).collect();
        let mut members = vec![
            ("version".to_owned(), Json::Int(self.version)),
            ("attributes".to_owned(), Json::Array(declared)),
        ];
        if !self.indexed_members.is_empty() {
            let names = self.indexed_members.iter().map(|one| Json::Text(one.name().to_owned()));
            members.push(("indexed_members".to_owned(), Json::Array(names.collect())));
        }
        if let Some(at) = self.updated_at {
            members.push(("updated_at".to_owned(), Json::Text(at.to_string())));
        }
        let mut out = Vec::with_capacity(256);
        json::write_object(&mut out, &members);
        Bytes::from(out)
    }

    /// Parses a record without checking its values.
    pub fn from_record(record: &[u8]) -> Result<Self, CorruptRecord> {
        let corrupt = |member: &str| CorruptRecord { member: member.to_owned() };
        let tree = json::read(record).map_err(|_| corrupt("its JSON"))?;
        let (Some(Json::Int(version)), Some(Json::Array(declared))) =
            (tree.member("version"), tree.member("attributes"))
        else {
            return Err(corrupt("version or attributes"));
        };
        let updated_at = match tree.member("updated_at") {
            Some(Json::Text(at)) => {
                Some(Timestamp::parse(at).ok_or_else(|| corrupt("updated_at"))?)
            }
            _ => None,
        };
        let members = declared.iter().map(DeclaredMember::from_json).collect::<Option<_>>();
        let members = members.ok_or_else(|| corrupt("attributes"))?;
        let built_in: &[Json] =
            if let Some(Json::Array(names)) = tree.member("indexed_members") { names } else { &[] };
        let name = |name: &Json| {
            if let Json::Text(name) = name { Attribute::from_name(name) } else { None }
        };
        let indexed_members = built_in.iter().map(name).collect::<Option<_>>();
        let indexed_members = indexed_members.ok_or_else(|| corrupt("indexed_members"))?;
        Ok(Self { version: *version, members, indexed_members, updated_at, indexes: Vec::new() })
    }
}

impl DeclaredMember {
    fn to_json(&self) -> Json {
        let text = |text: &str| Json::Text(text.to_owned());
        let mut members = vec![
            ("name".to_owned(), text(&self.name)),
            ("type".to_owned(), text(self.value_type.as_str())),
            ("multi_valued".to_owned(), Json::Bool(self.multi_valued)),
            ("required".to_owned(), Json::Bool(self.required)),
            ("indexed".to_owned(), Json::Bool(self.index.is_some())),
            ("unique".to_owned(), Json::Bool(self.is_unique())),
            ("case_exact".to_owned(), Json::Bool(self.case_exact)),
        ];
        let texts = [("description", &self.description), ("scim_schema", &self.scim_schema)];
        for (name, value) in texts {
            members.extend(value.as_deref().map(|value| (name.to_owned(), text(value))));
        }
        Json::Object(members)
    }

    fn from_json(tree: &Json) -> Option<Self> {
        let text = |name: &str| match tree.member(name) {
            Some(Json::Text(text)) => Some(text.clone()),
            _ => None,
        };
        let flag = |name: &str| tree.member(name) == Some(&Json::Bool(true));
        Some(Self {
            name: text("name")?,
            value_type: ValueType::parse(&text("type")?)?,
            multi_valued: flag("multi_valued"),
            required: flag("required"),
            index: index_of_flags(flag("indexed"), flag("unique")),
            case_exact: flag("case_exact"),
            description: text("description"),
            scim_schema: text("scim_schema"),
        })
    }
}

impl UserSchema {
    /// The schema of a record with these indexes, which a store keeps beside it.
    pub fn with_indexes(mut self, stored: &[u8]) -> Result<Self, CorruptRecord> {
        let corrupt = || CorruptRecord { member: "an index".to_owned() };
        let Ok(Json::Array(indexes)) = json::read(stored) else { return Err(corrupt()) };
        let indexes = indexes.iter().map(MemberIndex::from_json).collect::<Option<_>>();
        self.indexes = indexes.ok_or_else(corrupt)?;
        Ok(self)
    }

    /// The indexes as a store keeps them.
    pub fn indexes_to_json(&self) -> String {
        let mut out = Vec::new();
        let indexes = self.indexes.iter().map(MemberIndex::to_json).collect();
        json::write_json(&mut out, &Json::Array(indexes));
        String::from_utf8_lossy(&out).into_owned()
    }
}

impl MemberIndex {
    fn to_json(&self) -> Json {
        let text = |text: &str| Json::Text(text.to_owned());
        let mut members = vec![
            ("kind".to_owned(), Json::Int(self.kind.into())),
            ("member".to_owned(), text(&self.member.name())),
            ("type".to_owned(), text(self.value_type.as_str())),
            ("multi_valued".to_owned(), Json::Bool(self.multi_valued)),
            ("case_exact".to_owned(), Json::Bool(self.case_exact)),
            ("unique".to_owned(), Json::Bool(self.unique)),
            ("status".to_owned(), text(self.status.name())),
        ];
        match &self.status {
            IndexStatus::Building { reached, users } => {
                let reached = reached.map(|id| ("reached".to_owned(), text(&id.to_string())));
                members.extend(reached);
                let users = i64::try_from(*users).unwrap_or(i64::MAX);
                members.push(("users".to_owned(), Json::Int(users)));
            }
            IndexStatus::Failed { shared } => {
                let ids = |ids: &Vec<UserId>| {
                    Json::Array(ids.iter().map(|id| text(&id.to_string())).collect())
                };
                members.push(("shared".to_owned(), Json::Array(shared.iter().map(ids).collect())));
            }
            IndexStatus::Checking | IndexStatus::Ready | IndexStatus::Dropped => {}
        }
        Json::Object(members)
    }

    fn from_json(tree: &Json) -> Option<Self> {
        let text = |name: &str| match tree.member(name) {
            Some(Json::Text(text)) => Some(text.as_str()),
            _ => None,
        };
        let number = |name: &str| match tree.member(name) {
            Some(Json::Int(number)) => Some(*number),
            _ => None,
        };
        let flag = |name: &str| tree.member(name) == Some(&Json::Bool(true));
        let id = |tree: &Json| if let Json::Text(id) = tree { UserId::parse(id) } else { None };
        let ids = |tree: &Json| {
            let Json::Array(ids) = tree else { return None };
            ids.iter().map(id).collect::<Option<Vec<_>>>()
        };
        let status = match text("status")? {
            "building" => IndexStatus::Building {
                reached: tree.member("reached").and_then(id),
                users: u64::try_from(number("users")?).ok()?,
            },
            "checking" => IndexStatus::Checking,
            "ready" => IndexStatus::Ready,
            "failed" => {
                let Some(Json::Array(shared)) = tree.member("shared") else { return None };
                IndexStatus::Failed { shared: shared.iter().map(ids).collect::<Option<_>>()? }
            }
            "dropped" => IndexStatus::Dropped,
            _ => return None,
        };
        Some(Self {
            kind: i16::try_from(number("kind")?).ok()?,
            member: IndexedMember::parse(text("member")?)?,
            value_type: ValueType::parse(text("type")?)?,
            multi_valued: flag("multi_valued"),
            case_exact: flag("case_exact"),
            unique: flag("unique"),
            status,
        })
    }
}
