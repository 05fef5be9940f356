//! The token that is made for one run when none is configured: written to a file that only its owner reads.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use uuid::Uuid;

use crate::config::{Role, Secret, Token};
use crate::error::{Error, Result};

/// The file's name, beside the configuration.
pub const NAME: &str = "soloist.token";

/// Makes an admin token for this run and writes it to `path`, mode 0600, in place of an earlier run's. Only for a node
/// that listens on loopback: the caller sees to that, and prints the path.
pub fn create(path: &Path) -> Result<Token> {
    let secret = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
    let failed = |error: std::io::Error| {
        Error::usage(format!(
            "the token of this run cannot be written to {}: {error}; name tokens in [[http.tokens]], or start where \
             this file may be written",
            path.display()
        ))
    };
    // A new file under another name, then renamed: whatever lies at `path`, a link too, is replaced and never followed.
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(format!(".{}", Uuid::new_v4().simple()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh).map_err(failed)?;
    let written = file.write_all(format!("{secret}\n").as_bytes()).and_then(|()| fs::rename(&fresh, path));
    if let Err(error) = written {
        let _ = fs::remove_file(&fresh);
        return Err(failed(error));
    }
    Ok(Token { name: NAME.to_owned(), role: Role::Admin, secret: Secret::new(secret) })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn only_the_owner_reads_it_and_a_link_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(NAME);
        let other = directory.path().join("other");
        fs::write(&other, "kept").unwrap();
        symlink(&other, &path).unwrap();
        let token = create(&path).unwrap();
        assert_eq!(fs::read_to_string(&other).unwrap(), "kept");
        assert_eq!(fs::read_to_string(&path).unwrap().trim(), token.secret.expose());
        assert_eq!(fs::symlink_metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(token.secret.expose().len() >= 64);
        let next = create(&path).unwrap();
        assert_ne!(next.secret, token.secret);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2, "nothing else is left behind");
    }
}
