//! Panics caught at the border of an actor: a panic in a handler would end its thread for good.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, Result};

/// Runs `work`; a panic becomes an error.
pub fn catch<T>(doing: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let message = text(panic.as_ref());
        tracing::error!(doing, %message, "a panic was caught");
        Err(Error::internal(format!("{doing}: a panic was caught: {message}")))
    })
}

/// A panic's message.
pub fn text(panic: &(dyn Any + Send)) -> String {
    if let Some(text) = panic.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text.clone()
    } else {
        "no message".to_owned()
    }
}
