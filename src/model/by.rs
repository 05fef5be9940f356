//! Who does something to Soloist, and which way: what the audit log names.

/// Who does something, and which way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct By {
    /// The name of a token, or of a user of the host.
    pub name: String,
    /// The role of the token, if it came with one.
    pub role: Option<&'static str>,
    /// Which way it came.
    pub via: Via,
}

/// Which way something came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// Over HTTP.
    Api,
    /// By a command.
    Cli,
    /// By Soloist itself, as a bench does: it stands in no log.
    Itself,
}

impl Via {
    /// As the database has it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Cli => "cli",
            Self::Itself => "",
        }
    }
}

impl By {
    /// The holder of a token.
    pub fn api(name: impl Into<String>, role: &'static str) -> Self {
        Self { name: name.into(), role: Some(role), via: Via::Api }
    }

    /// Somebody at a terminal of the host.
    pub fn cli(name: impl Into<String>) -> Self {
        Self { name: name.into(), role: None, via: Via::Cli }
    }

    /// Soloist itself, under a name for what it does.
    pub fn itself(name: impl Into<String>) -> Self {
        Self { name: name.into(), role: None, via: Via::Itself }
    }

    /// The name, as long as the database keeps it.
    pub fn short_name(&self) -> String {
        self.name.chars().take(100).collect()
    }
}
