//! What the document says of all operations: the token, what every request may be answered, the shape of problems.

use actix_web::http::StatusCode;
use utoipa::Modify;
use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::path::Operation;
use utoipa::openapi::schema::{Array, Schema, SchemaType, Type};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{Components, OpenApi as Document, Ref, RefOr, Response};

const TOKEN: &str = "A token of `[[http.tokens]]`, or of `soloist.token`. The role that an operation needs stands with \
                     it: `read` sees, `trigger` also enqueues, triggers and fires, `admin` does all.";

/// An answer that many operations may give, by its name among the components.
type Common = (StatusCode, &'static str, &'static str);

/// To every request.
const TO_EVERY: [Common; 5] = [
    (
        StatusCode::BAD_REQUEST,
        "Wrong",
        "Something in the request is wrong: `detail` says what, and what would be right",
    ),
    (StatusCode::UNAUTHORIZED, "Unauthenticated", "`unauthenticated`: no token, or none that is known here"),
    (
        StatusCode::TOO_MANY_REQUESTS,
        "TooManyFailures",
        "`too_many_failures`: this token is not known, nor were many others from this address; ask again after \
         `Retry-After`",
    ),
    (StatusCode::INTERNAL_SERVER_ERROR, "Internal", "`internal`: this should not happen"),
    (StatusCode::SERVICE_UNAVAILABLE, "Unavailable", "`database_unavailable`: ask again after `Retry-After`"),
];

/// To a request that needs more than the role `read`.
const TO_OTHER_ROLES: [Common; 1] =
    [(StatusCode::FORBIDDEN, "Forbidden", "`forbidden`: the role of the token does not include this")];

/// To a request with a body.
const TO_BODIES: [Common; 2] = [
    (StatusCode::PAYLOAD_TOO_LARGE, "TooLarge", "`too_large`: a payload may have 8 MiB"),
    (StatusCode::UNSUPPORTED_MEDIA_TYPE, "NotJson", "`unsupported_media_type`: a body is JSON"),
];

/// Adds all of it.
pub(super) struct Everywhere;

impl Modify for Everywhere {
    fn modify(&self, document: &mut Document) {
        let components = document.components.get_or_insert_default();
        let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some(TOKEN)).build();
        components.add_security_scheme("token", SecurityScheme::Http(bearer));
        for (_, name, description) in TO_EVERY.into_iter().chain(TO_OTHER_ROLES).chain(TO_BODIES) {
            components.responses.insert(name.to_owned(), problem(Response::new(description)).into());
        }
        name_items(components);
        for item in document.paths.paths.values_mut() {
            let operations = [&mut item.get, &mut item.post, &mut item.put, &mut item.patch, &mut item.delete];
            operations.into_iter().flatten().for_each(complete);
        }
    }
}

/// A list's items are named, not written out in each list.
fn name_items(components: &mut Components) {
    for (name, schema) in &mut components.schemas {
        if let (Some(item), RefOr::T(Schema::Object(page))) = (name.strip_prefix("Page_"), schema) {
            page.properties.insert("items".to_owned(), Array::new(Ref::from_schema_name(item)).into());
        }
    }
}

fn complete(operation: &mut Operation) {
    let mut common = TO_EVERY.to_vec();
    if !needs_only_read(operation) {
        common.extend(TO_OTHER_ROLES);
    }
    if let Some(RefOr::T(body)) = &mut operation.request_body {
        common.extend(TO_BODIES);
        for content in body.content.values_mut() {
            if let RefOr::T(content) = content {
                content.schema = content.schema.take().map(never_null);
            }
        }
    }
    let responses = &mut operation.responses.responses;
    for (status, response) in responses.iter_mut() {
        let (Ok(status), RefOr::T(response)) = (status.parse::<StatusCode>(), response) else { continue };
        if response.description.is_empty() {
            status.canonical_reason().unwrap_or_default().clone_into(&mut response.description);
        }
        if status.is_client_error() || status.is_server_error() {
            *response = problem(response.clone());
        }
    }
    for (status, name, _) in common {
        let common = || RefOr::Ref(Ref::from_response_name(name));
        responses.entry(status.as_str().to_owned()).or_insert_with(common);
    }
}

/// The role that stands in the operation's security is the least.
fn needs_only_read(operation: &Operation) -> bool {
    let needs = serde_json::to_value(&operation.security).unwrap_or_default();
    needs[0]["token"][0] == "read"
}

/// A body that may be left out is not one that may be `null`.
fn never_null(schema: RefOr<Schema>) -> RefOr<Schema> {
    let RefOr::T(Schema::OneOf(either)) = schema else { return schema };
    let is_null = |schema: &RefOr<Schema>| matches!(schema, RefOr::T(Schema::Object(object)) if object.schema_type == SchemaType::Type(Type::Null));
    match either.items.as_slice() {
        [only, null] if is_null(null) => only.clone(),
        _ => RefOr::T(Schema::OneOf(either)),
    }
}

fn problem(mut response: Response) -> Response {
    let problem = ContentBuilder::new().schema(Some(Ref::from_schema_name("ProblemDocument"))).build();
    response.content.insert("application/problem+json".to_owned(), problem.into());
    response
}
