//! The checks of the JWT settings.
//!
//! Without an audience, the service would accept any token of an issuer, also one made for another
//! service. A setting for an unknown issuer would have no effect, so it is a fault.

use crate::config::{Config, Faults, NamedIssuer, Report};

/// Rejects an issuer without an audience, an audience without an issuer, and unknown names.
pub(super) fn check(config: &Config, report: &Report) -> Result<(), Faults> {
    let mut faults = Faults::default();
    for issuer in &config.jwt_issuer {
        if config.jwt_audience.of(&issuer.name).is_none() {
            let detail = "needs an audience: set jwt_audience";
            let whose = if config.jwt_issuer.len() > 1 { issuer.name.as_str() } else { "" };
            let gap = if whose.is_empty() { "" } else { " " };
            report.fault(&mut faults, "jwt_issuer", &format!("{whose}{gap}{detail}"));
        }
    }
    if config.jwt_issuer.is_empty() && !config.jwt_audience.is_empty() {
        report.fault(&mut faults, "jwt_audience", "needs an issuer: set jwt_issuer");
        return Err(faults);
    }
    for (key, texts) in
        [("jwt_tenant", &config.jwt_tenant), ("jwt_tenant_claim", &config.jwt_tenant_claim)]
    {
        if config.jwt_issuer.is_empty() && !texts.is_empty() {
            report.fault(&mut faults, key, "needs an issuer: set jwt_issuer");
        }
    }
    for NamedIssuer { name, .. } in &config.jwt_issuer {
        if config.jwt_tenant.own(name).is_some() && config.jwt_tenant_claim.own(name).is_some()
            || config.jwt_tenant.is_for_all() && config.jwt_tenant_claim.is_for_all()
        {
            let detail = "give jwt_tenant or jwt_tenant_claim, not both";
            report.fault(&mut faults, "jwt_tenant", detail);
            break;
        }
    }
    for (key, texts) in [
        ("jwt_audience", &config.jwt_audience),
        ("jwt_scope_claim", &config.jwt_scope_claim),
        ("jwt_scope_prefix", &config.jwt_scope_prefix),
        ("jwt_tenant", &config.jwt_tenant),
        ("jwt_tenant_claim", &config.jwt_tenant_claim),
    ] {
        let unknown =
            |name: &&str| config.jwt_issuer.iter().all(|issuer| issuer.name.as_str() != *name);
        for name in texts.names().filter(unknown) {
            report.fault(&mut faults, key, &format!("no issuer is named {name:?}"));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}
