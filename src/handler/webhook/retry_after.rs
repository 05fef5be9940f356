//! `Retry-After`: a wish of the receiver, as seconds or as a date. Anything else is no wish.

use std::time::{Duration, SystemTime};

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

/// A wish for more is cut here.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);

/// How long the receiver wishes to be left alone, at most 7 days.
pub(super) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // Only a number that is too large does not parse.
        Duration::from_secs(text.parse().unwrap_or(u64::MAX))
    } else {
        until(httpdate::parse_http_date(text).ok()?, headers, now)?
    };
    Some(wait.min(LONGEST)).filter(|wait| !wait.is_zero())
}

/// The date is the receiver's, so it is compared with the receiver's clock if its answer says what that shows.
/// Dates are cut to whole seconds: one second more is sure to be no less than what was meant.
fn until(date: SystemTime, headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let its_now = headers.get(DATE).and_then(|date| httpdate::parse_http_date(date.to_str().ok()?).ok());
    let wait = date.duration_since(its_now.unwrap_or(now)).ok()?;
    Some(wait + Duration::from_secs(1)).filter(|_| !wait.is_zero())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    fn wish(text: &str, date: Option<&str>) -> Option<u64> {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, text.parse().unwrap());
        if let Some(date) = date {
            headers.insert(DATE, date.parse().unwrap());
        }
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:00 GMT").unwrap();
        retry_after(&headers, now).map(|wait| wait.as_secs())
    }

    #[test]
    fn seconds() {
        assert_eq!(wish("5", None), Some(5));
        assert_eq!(wish(" 120 ", None), Some(120));
        assert_eq!(wish("0", None), None);
    }

    #[test]
    fn a_date_counts_from_the_receivers_clock_if_it_tells_it() {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        assert_eq!(wish(date, None), Some(38));
        assert_eq!(wish(date, Some("Sun, 06 Nov 1994 08:49:32 GMT")), Some(6));
        assert_eq!(wish(date, Some("banana")), Some(38));
        assert_eq!(wish(date, Some("Sun, 06 Nov 1994 08:50:00 GMT")), None);
        assert_eq!(wish("Sunday, 06-Nov-94 08:49:37 GMT", None), Some(38));
        assert_eq!(wish("Sun Nov  6 08:49:37 1994", None), Some(38));
    }

    #[test]
    fn more_than_seven_days_is_cut_there() {
        for text in ["604801", "99999999999", "99999999999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"] {
            assert_eq!(wish(text, None), Some(604_800), "{text}");
        }
    }

    #[test]
    fn what_is_neither_is_no_wish() {
        for text in ["banana", "", " ", "-5", "+5", "1.5", "5s", "5, 6", "Sun, 99 Nov 1994 08:49:37 GMT"] {
            assert_eq!(wish(text, None), None, "{text}");
        }
    }
}
