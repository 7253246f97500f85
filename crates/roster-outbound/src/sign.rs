//! Signatures of requests (Standard Webhooks 1.0, "v1").

use data_encoding::BASE64;
use ring::hmac::{HMAC_SHA256, Key, sign};

/// The signature of a request with this `webhook-id`, `webhook-timestamp` in seconds, and content.
pub fn signature(secret: &[u8], id: &str, timestamp: i64, content: &[u8]) -> String {
    let signed = [id.as_bytes(), b".", timestamp.to_string().as_bytes(), b".", content].concat();
    let tag = sign(&Key::new(HMAC_SHA256, secret), &signed);
    format!("v1,{}", BASE64.encode(tag.as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification.
    #[test]
    fn the_signature_is_that_of_the_standard() {
        let secret = BASE64.decode(b"MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signed = signature(
            &secret,
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            br#"{"test": 2432232314}"#,
        );
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }
}
