//! Firings: what became of due times.

use actix_web::HttpRequest;
use actix_web::web::Data;
use utoipa::IntoParams;

use crate::http::answer::{self, Answer};
use crate::http::cursor;
use crate::http::query::{self, PartOfList, Query};
use crate::http::state::ApiState;
use crate::model::new_entry::check_name;
use crate::store::entries::Page;
use crate::store::firings;

/// Which firings a list is to hold.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "what `list` reads, for the document")]
struct Meant {
    /// Of this schedule; empty as if left out.
    #[param(required = false, pattern = "^[A-Za-z0-9_.-]{0,100}$")]
    schedule: String,
}

/// What became of due times, newest first; of one schedule by due time.
#[utoipa::path(
    get, path = "/firings", tag = "schedules", operation_id = "list_firings", params(Meant, PartOfList),
    responses((status = 200, body = Page<firings::FiringShape>)),
    security(("token" = ["read"])),
)]
pub(super) async fn list(state: Data<ApiState>, request: HttpRequest) -> Answer {
    let query = Query::read(&request, &["schedule", "limit", "cursor"])?;
    let (limit, before) = (query.limit()?, cursor::id(&query)?);
    let schedule = query.text("schedule").map(str::to_owned);
    if let Some(name) = &schedule {
        check_name("schedule", name)
            .map_err(|error| query::wrong("schedule", &format!("is no name: {}", error.message)))?;
    }
    let of_one = schedule.is_some();
    let mut items = state
        .database(move |connection| Ok(firings::list(connection, schedule.as_deref(), before, limit + 1)?))
        .await?;
    let goes_on = items.len() > limit;
    items.truncate(limit);
    let place = |firing: &firings::FiringShape| if of_one { firing.scheduled_for } else { firing.id };
    let next_cursor = items.last().filter(|_| goes_on).map(|firing| cursor::after(&place(firing).to_string()));
    answer::ok(&Page { items, next_cursor })
}
