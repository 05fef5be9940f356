//! The web hook of `--task hook`: answers 200 to everything, on loopback.

use actix_web::{App, HttpResponse, HttpServer, web};

use crate::error::{Error, Result};

/// Starts it beside the actors; where it is.
pub(super) fn serve() -> Result<url::Url> {
    let failed = |error: std::io::Error| Error::transient(format!("a web hook on loopback: {error}"));
    let server = HttpServer::new(|| App::new().default_service(web::to(HttpResponse::Ok)))
        .workers(1)
        .disable_signals()
        .bind(("127.0.0.1", 0))
        .map_err(failed)?;
    let address = server.addrs().first().copied().ok_or_else(|| Error::internal("the web hook has no address"))?;
    actix::spawn(server.run());
    url::Url::parse(&format!("http://{address}/")).map_err(Error::internal)
}
