//! Refusals: errors about parts of a command line that are not supported. They occur before anything is written.

use std::fmt::Display;

/// The error that refuses a command line because a part of it is not supported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{option}: {why}{}", instead.as_deref().map_or(String::new(), |instead| format!("; {instead}")))]
pub struct Refusal {
    /// The refused option and its value, as given.
    pub option: String,
    /// Why the option is refused: what was expected and what was found, or what this program does not support.
    pub why: String,
    /// What the user can give instead of the refused option.
    pub instead: Option<String>,
}

impl Refusal {
    /// The exit code of a refused command.
    pub const EXIT_CODE: u8 = 2;

    /// Makes the error that refuses an option, with the reason.
    pub fn new(option: impl Display, why: impl Display) -> Refusal {
        Refusal { option: option.to_string(), why: why.to_string(), instead: None }
    }

    /// Makes the error that refuses an option which the original command has, but this program does not support.
    pub fn not_served(option: impl Display, instead: impl Display) -> Refusal {
        Refusal::new(option, "is not supported by antsreg-gpu").instead(instead)
    }

    /// Adds what the user can give instead of the refused option.
    #[must_use]
    pub fn instead(self, instead: impl Display) -> Refusal {
        Refusal { instead: Some(instead.to_string()), ..self }
    }

    /// Adds the advice to run the original program of ANTs, FSL or c3d.
    #[must_use]
    pub fn or_by_the_next(self, command: &str) -> Refusal {
        let next = format!("with ANTSREG_FALLBACK=1, the next {command} on PATH runs instead");
        let instead = self.instead.as_ref().map_or(next.clone(), |instead| format!("{instead}, or {next}"));
        self.instead(instead)
    }
}
