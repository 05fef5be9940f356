//! Signatures after the Standard Webhooks specification: `v1,` and base64 of HMAC-SHA256 over `id.timestamp.body`.

use std::fmt;

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::config::Secret;
use crate::error::{Error, Result};

const PREFIX: &str = "whsec_";
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Signs with each of the keys, so that a receiver may hold any of them while keys are being changed.
#[derive(Clone)]
pub(super) struct Signer {
    keys: Vec<Hmac<Sha256>>,
}

impl Signer {
    /// A secret is `whsec_` and base64, or a text whose bytes are the key.
    pub(super) fn new(secrets: &[Secret]) -> Result<Self> {
        let keys = secrets.iter().enumerate().map(|(index, secret)| key(secret, index + 1)).collect::<Result<_>>()?;
        Ok(Self { keys })
    }

    /// The value of `webhook-signature`; `None` without keys.
    pub(super) fn signature(&self, id: &str, timestamp: u64, body: &[u8]) -> Option<String> {
        let signatures = self.keys.iter().map(|key| {
            let mut mac = key.clone();
            mac.update(format!("{id}.{timestamp}.").as_bytes());
            mac.update(body);
            format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
        });
        Some(signatures.collect::<Vec<_>>().join(" ")).filter(|all| !all.is_empty())
    }
}

fn key(secret: &Secret, number: usize) -> Result<Hmac<Sha256>> {
    let text = secret.expose().trim();
    let bytes = match text.strip_prefix(PREFIX) {
        Some(encoded) => LENIENT.decode(encoded).map_err(|_| {
            Error::usage(format!(
                "signing secret {number}: what follows `{PREFIX}` is not base64 (RFC 4648, section 4)"
            ))
        })?,
        None => text.as_bytes().to_vec(),
    };
    if bytes.is_empty() {
        return Err(Error::usage(format!("signing secret {number} is empty")));
    }
    Hmac::new_from_slice(&bytes).map_err(|error| Error::usage(format!("signing secret {number}: {error}")))
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signer({} keys)", self.keys.len())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const AT: u64 = 1_614_265_330;
    const BODY: &[u8] = br#"{"test": 2432232314}"#;
    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const SIGNATURE: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

    fn signer(secrets: &[&str]) -> Result<Signer> {
        Signer::new(&secrets.iter().map(|secret| Secret::new(*secret)).collect::<Vec<_>>())
    }

    #[test]
    fn the_vector_of_the_specification() {
        assert_eq!(signer(&[SECRET]).unwrap().signature(ID, AT, BODY).unwrap(), SIGNATURE);
    }

    #[test]
    fn a_text_without_the_prefix_is_the_key_itself() {
        let signature = signer(&["plain text"]).unwrap().signature("a", 1, b"{}").unwrap();
        assert_eq!(signature, "v1,y11W0iQBun+rpNm/PmGnaOkA4AZV9JRnLLRAn8YhWwA=");
    }

    #[test]
    fn each_secret_signs_in_order_and_none_signs_nothing() {
        let both = signer(&["plain text", SECRET]).unwrap().signature(ID, AT, BODY).unwrap();
        let (first, second) = both.split_once(' ').unwrap();
        assert_ne!(first, SIGNATURE);
        assert_eq!(second, SIGNATURE);
        assert_eq!(signer(&[]).unwrap().signature(ID, AT, BODY), None);
    }

    #[test]
    fn a_wrong_secret_is_named_by_its_number_and_never_shown() {
        for (secrets, words) in [
            (["ok", "whsec_###hush###"], "signing secret 2: what follows `whsec_` is not base64"),
            (["ok", ""], "signing secret 2 is empty"),
            (["whsec_", "ok"], "signing secret 1 is empty"),
        ] {
            let error = signer(&secrets).unwrap_err();
            assert!(error.is_usage() && error.to_string().contains(words), "{error}");
            assert!(!error.to_string().contains("hush"));
        }
        assert_eq!(format!("{:?}", signer(&[SECRET]).unwrap()), "Signer(1 keys)");
    }
}
