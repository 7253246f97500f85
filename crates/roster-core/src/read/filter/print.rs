//! Prints an expression as text that parses to the same expression.

use std::fmt;

use super::{
    Filter,
    expression::{Expression, GROUPS, Operand, Path, Test},
};
use crate::json::{Json, write_json, write_text};

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.expression())
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(self, f, Inside::User)
    }
}

#[derive(Clone, Copy)]
enum Inside {
    User,
    Entry,
}

fn print(expression: &Expression, f: &mut fmt::Formatter<'_>, inside: Inside) -> fmt::Result {
    match expression {
        Expression::And(all) => links(all, " and ", f, inside),
        Expression::Or(any) => links(any, " or ", f, inside),
        Expression::Not(inner) => {
            f.write_str("not (")?;
            print(inner, f, inside)?;
            f.write_str(")")
        }
        Expression::Test(test) => print_test(test, f, inside),
        Expression::Entry(list, inner) => {
            write!(f, "{}[", list.list_name())?;
            print(inner, f, Inside::Entry)?;
            f.write_str("]")
        }
    }
}

fn links(
    links: &[Expression],
    word: &str,
    f: &mut fmt::Formatter<'_>,
    inside: Inside,
) -> fmt::Result {
    for (index, link) in links.iter().enumerate() {
        if index > 0 {
            f.write_str(word)?;
        }
        let grouped = matches!(link, Expression::And(_) | Expression::Or(_));
        f.write_str(if grouped { "(" } else { "" })?;
        print(link, f, inside)?;
        f.write_str(if grouped { ")" } else { "" })?;
    }
    Ok(())
}

fn print_test(test: &Test, f: &mut fmt::Formatter<'_>, inside: Inside) -> fmt::Result {
    match (&test.path, inside) {
        (Path::Part(_, part), Inside::Entry) => f.write_str(part.name())?,
        (Path::Part(attribute, part), Inside::User) => {
            write!(f, "{}.{}", attribute.name(), part.name())?;
        }
        (Path::Member(attribute), _) => f.write_str(attribute.name())?,
        (Path::Free(path), _) => write!(f, "attributes.{}", path.keys.join("."))?,
        (Path::Group(part), Inside::Entry) => f.write_str(part.name())?,
        (Path::Group(part), Inside::User) => write!(f, "{GROUPS}.{}", part.name())?,
        (Path::Groups, _) => f.write_str(GROUPS)?,
    }
    write!(f, " {}", test.operator.as_str())?;
    let mut out = Vec::new();
    match &test.operand {
        Operand::None => return Ok(()),
        Operand::Null => write_json(&mut out, &Json::Null),
        Operand::Text { typed, .. } => write_text(&mut out, typed),
        Operand::Integer(number) => write_json(&mut out, &Json::Int(*number)),
        Operand::Number(number) => write_json(&mut out, &Json::Float(*number)),
        Operand::Flag(flag) => write_json(&mut out, &Json::Bool(*flag)),
        Operand::Time(time) => write_text(&mut out, &time.to_string()),
        Operand::Status(status) => write_text(&mut out, status.as_str()),
        Operand::Ids(ids) => {
            let ids = ids.iter().map(|id| Json::Text(id.to_string()));
            write_json(&mut out, &Json::Array(ids.collect()));
        }
    }
    write!(f, " {}", String::from_utf8_lossy(&out))
}
