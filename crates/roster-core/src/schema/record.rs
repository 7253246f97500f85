//! The canonical JSON of the schema, which the store, events and responses contain.

use bytes::Bytes;

use super::{DeclaredMember, UserSchema, ValueType};
use crate::{
    json::{self, Json},
    timestamp::Timestamp,
    user::CorruptRecord,
};

impl UserSchema {
    /// The canonical JSON.
    pub fn to_record(&self) -> Bytes {
        let declared = self.members.iter().map(DeclaredMember::to_json).collect();
        let mut members = vec![
            ("version".to_owned(), Json::Int(self.version)),
            ("attributes".to_owned(), Json::Array(declared)),
        ];
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
        Ok(Self { version: *version, members, updated_at })
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
            description: text("description"),
            scim_schema: text("scim_schema"),
        })
    }
}
