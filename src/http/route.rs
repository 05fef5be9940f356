//! How a route is written down: path, method, role, handler, together in one line; and how such lines are listed.

use actix_web::dev::ServiceRequest;
use actix_web::http::{Method, StatusCode, header};
use actix_web::middleware::{Next, from_fn};
use actix_web::{FromRequest, Handler, HttpRequest, Resource, Responder, Route, web};

use super::answer::Answer;
use super::auth;
use super::problem::Problem;
use crate::config::Role;

/// One method of a resource.
pub(super) struct Verb {
    method: Method,
    role: Option<Role>,
    route: Route,
}

/// A path with its methods.
pub(super) struct Place {
    path: &'static str,
    verbs: Vec<Verb>,
}

/// A route that a token opens, for those who list them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The method.
    pub method: String,
    /// The path below `/api/v1`, with what varies in braces.
    pub path: &'static str,
    /// The least role that it asks for.
    pub role: Role,
}

/// A handler for `method`, for everybody.
pub(super) fn open<F, Args>(method: Method, handler: F) -> Verb
where
    F: Handler<Args>,
    Args: FromRequest + 'static,
    F::Output: Responder + 'static,
{
    let route = web::method(method.clone()).to(handler);
    Verb { method, role: None, route }
}

/// A handler for `method`, for callers whose token includes `role`.
fn verb<F, Args>(method: Method, role: Role, handler: F) -> Verb
where
    F: Handler<Args>,
    Args: FromRequest + 'static,
    F::Output: Responder + 'static,
{
    let check = from_fn(move |request: ServiceRequest, next: Next<_>| auth::authorise(role, request, next));
    let route = web::method(method.clone()).to(handler).wrap(check);
    Verb { method, role: Some(role), route }
}

/// A handler for GET.
pub(super) fn get<F, Args>(role: Role, handler: F) -> Verb
where
    F: Handler<Args>,
    Args: FromRequest + 'static,
    F::Output: Responder + 'static,
{
    verb(Method::GET, role, handler)
}

/// A handler for POST.
pub(super) fn post<F, Args>(role: Role, handler: F) -> Verb
where
    F: Handler<Args>,
    Args: FromRequest + 'static,
    F::Output: Responder + 'static,
{
    verb(Method::POST, role, handler)
}

/// A handler for PATCH.
pub(super) fn patch<F, Args>(role: Role, handler: F) -> Verb
where
    F: Handler<Args>,
    Args: FromRequest + 'static,
    F::Output: Responder + 'static,
{
    verb(Method::PATCH, role, handler)
}

/// A handler for DELETE.
pub(super) fn delete<F, Args>(role: Role, handler: F) -> Verb
where
    F: Handler<Args>,
    Args: FromRequest + 'static,
    F::Output: Responder + 'static,
{
    verb(Method::DELETE, role, handler)
}

/// A path with its methods.
pub(super) fn place<const N: usize>(path: &'static str, verbs: [Verb; N]) -> Place {
    Place { path, verbs: verbs.into() }
}

impl Place {
    /// As the server takes it; any other method is answered with those that there are.
    pub(super) fn resource(self) -> Resource {
        let allowed = self.verbs.iter().map(|verb| verb.method.as_str()).collect::<Vec<_>>().join(", ");
        let resource = self.verbs.into_iter().fold(web::resource(self.path), |r, verb| r.route(verb.route));
        resource.default_service(web::to(move |request: HttpRequest| {
            let detail = format!("{} is not to be had here: use {allowed}", request.method());
            let problem = Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail)
                .header(header::ALLOW, allowed.clone());
            async move { Answer::Err(problem) }
        }))
    }

    /// Those of its methods that ask for a role.
    pub(super) fn listed(&self) -> impl Iterator<Item = Listed> {
        let listed = |verb: &Verb| Some(Listed { method: verb.method.to_string(), path: self.path, role: verb.role? });
        self.verbs.iter().filter_map(listed)
    }
}

/// What a path without a route answers.
pub(super) async fn nothing_here(request: HttpRequest) -> Answer {
    let detail = format!("there is nothing at {}: the API is under /api/v1", request.path());
    Err(Problem::not_found("route_not_found", detail))
}
