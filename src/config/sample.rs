//! The file that `soloist init` writes.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use crate::{Error, Result};

/// A configuration with a comment on every key; it loads as it is.
pub const TEXT: &str = include_str!("sample.toml");

/// Writes the sample where no file is yet.
pub fn write(path: &Path) -> Result<()> {
    let shown = path.display();
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Error::usage(format!("{shown} is there already, and was left as it is")),
        _ => Error::usage(format!("{shown} cannot be written: {error}")),
    })?;
    file.write_all(TEXT.as_bytes()).map_err(|error| Error::usage(format!("{shown} cannot be written: {error}")))
}
