//! `Accept-Encoding`: the choice of the content coding of a response (RFC 9110 section 12.5.3).

use http::{
    HeaderMap, HeaderValue,
    header::{ACCEPT_ENCODING, CACHE_CONTROL},
};

/// A content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// Brotli (RFC 7932).
    Brotli,
    /// Gzip (RFC 1952).
    Gzip,
}

impl Coding {
    /// The value of `Content-Encoding`.
    pub const fn header(self) -> HeaderValue {
        HeaderValue::from_static(self.name())
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Gzip => "gzip",
        }
    }
}

/// What a caller accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AcceptedCoding {
    /// The coding that the caller prefers over no coding. Of equally preferred ones, the first
    /// offered.
    pub coding: Option<Coding>,
    /// Whether the caller rejects a response without a coding.
    pub only_coded: bool,
}

impl AcceptedCoding {
    /// Selects one of the offered codings or none. Selects none without `Accept-Encoding`, and with
    /// `Cache-Control: no-transform`.
    pub fn of(headers: &HeaderMap, offered: &[Coding]) -> Self {
        let mut weights = Weights::default();
        for (name, weight) in codings(headers) {
            if name.eq_ignore_ascii_case("identity") {
                weights.identity = Some(weight);
            } else if name == "*" {
                weights.other = Some(weight);
            }
        }
        let identity = weights.identity.or(weights.other.filter(|weight| *weight == 0));
        let mut best: Option<(u16, Coding)> = None;
        for coding in offered.iter().copied() {
            let named = codings(headers).find(|(name, _)| is(coding, name));
            let weight = named.map(|(_, weight)| weight).or(weights.other).unwrap_or(0);
            if weight > best.map_or(0, |(best, _)| best) && weight >= identity.unwrap_or(0) {
                best = Some((weight, coding));
            }
        }
        if forbids_transformation(headers) {
            best = None;
        }
        Self { coding: best.map(|(_, coding)| coding), only_coded: identity == Some(0) }
    }
}

#[derive(Default)]
struct Weights {
    identity: Option<u16>,
    other: Option<u16>,
}

/// The codings of a request with their weights in thousandths.
fn codings(headers: &HeaderMap) -> impl Iterator<Item = (&str, u16)> {
    let lines = headers.get_all(ACCEPT_ENCODING).into_iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(|item| {
        let (name, parameters) = item.split_once(';').unwrap_or((item, ""));
        (name.trim(), weight_of(parameters))
    })
}

/// The weight of `;q=0.5` in thousandths. A coding with an invalid weight is not used.
fn weight_of(parameters: &str) -> u16 {
    let is_weight = |name: &str| name.trim().eq_ignore_ascii_case("q");
    let weights = parameters.split(';').filter_map(|one| one.split_once('='));
    let mut weights = weights.filter(|(name, _)| is_weight(name));
    let Some((_, weight)) = weights.next() else { return 1000 };
    let (whole, fraction) = weight.trim().split_once('.').unwrap_or((weight.trim(), ""));
    let is_valid = matches!(whole, "0" | "1")
        && fraction.len() <= 3
        && fraction.bytes().all(|digit| digit.is_ascii_digit());
    if is_valid { thousandths(weight.trim()) } else { 0 }
}

/// A weight in thousandths (RFC 9110 section 12.4.2). An invalid one counts as 1.
pub fn thousandths(text: &str) -> u16 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    match (whole, format!("{fraction:0<3}").parse::<u16>()) {
        ("0", Ok(weight)) if fraction.len() <= 3 => weight,
        _ => 1000,
    }
}

/// Whether a name is that of the coding. `x-gzip` means `gzip` (RFC 9110 section 8.4.1.3).
fn is(coding: Coding, name: &str) -> bool {
    name.eq_ignore_ascii_case(coding.name())
        || (coding == Coding::Gzip && name.eq_ignore_ascii_case("x-gzip"))
}

fn forbids_transformation(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(CACHE_CONTROL).into_iter().filter_map(|line| line.to_str().ok());
    lines
        .flat_map(|line| line.split(','))
        .any(|directive| directive.trim().eq_ignore_ascii_case("no-transform"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(accept: &'static str) -> (Option<Coding>, bool) {
        let value = HeaderValue::from_static(accept);
        let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, value)]);
        let accepted = AcceptedCoding::of(&headers, &[Coding::Brotli, Coding::Gzip]);
        (accepted.coding, accepted.only_coded)
    }

    #[test]
    fn the_coding_that_the_caller_prefers_is_chosen() {
        let (brotli, gzip) = (Some(Coding::Brotli), Some(Coding::Gzip));
        for (accept, expected) in [
            ("gzip", (gzip, false)),
            ("gzip, deflate, br", (brotli, false)),
            ("br;q=0.5, GZIP;q=0.8", (gzip, false)),
            ("x-gzip", (gzip, false)),
            ("*", (brotli, false)),
            ("br;q=0, *", (gzip, false)),
            ("gzip;q=0", (None, false)),
            ("gzip; q=0.000, br;q=0.0", (None, false)),
            ("identity, gzip;q=0.5", (None, false)),
            ("identity;q=0.5, gzip", (gzip, false)),
            ("identity;q=0, gzip;q=0.1", (gzip, true)),
            ("IDENTITY;q=0, GZip;q=0.1", (gzip, true)),
            ("gzip;q=0.1, *;q=0", (gzip, true)),
            ("*;q=0", (None, true)),
            ("gzip;q=0.0000", (None, false)),
            ("gzip;q=-1, br;q=2", (None, false)),
            ("gzip;level=1;q=0", (None, false)),
            ("gzip;Q=1.000", (gzip, false)),
            ("deflate", (None, false)),
            ("", (None, false)),
        ] {
            assert_eq!(of(accept), expected, "{accept}");
        }
        assert_eq!(
            AcceptedCoding::of(&HeaderMap::new(), &[Coding::Gzip]),
            AcceptedCoding::default()
        );
    }

    #[test]
    fn a_caller_may_forbid_transformations() {
        let headers = HeaderMap::from_iter([
            (ACCEPT_ENCODING, HeaderValue::from_static("gzip")),
            (CACHE_CONTROL, HeaderValue::from_static("max-age=0, No-Transform")),
        ]);
        assert_eq!(AcceptedCoding::of(&headers, &[Coding::Gzip]).coding, None);
    }
}
