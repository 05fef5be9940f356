//! The token of an outside worker's claim: entry, claim number, and a seal that nobody makes up.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// The token of a claim in this installation.
pub(super) fn seal(installation: &str, id: i64, claim: i64) -> String {
    let mac = mac(installation, id, claim);
    format!("{id}.{claim}.{}", BASE64.encode(mac.finalize().into_bytes()))
}

/// The claim number that a token for this entry names, if the token is one of this installation.
pub(super) fn open(installation: &str, id: i64, token: &str) -> Option<i64> {
    let mut parts = token.splitn(3, '.');
    let (entry, claim, seal) = (parts.next()?, parts.next()?, parts.next()?);
    let claim: i64 = claim.parse().ok()?;
    let seal = BASE64.decode(seal).ok()?;
    let sealed = mac(installation, id, claim).verify_slice(&seal).is_ok();
    (sealed && entry.parse() == Ok(id)).then_some(claim)
}

fn mac(installation: &str, id: i64, claim: i64) -> Hmac<Sha256> {
    // A key of any length is taken.
    let mut mac =
        Hmac::<Sha256>::new_from_slice(installation.as_bytes()).unwrap_or_else(|_| Hmac::new(&Default::default()));
    mac.update(format!("claim.{id}.{claim}").as_bytes());
    mac
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_opens_its_own_claim_alone() {
        let token = seal("house", 17, 3);
        assert_eq!(open("house", 17, &token), Some(3));
        assert_eq!(open("house", 18, &token), None);
        assert_eq!(open("other", 17, &token), None);
        assert_eq!(open("house", 17, &token.replacen(".3.", ".4.", 1)), None);
        for wrong in ["", ".", "17.3.", "17.3", "17.3.AAAA", "x.y.z", "17.3.ä"] {
            assert_eq!(open("house", 17, wrong), None, "{wrong}");
        }
    }
}
