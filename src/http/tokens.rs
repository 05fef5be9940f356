//! The tokens that open the admin API: kept as digests, compared in constant time, replaced at run time.

use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::failures::Failures;
use crate::config::{Role, Token};
use crate::model::By;

/// Whom a request comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The name of the token.
    pub name: String,
    /// What the token may do.
    pub role: Role,
}

impl Caller {
    /// For the audit log.
    pub fn by(&self) -> By {
        By::api(self.name.as_str(), self.role.word())
    }
}

struct Known {
    caller: Caller,
    digest: [u8; 32],
}

/// The tokens in force; cheap to clone, all clones change together.
#[derive(Clone)]
pub struct Tokens {
    known: Arc<RwLock<Arc<[Known]>>>,
    /// How often they were replaced.
    version: Arc<AtomicU64>,
    failures: Arc<Failures>,
}

impl Tokens {
    /// Lets these in and nobody else. A blank token opens nothing.
    pub fn new(tokens: &[Token]) -> Self {
        Self { known: Arc::new(RwLock::new(digests(tokens))), version: Arc::default(), failures: Arc::default() }
    }

    /// Puts other tokens in their place, from the next request on; failed log-ins are forgotten.
    pub fn replace(&self, tokens: &[Token]) {
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = digests(tokens);
        self.version.fetch_add(1, Ordering::SeqCst);
        self.failures.forget();
    }

    /// Changes when the tokens are replaced.
    pub(super) fn version(&self) -> u64 {
        self.version.load(Ordering::SeqCst)
    }

    /// Notes that a log-in from this address failed; if it has had too many, how long it is to wait.
    pub(super) fn failed(&self, from: IpAddr) -> Option<Duration> {
        self.failures.note(from, Instant::now())
    }

    /// Whom this text belongs to. Every known token is compared, each in constant time.
    pub(super) fn find(&self, text: &str) -> Option<Caller> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner).clone();
        let digest = sha256(text);
        let mut found = None;
        for token in known.iter() {
            if bool::from(token.digest.ct_eq(&digest)) {
                found = Some(&token.caller);
            }
        }
        found.cloned()
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        f.debug_list().entries(known.iter().map(|token| &token.caller)).finish()
    }
}

fn digests(tokens: &[Token]) -> Arc<[Known]> {
    let usable = tokens.iter().filter(|token| !token.secret.expose().trim().is_empty());
    usable
        .map(|token| Known {
            caller: Caller { name: token.name.clone(), role: token.role },
            digest: sha256(token.secret.expose()),
        })
        .collect()
}

fn sha256(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Secret;

    fn token(name: &str, role: Role, secret: &str) -> Token {
        Token { name: name.to_owned(), role, secret: Secret::new(secret) }
    }

    #[test]
    fn a_rotation_lets_both_in_and_a_replacement_only_the_new_one() {
        let tokens = Tokens::new(&[token("cron", Role::Trigger, "old"), token("cron", Role::Trigger, "new")]);
        assert_eq!(tokens.find("old"), tokens.find("new"));
        assert!(tokens.find("new").is_some());
        tokens.replace(&[token("cron", Role::Trigger, "new")]);
        assert_eq!(tokens.find("old"), None);
        assert!(tokens.find("new").is_some());
    }

    #[test]
    fn a_blank_token_opens_nothing() {
        let tokens = Tokens::new(&[token("a", Role::Admin, ""), token("b", Role::Admin, " \n")]);
        for text in ["", " ", " \n", "undefined"] {
            assert_eq!(tokens.find(text), None, "{text:?}");
        }
        let shown = format!("{:?}", Tokens::new(&[token("a", Role::Admin, "s3cret")]));
        assert!(!shown.contains("s3cret"), "{shown}");
    }
}
