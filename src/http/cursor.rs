//! Where a list goes on: opaque to clients, so that it may change.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;

use super::problem::Problem;
use super::query::{self, Query};

/// The cursor that says: go on after this.
pub(super) fn after(place: &str) -> String {
    BASE64.encode(format!("1:{place}"))
}

/// The place after which the list goes on, if the query holds a cursor.
pub(super) fn text(query: &Query) -> Result<Option<String>, Problem> {
    let Some(cursor) = query.text("cursor") else { return Ok(None) };
    let place = BASE64.decode(cursor).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let place = place.and_then(|place| place.strip_prefix("1:").map(str::to_owned));
    place.map(Some).ok_or_else(|| query::wrong("cursor", "must be a next_cursor of this list, unchanged"))
}

/// The same where lists are ordered by id.
pub(super) fn id(query: &Query) -> Result<Option<i64>, Problem> {
    let Some(place) = text(query)? else { return Ok(None) };
    let id = place.parse().map_err(|_| query::wrong("cursor", "must be a next_cursor of this list, unchanged"))?;
    Ok(Some(id))
}
