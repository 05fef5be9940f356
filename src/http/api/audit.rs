//! The audit log.

use actix_web::HttpRequest;
use actix_web::web::Data;
use utoipa::IntoParams;

use crate::http::answer::{self, Answer};
use crate::http::cursor;
use crate::http::query::{PartOfList, Query};
use crate::http::state::ApiState;
use crate::store::audit::{self, AuditShape, Sought};
use crate::store::entries::Page;

/// Which lines a list is to hold.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "what `list` reads, for the document")]
struct Meant {
    /// What this token or user did.
    #[param(required = false, max_length = 255)]
    by: String,
    /// What was done, such as `pause`.
    #[param(required = false, max_length = 255)]
    action: String,
    /// What it was done to, such as `tasks/mail`.
    #[param(required = false, max_length = 255)]
    subject: String,
}

/// Who changed what, newest first.
#[utoipa::path(
    get, path = "/audit", tag = "status", operation_id = "list_audit", params(Meant, PartOfList),
    responses((status = 200, body = Page<AuditShape>)),
    security(("token" = ["read"])),
)]
pub(super) async fn list(state: Data<ApiState>, request: HttpRequest) -> Answer {
    let query = Query::read(&request, &["by", "action", "subject", "limit", "cursor"])?;
    let text = |name| query.plain_text(name);
    let sought = Sought { by: text("by")?, action: text("action")?, subject: text("subject")? };
    let (limit, below) = (query.limit()?, cursor::id(&query)?);
    let list = state.database(move |connection| Ok(audit::list(connection, &sought, limit, below)?));
    let mut page = list.await?;
    page.next_cursor = page.next_cursor.as_deref().map(cursor::after);
    answer::ok(&page)
}
