//! The settings of an issuer of tokens: how each is read, and the issuer that they make together.
//!
//! One issuer can be told so; it becomes a list all the same, for the faces take several. The name
//! in the change log is not a setting.

use roster_http::{IssuerUrl, TokenAlgorithm, TokenIssuer};

use super::Config;

/// What the change log calls the issuer.
const NAME: &str = "jwt";
/// Most characters of a text.
const CHARS_MAX: usize = 255;

/// The algorithms that there are, for the manual; a test holds it to them.
pub(super) const ALGORITHMS: &str =
    "some of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, EdDSA";

/// Reads the URL of an issuer; empty is none.
pub(super) fn url(config: &mut Config, text: &str) -> Result<(), String> {
    let echo = if text.contains('@') { "the URL" } else { text };
    let url = (!text.is_empty()).then(|| IssuerUrl::parse(text)).transpose();
    config.jwt_issuer = url.map_err(|detail| format!("{echo} {detail}"))?;
    Ok(())
}

/// Reads algorithms with commas between them.
pub(super) fn algorithms(config: &mut Config, text: &str) -> Result<(), String> {
    let read = |name: &str| {
        let algorithm = TokenAlgorithm::parse(name.trim());
        algorithm.ok_or_else(|| {
            let known: Vec<_> = TokenAlgorithm::ALL.iter().map(|one| one.as_str()).collect();
            format!("{name:?} is none of {}", known.join(", "))
        })
    };
    config.jwt_algorithms = text.split(',').map(read).collect::<Result<_, _>>()?;
    Ok(())
}

/// Reads an audience; empty is none.
pub(super) fn audience(config: &mut Config, text: &str) -> Result<(), String> {
    config.jwt_audience = plain(text)?;
    Ok(())
}

/// Reads the name of a claim.
pub(super) fn scope_claim(config: &mut Config, text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Err("must name a claim".to_owned());
    }
    config.jwt_scope_claim = plain(text)?;
    Ok(())
}

/// Reads what stands before a scope; empty is nothing.
pub(super) fn scope_prefix(config: &mut Config, text: &str) -> Result<(), String> {
    config.jwt_scope_prefix = plain(text)?;
    Ok(())
}

fn plain(text: &str) -> Result<String, String> {
    let fits = text.chars().count() <= CHARS_MAX && !text.chars().any(char::is_control);
    let wrong = || format!("must be at most {CHARS_MAX} characters, none of them a control one");
    fits.then(|| text.to_owned()).ok_or_else(wrong)
}

impl Config {
    /// The issuers whose tokens let callers in.
    pub fn issuers(&self) -> Vec<TokenIssuer> {
        let issuer = self.jwt_issuer.clone().map(|url| TokenIssuer {
            name: NAME.to_owned(),
            url,
            audience: self.jwt_audience.clone(),
            algorithms: self.jwt_algorithms.clone(),
            scope_claim: self.jwt_scope_claim.clone(),
            scope_prefix: self.jwt_scope_prefix.clone(),
        });
        issuer.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manual_names_every_algorithm() {
        let known: Vec<_> = TokenAlgorithm::ALL.iter().map(|one| one.as_str()).collect();
        assert_eq!(ALGORITHMS.strip_prefix("some of "), Some(known.join(", ").as_str()));
    }
}
