//! What a command cannot honour, refused before anything is written.

use std::fmt::Display;

/// A part of a command line that cannot be honoured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{option}: {why}{}", instead.as_deref().map_or(String::new(), |instead| format!("; {instead}")))]
pub struct Refusal {
    /// The option and its value, as typed.
    pub option: String,
    /// What was expected and found, or what is not served.
    pub why: String,
    /// What would do instead.
    pub instead: Option<String>,
}

impl Refusal {
    /// The exit code of a command that is refused.
    pub const EXIT_CODE: u8 = 2;

    /// Refuses an option for a reason.
    pub fn new(option: impl Display, why: impl Display) -> Refusal {
        Refusal { option: option.to_string(), why: why.to_string(), instead: None }
    }

    /// Refuses what the command of that name offers, but this program does not.
    pub fn not_served(option: impl Display, instead: impl Display) -> Refusal {
        Refusal::new(option, "is not served by antsreg-gpu").instead(instead)
    }

    /// Names what would do instead.
    #[must_use]
    pub fn instead(self, instead: impl Display) -> Refusal {
        Refusal { instead: Some(instead.to_string()), ..self }
    }

    /// Names the program of the command's own name as what would do, unless something else is named.
    pub fn or_by_the_next(self, command: &str) -> Refusal {
        match self.instead {
            Some(_) => self,
            None => self.instead(format!("ANTSREG_FALLBACK=1 would run the next {command} on PATH")),
        }
    }
}
