//! Log-ins that failed, by the address that they came from: counted by the minute, in bounded memory.
//!
//! A wrong token from an address with too many failures is answered 429. A right one is let in from everywhere at all
//! times: behind a proxy all have one address, and one of them must not lock the others out. So this keeps guessing from
//! flooding log and database of a node, no more; what keeps a guess from being right is the length of the token.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Failures of one address within [`SPAN`] that are answered as such.
const MOST: u32 = 10;

const SPAN: Duration = Duration::from_secs(60);

/// Addresses that are remembered; beyond, those that failed longest ago are forgotten.
const ADDRESSES: usize = 4096;

/// Who failed of late.
#[derive(Debug, Default)]
pub(super) struct Failures {
    seen: Mutex<HashMap<IpAddr, Window>>,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    since: Instant,
    count: u32,
}

impl Failures {
    /// Notes a failure; if this address has had too many, how long until they are forgotten.
    pub(super) fn note(&self, from: IpAddr, now: Instant) -> Option<Duration> {
        let address = neighbourhood(from);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= ADDRESSES && !seen.contains_key(&address) {
            make_room(&mut seen, now);
        }
        let window = seen.entry(address).or_insert(Window { since: now, count: 0 });
        if now.duration_since(window.since) >= SPAN {
            *window = Window { since: now, count: 0 };
        }
        window.count = window.count.saturating_add(1);
        if window.count == MOST + 1 {
            tracing::warn!(%address, "more than {MOST} log-ins failed within a minute");
        }
        (window.count > MOST).then(|| SPAN.saturating_sub(now.duration_since(window.since)))
    }

    /// Forgets all: other tokens are in force.
    pub(super) fn forget(&self) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

fn make_room(seen: &mut HashMap<IpAddr, Window>, now: Instant) {
    seen.retain(|_, window| now.duration_since(window.since) < SPAN);
    if seen.len() >= ADDRESSES {
        let oldest = seen.iter().min_by_key(|(_, window)| window.since).map(|(address, _)| *address);
        oldest.and_then(|address| seen.remove(&address));
    }
}

/// Of IPv6 the network of one customer, who has all addresses of it.
fn neighbourhood(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED))
    }

    #[test]
    fn too_many_in_a_minute_are_told_to_wait() {
        let (failures, start) = (Failures::default(), Instant::now());
        for second in 0..10 {
            let now = start + Duration::from_secs(second);
            assert_eq!(failures.note(address("192.0.2.1"), now), None);
        }
        let now = start + Duration::from_secs(20);
        assert_eq!(failures.note(address("::ffff:192.0.2.1"), now), Some(Duration::from_secs(40)));
        assert_eq!(failures.note(address("192.0.2.2"), now), None, "another address");
        assert_eq!(failures.note(address("192.0.2.1"), start + SPAN), None, "another minute");
    }

    #[test]
    fn one_customer_of_ipv6_is_one() {
        let (failures, now) = (Failures::default(), Instant::now());
        let waits = (0..11).filter_map(|n| failures.note(address(&format!("2001:db8::{n}")), now));
        assert_eq!(waits.collect::<Vec<_>>(), [SPAN]);
        assert_eq!(failures.note(address("2001:db8:0:1::"), now), None);
    }

    #[test]
    fn memory_is_bounded() {
        let (failures, now) = (Failures::default(), Instant::now());
        for n in 0..20_000_u32 {
            failures.note(IpAddr::from(n.to_be_bytes()), now + Duration::from_micros(n.into()));
        }
        let seen = failures.seen.lock().unwrap_or_else(PoisonError::into_inner);
        assert_eq!(seen.len(), ADDRESSES);
        assert!(seen.contains_key(&IpAddr::from(19_999_u32.to_be_bytes())));
    }
}
