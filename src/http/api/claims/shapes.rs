//! The JSON of claims and of what is said of them. What bodies hold is read in `claims`, member by member; here it is
//! described for the document.

use serde::Serialize;
use utoipa::ToSchema;

use super::spans::Span;
use crate::model::State;

/// What a claim asks for.
#[derive(ToSchema)]
#[schema(as = Claim)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "what `claim` reads, for the document")]
pub(super) struct ClaimFields {
    /// At most so many entries.
    #[schema(minimum = 1, maximum = 500, default = 1)]
    limit: Option<u16>,
    /// How long the claim lasts: 1 s to 7 d, 60 s if left out.
    lease: Option<Span>,
    /// How long to wait where nothing is due: to 60 s, not at all if left out.
    wait: Option<Span>,
}

/// That the work is done.
#[derive(ToSchema)]
#[schema(as = Complete)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "what `complete` reads, for the document")]
pub(super) struct CompleteFields {
    /// That of the claim.
    token: String,
    /// What came of it: text or any JSON, of which 1 KiB is kept.
    #[schema(value_type = Value, required = false)]
    result: (),
}

/// That it did not work.
#[derive(ToSchema)]
#[schema(as = Fail)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "what `fail` reads, for the document")]
pub(super) struct FailFields {
    /// That of the claim.
    token: String,
    /// Why; 16 KiB are kept.
    error: Option<String>,
    /// What else there is to say; 16 KiB are kept.
    output: Option<String>,
    /// False: for good.
    #[schema(default = true)]
    retry: Option<bool>,
}

/// That more time is needed.
#[derive(ToSchema)]
#[schema(as = Extend)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "what `extend` reads, for the document")]
pub(super) struct ExtendFields {
    /// That of the claim.
    token: String,
    /// From now: 1 s to 7 d, 60 s if left out.
    lease: Option<Span>,
}

/// What a report led to.
#[derive(Serialize, ToSchema)]
pub(super) struct Reported {
    pub id: i64,
    pub state: State,
    /// When it is tried again, if it is.
    #[schema(format = DateTime)]
    pub run_at: Option<String>,
}

/// Until when a claim stands now.
#[derive(Serialize, ToSchema)]
pub(super) struct Extended {
    pub id: i64,
    #[schema(format = DateTime)]
    pub lease_until: String,
}
