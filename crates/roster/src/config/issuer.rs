//! The settings of token issuers, and the issuers that they define.
//!
//! Several issuers have names. The change log uses the names, so subjects of different issuers are
//! not confused. A setting applies to all issuers, or to the one that it names. The combination is
//! checked after all settings are read.

use roster_core::TenantName;
use roster_jwt::{IssuerUrl, TokenAlgorithm, TokenIssuer, TokenTenant, limits::ISSUERS_MAX};

use super::Config;

/// The name of an issuer without a given name.
const NAME: &str = "jwt";
/// Names that the change log uses for other actors.
const RESERVED: [&str; 4] = ["key", "system", "anonymous", "roster"];
/// Maximum length of a name, in characters.
const NAME_CHARS_MAX: usize = 32;
/// Maximum length of a text, in characters.
const CHARS_MAX: usize = 255;

/// The algorithms, for the manual. A test compares it with the implemented ones.
pub(super) const ALGORITHMS: &str =
    "some of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, EdDSA";

/// A named issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedIssuer {
    /// The name in the change log.
    pub name: String,
    /// The URL.
    pub url: IssuerUrl,
}

/// Texts for issuers: one for all, and texts for single issuers by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForIssuers {
    all: Option<String>,
    named: Vec<(String, String)>,
}

impl ForIssuers {
    /// One text for all issuers.
    pub(super) fn all(text: &str) -> Self {
        Self { all: Some(text.to_owned()), named: Vec::new() }
    }

    /// Parses a list separated by commas; empty for none.
    fn parse(text: &str) -> Result<Self, String> {
        let mut read = Self::default();
        for part in parts(text) {
            let (name, value) = named(part);
            let value = plain(value)?;
            let before = match name {
                None => read.all.replace(value),
                Some(name) => {
                    let before = read.named.iter().find(|(given, _)| given == name);
                    let before = before.map(|(_, value)| value.clone());
                    read.named.push((name.to_owned(), value));
                    before
                }
            };
            if before.is_some() {
                let whom =
                    name.map_or_else(|| "all issuers".to_owned(), |name| format!("{name:?}"));
                return Err(format!("is given twice for {whom}"));
            }
        }
        Ok(read)
    }

    /// The text for an issuer.
    pub fn of(&self, name: &str) -> Option<&str> {
        self.own(name).or(self.all.as_deref())
    }

    /// The text for this issuer alone.
    pub fn own(&self, name: &str) -> Option<&str> {
        self.named.iter().find(|(given, _)| given == name).map(|(_, text)| text.as_str())
    }

    /// The names of issuers with their own text.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.named.iter().map(|(name, _)| name.as_str())
    }

    /// Whether there is a text for all issuers.
    pub const fn is_for_all(&self) -> bool {
        self.all.is_some()
    }

    /// Whether there is no text.
    pub const fn is_empty(&self) -> bool {
        self.all.is_none() && self.named.is_empty()
    }

    fn texts(&self) -> impl Iterator<Item = &String> {
        self.named.iter().map(|(_, text)| text).chain(&self.all)
    }

    fn has_empty(&self) -> bool {
        self.texts().any(String::is_empty)
    }
}

/// Parses the URLs of issuers; empty for none.
pub(super) fn urls(config: &mut Config, text: &str) -> Result<(), String> {
    let mut issuers: Vec<NamedIssuer> = Vec::new();
    for part in parts(text) {
        let (name, url) = named(part);
        let name = name.unwrap_or(NAME);
        let echo = if url.contains('@') { "the URL" } else { url };
        let url = IssuerUrl::parse(url).map_err(|detail| format!("{echo} {detail}"))?;
        if RESERVED.contains(&name) {
            return Err(format!("{name:?} cannot be the name of an issuer"));
        }
        if issuers.iter().any(|issuer| issuer.name == name) {
            return Err(format!("two issuers are named {name:?}: write NAME=URL"));
        }
        if issuers.iter().any(|issuer| issuer.url == url) {
            return Err(format!("{echo} is given twice"));
        }
        issuers.push(NamedIssuer { name: name.to_owned(), url });
    }
    if issuers.len() > ISSUERS_MAX {
        return Err(format!("at most {ISSUERS_MAX} issuers are allowed"));
    }
    config.jwt_issuer = issuers;
    Ok(())
}

/// Parses a list of algorithms separated by commas.
pub(super) fn algorithms(config: &mut Config, text: &str) -> Result<(), String> {
    let read = |name: &str| {
        let algorithm = TokenAlgorithm::parse(name.trim());
        algorithm.ok_or_else(|| {
            let known: Vec<_> = TokenAlgorithm::ALL.iter().map(|one| one.as_str()).collect();
            format!("{name:?} is not one of {}", known.join(", "))
        })
    };
    config.jwt_algorithms = text.split(',').map(read).collect::<Result<_, _>>()?;
    Ok(())
}

/// Parses audiences; empty for none.
pub(super) fn audience(config: &mut Config, text: &str) -> Result<(), String> {
    let read = ForIssuers::parse(text)?;
    if read.has_empty() {
        return Err("must name an audience".to_owned());
    }
    config.jwt_audience = read;
    Ok(())
}

/// Parses names of claims.
pub(super) fn scope_claim(config: &mut Config, text: &str) -> Result<(), String> {
    let read = ForIssuers::parse(text)?;
    if read.is_empty() || read.has_empty() {
        return Err("must name a claim".to_owned());
    }
    config.jwt_scope_claim = read;
    Ok(())
}

/// Parses prefixes of scopes; empty for none.
pub(super) fn scope_prefix(config: &mut Config, text: &str) -> Result<(), String> {
    config.jwt_scope_prefix = ForIssuers::parse(text)?;
    Ok(())
}

/// Parses names of tenants; empty for none.
pub(super) fn tenant(config: &mut Config, text: &str) -> Result<(), String> {
    let read = ForIssuers::parse(text)?;
    if let Some(wrong) = read.texts().find(|text| TenantName::parse(text).is_none()) {
        return Err(format!("{wrong:?} cannot be the name of a tenant"));
    }
    config.jwt_tenant = read;
    Ok(())
}

/// Parses names of claims; empty for none.
pub(super) fn tenant_claim(config: &mut Config, text: &str) -> Result<(), String> {
    let read = ForIssuers::parse(text)?;
    if read.has_empty() {
        return Err("must name a claim".to_owned());
    }
    config.jwt_tenant_claim = read;
    Ok(())
}

/// The parts of a list separated by commas.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty())
}

/// Splits a name from its value.
fn named(part: &str) -> (Option<&str>, &str) {
    let is_name = |name: &str| {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        name.starts_with(|first: char| first.is_ascii_lowercase())
            && name.len() <= NAME_CHARS_MAX
            && name.bytes().all(plain)
    };
    match part.split_once('=') {
        Some((name, value)) if is_name(name) => (Some(name), value),
        Some(_) | None => (None, part),
    }
}

fn plain(text: &str) -> Result<String, String> {
    let fits = text.chars().count() <= CHARS_MAX && !text.chars().any(char::is_control);
    let wrong = || format!("must be at most {CHARS_MAX} characters, none of them a control one");
    fits.then(|| text.to_owned()).ok_or_else(wrong)
}

impl Config {
    /// The issuers of accepted tokens.
    pub fn issuers(&self) -> Vec<TokenIssuer> {
        let issuer = |NamedIssuer { name, url }: &NamedIssuer| {
            let text = |texts: &ForIssuers| texts.of(name).unwrap_or_default().to_owned();
            TokenIssuer {
                name: name.clone(),
                url: url.clone(),
                audience: text(&self.jwt_audience),
                algorithms: self.jwt_algorithms.clone(),
                scope_claim: text(&self.jwt_scope_claim),
                scope_prefix: text(&self.jwt_scope_prefix),
                lifetime_max: self.jwt_lifetime_max,
                tenant: self.tenant_of(name),
            }
        };
        self.jwt_issuer.iter().map(issuer).collect()
    }

    /// The tenant of an issuer's tokens. What the issuer itself is given comes first.
    fn tenant_of(&self, issuer: &str) -> TokenTenant {
        let named = |text: &str| TenantName::parse(text).map(TokenTenant::Named);
        let claim = |text: &str| Some(TokenTenant::Claim(text.to_owned()));
        let (tenant, of_claim) = (&self.jwt_tenant, &self.jwt_tenant_claim);
        let own = tenant.own(issuer).and_then(named);
        let own = own.or_else(|| of_claim.own(issuer).and_then(claim));
        let found = own.or_else(|| tenant.of(issuer).and_then(named));
        let found = found.or_else(|| of_claim.of(issuer).and_then(claim));
        found.unwrap_or(TokenTenant::Default)
    }
}

#[cfg(test)]
mod tests {
    use super::super::resolve::unset;
    use super::*;

    #[test]
    fn the_manual_names_every_algorithm() {
        let known: Vec<_> = TokenAlgorithm::ALL.iter().map(|one| one.as_str()).collect();
        assert_eq!(ALGORITHMS.strip_prefix("some of "), Some(known.join(", ").as_str()));
    }

    type Put = fn(&mut Config, &str) -> Result<(), String>;

    fn config(settings: &[(Put, &str)]) -> Config {
        let mut config = unset();
        scope_claim(&mut config, "scope").unwrap();
        for put in [scope_prefix, tenant, tenant_claim] {
            put(&mut config, "").unwrap();
        }
        for (put, text) in settings {
            put(&mut config, text).unwrap_or_else(|fault| panic!("{text}: {fault}"));
        }
        config
    }

    #[test]
    fn one_issuer_needs_no_name() {
        let one = config(&[(urls, "https://a.example/x"), (audience, "https://roster.example")]);
        let issuers = one.issuers();
        assert_eq!(issuers.len(), 1);
        let found = &issuers[0];
        assert_eq!((found.name.as_str(), found.url.as_str()), ("jwt", "https://a.example/x"));
        assert_eq!(found.audience, "https://roster.example");
        assert_eq!((found.scope_claim.as_str(), found.scope_prefix.as_str()), ("scope", ""));
    }

    #[test]
    fn a_text_for_one_issuer_overrides_the_text_for_all() {
        let several = config(&[
            (urls, "staff=https://a.example, partners=https://b.example/x=y,https://c.example"),
            (audience, "urn:roster=1, partners=api://roster"),
            (scope_claim, "scope,partners=scp"),
            (scope_prefix, "staff=roster:"),
        ]);
        let found: Vec<_> = several
            .issuers()
            .into_iter()
            .map(|one| [one.name, one.audience, one.scope_claim, one.scope_prefix])
            .collect();
        assert_eq!(
            found,
            [
                ["staff", "urn:roster=1", "scope", "roster:"],
                ["partners", "api://roster", "scp", ""],
                ["jwt", "urn:roster=1", "scope", ""],
            ]
        );
    }

    #[test]
    fn the_tenant_of_an_issuer_is_what_it_is_given_itself() {
        let several = config(&[
            (urls, "a=https://a.example,b=https://b.example,https://c.example"),
            (tenant, "acme,b=globex"),
            (tenant_claim, "a=org_id"),
        ]);
        let tenants: Vec<_> = several.issuers().into_iter().map(|one| one.tenant).collect();
        let named = |text| TokenTenant::Named(TenantName::parse(text).unwrap());
        assert_eq!(
            tenants,
            [TokenTenant::Claim("org_id".to_owned()), named("globex"), named("acme")]
        );
        let none = config(&[(urls, "https://a.example")]);
        assert_eq!(none.issuers()[0].tenant, TokenTenant::Default);
    }

    #[test]
    fn ambiguous_issuers_are_rejected() {
        let many: Vec<_> =
            (0..=ISSUERS_MAX).map(|n| format!("n{n}=https://n{n}.example")).collect();
        let many = many.join(",");
        let rows: [(Put, &str, &str); 13] = [
            (urls, "https://a.example,https://b.example", "two issuers are named \"jwt\""),
            (urls, "a=https://a.example,a=https://b.example", "two issuers are named \"a\""),
            (urls, "a=https://a.example,b=https://a.example", "is given twice"),
            (urls, "key=https://a.example", "cannot be the name"),
            (urls, "A=https://a.example", "A=https://a.example "),
            (urls, "a=http://a.example", "http://a.example "),
            (urls, &many, "at most 16 issuers are allowed"),
            (audience, "one,two", "is given twice for all issuers"),
            (audience, "a=one,a=two", "is given twice for \"a\""),
            (audience, "a=", "must name an audience"),
            (scope_claim, "", "must name a claim"),
            (tenant, "a=Acme", "\"Acme\" cannot be the name of a tenant"),
            (tenant_claim, "a=", "must name a claim"),
        ];
        for (put, text, expected) in rows {
            let fault = put(&mut unset(), text).expect_err(text);
            assert!(fault.contains(expected), "{text}: {fault}");
        }
    }
}
