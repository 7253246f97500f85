//! Writes a group's record and its members as a SCIM group.

use roster_core::{
    Group, GroupId, Json, Member, MemberKind,
    json::{write_json, write_text},
};

use crate::{
    project::{Projection, Selection},
    schema::GROUP_URN,
};

/// The URL of a group.
pub fn location(base: &str, id: GroupId) -> String {
    format!("{base}/Groups/{id}")
}

/// The URL of a member.
pub fn member_location(base: &str, member: &Member) -> String {
    let endpoint = match member.kind {
        MemberKind::User => "Users",
        MemberKind::Group => "Groups",
    };
    format!("{base}/{endpoint}/{}", member.id)
}

/// Whether the projection includes members, so that they must be loaded.
pub fn shows_members(projection: &Projection) -> bool {
    projection.attribute(GROUP_URN, "members") != Selection::None
}

/// The attributes of a group, except the members, as JSON. A PATCH is applied to it.
pub fn own_tree(group: &Group) -> Json {
    let mut members = vec![
        ("schemas".to_owned(), Json::Array(vec![Json::Text(GROUP_URN.to_owned())])),
        ("id".to_owned(), Json::Text(group.id.to_string())),
    ];
    if let Some(id) = &group.external_id {
        members.push(("externalId".to_owned(), Json::Text(id.clone())));
    }
    members.push(("displayName".to_owned(), Json::Text(group.display_name.clone())));
    Json::Object(members)
}

/// Writes the groups of one response.
#[derive(Clone, Copy, Debug)]
pub struct GroupWriter<'a> {
    /// The absolute base URL of SCIM, without a slash at its end.
    pub base: &'a str,
    /// The attributes to return.
    pub projection: &'a Projection,
}

impl GroupWriter<'_> {
    /// Appends a group with these members.
    pub fn write(&self, group: &Group, members: &[Member], out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"schemas\":[\"");
        out.extend_from_slice(GROUP_URN.as_bytes());
        out.extend_from_slice(b"\"],\"id\":");
        write_text(out, &group.id.to_string());
        let whole = |name: &str| self.projection.attribute(GROUP_URN, name) != Selection::None;
        if let Some(id) = group.external_id.as_ref().filter(|_| whole("externalId")) {
            out.extend_from_slice(b",\"externalId\":");
            write_text(out, id);
        }
        if whole("displayName") {
            out.extend_from_slice(b",\"displayName\":");
            write_text(out, &group.display_name);
        }
        if shows_members(self.projection) {
            self.members(members, out);
        }
        self.meta(group, out);
        out.push(b'}');
    }

    fn members(&self, members: &[Member], out: &mut Vec<u8>) {
        let shown = |part: &str| self.projection.part(GROUP_URN, "members", part);
        let (value, reference, kind) = (shown("value"), shown("$ref"), shown("type"));
        if !(value || reference || kind) {
            return;
        }
        out.extend_from_slice(b",\"members\":[");
        for (index, member) in members.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            let mut parts = Vec::with_capacity(3);
            if value {
                parts.push(format!("\"value\":\"{}\"", member.id));
            }
            if kind {
                let kind = match member.kind {
                    MemberKind::User => "User",
                    MemberKind::Group => "Group",
                };
                parts.push(format!("\"type\":\"{kind}\""));
            }
            if reference {
                // The URL has no characters that JSON would escape.
                parts.push(format!("\"$ref\":\"{}\"", member_location(self.base, member)));
            }
            out.extend_from_slice(format!("{{{}}}", parts.join(",")).as_bytes());
        }
        out.push(b']');
    }

    fn meta(&self, group: &Group, out: &mut Vec<u8>) {
        let text = |text: String| Json::Text(text);
        let parts = [
            ("resourceType", text("Group".to_owned())),
            ("created", text(group.id.created_at().to_string())),
            ("lastModified", text(group.updated_at.to_string())),
            ("location", text(location(self.base, group.id))),
            ("version", text(format!("W/\"{}\"", group.version))),
        ];
        let shown = |(name, _): &(&str, Json)| self.projection.part(GROUP_URN, "meta", name);
        let parts: Vec<(String, Json)> =
            parts.into_iter().filter(shown).map(|(name, value)| (name.to_owned(), value)).collect();
        if !parts.is_empty() {
            out.extend_from_slice(b",\"meta\":");
            write_json(out, &Json::Object(parts));
        }
    }
}

#[cfg(test)]
mod tests {
    use roster_core::{Timestamp, UserId};

    use super::*;
    use crate::schema::GROUP;

    const ONE: &str = "0190d1c2-8000-7000-8000-000000000001";

    fn written(projection: &Projection) -> String {
        let id = UserId::parse(ONE).expect("an id");
        let group = Group {
            id,
            version: 3,
            display_name: "Team".to_owned(),
            external_id: Some("x".to_owned()),
            member_count: 2,
            updated_at: Timestamp::from_millis(1_720_000_000_000),
        };
        let members =
            [Member { id, kind: MemberKind::User }, Member { id, kind: MemberKind::Group }];
        let mut out = Vec::new();
        GroupWriter { base: "http://x/scim/v2", projection }.write(&group, &members, &mut out);
        String::from_utf8(out).expect("UTF-8")
    }

    fn names(text: &str) -> Vec<String> {
        text.split(',').map(str::to_owned).collect()
    }

    #[test]
    fn a_group_is_written_with_its_members() {
        let text = written(&Projection::default());
        for part in [
            r#""displayName":"Team""#,
            r#""externalId":"x""#,
            &format!(r#"{{"value":"{ONE}","type":"User","$ref":"http://x/scim/v2/Users/{ONE}"}}"#),
            &format!(r#""type":"Group","$ref":"http://x/scim/v2/Groups/{ONE}""#),
            r#""version":"W/\"3\"""#,
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn only_requested_attributes_are_written() {
        let some = Projection::read(&GROUP, Some(&names("members.value")), None).expect("names");
        let text = written(&some);
        assert!(text.contains("\"members\":[{\"value\":"), "{text}");
        assert!(!text.contains("displayName") && !text.contains("$ref"), "{text}");
        let without = Projection::read(&GROUP, None, Some(&names("members"))).expect("names");
        assert!(!shows_members(&without) && shows_members(&Projection::default()));
        assert!(!written(&without).contains("members"));
    }
}
