//! The token that is made for one run when none is configured: written to a file that only its owner reads.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use uuid::Uuid;

use crate::config::{Role, Secret, Token};
use crate::error::{Error, Result};

/// The file's name, beside the configuration.
pub const NAME: &str = "soloist.token";

/// Characters of a token.
const LENGTH: usize = 64;

/// Bytes that are read of the file.
const LONGEST: u64 = 100;

/// The token of a run.
#[derive(Debug)]
pub struct Made {
    /// As the file has it.
    pub token: Token,
    /// Locked as long as this node goes by it: another node of the directory takes the same.
    _file: File,
}

/// An admin token for this run in the file at `path`, mode 0600: that of another node that runs and made it there, else a
/// new one in place of an earlier run's. Only for a node that listens on loopback: the caller sees to that, and prints
/// the path.
pub fn create(path: &Path) -> Result<Made> {
    let failed = |error: std::io::Error| {
        Error::usage(format!(
            "the token of this run cannot be written to {}: {error}; name tokens in [[http.tokens]], or start where \
             this file may be written",
            path.display()
        ))
    };
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // One at a time. Where files cannot be locked each node makes its own.
    let turn = File::open(directory).map_err(failed)?;
    let _ = turn.lock();
    if let Some(made) = of_another(path) {
        return Ok(made);
    }
    let secret = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
    // A new file under another name, then renamed: whatever lies at `path`, a link too, is replaced and never followed.
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(format!(".{}", Uuid::new_v4().simple()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh).map_err(failed)?;
    let _ = file.lock_shared();
    let written = file.write_all(format!("{secret}\n").as_bytes()).and_then(|()| fs::rename(&fresh, path));
    if let Err(error) = written {
        let _ = fs::remove_file(&fresh);
        return Err(failed(error));
    }
    Ok(made(secret, file))
}

/// The token of a node that runs: its file is locked, and nobody else could have written it.
fn of_another(path: &Path) -> Option<Made> {
    let is_ours = |at: fs::Metadata| {
        at.is_file() && at.mode() & 0o777 == 0o600 && at.uid() == rustix::process::geteuid().as_raw()
    };
    fs::symlink_metadata(path).ok().filter(|at| at.is_file())?;
    let mut file = File::open(path).ok()?;
    if !is_ours(file.metadata().ok()?) || !matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
        return None;
    }
    file.lock_shared().ok()?;
    let mut secret = String::new();
    (&mut file).take(LONGEST).read_to_string(&mut secret).ok()?;
    let secret = secret.trim();
    let is_whole = secret.len() == LENGTH && secret.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_whole.then(|| made(secret.to_owned(), file))
}

fn made(secret: String, file: File) -> Made {
    Made { token: Token { name: NAME.to_owned(), role: Role::Admin, secret: Secret::new(secret) }, _file: file }
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
        let first = create(&path).unwrap();
        let token = &first.token;
        assert_eq!(fs::read_to_string(&other).unwrap(), "kept");
        assert_eq!(fs::read_to_string(&path).unwrap().trim(), token.secret.expose());
        assert_eq!(fs::symlink_metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(token.secret.expose().len() >= 64);
        let beside = create(&path).unwrap();
        assert_eq!(beside.token.secret, token.secret, "a node beside one that runs");
        let before = token.secret.clone();
        drop(first);
        assert_eq!(create(&path).unwrap().token.secret, before, "as long as one runs");
        drop(beside);
        assert_ne!(create(&path).unwrap().token.secret, before, "a new run has a new one");
        let made = create(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert_ne!(create(&path).unwrap().token.secret, made.token.secret, "others may have read it");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2, "nothing else is left behind");
    }
}
