//! Options by their names, for callers other than a command line: `["--cost=nmi"]` as the words of a function's
//! arguments. The options, their ranges and their defaults are those of the command line.

use antsreg_console::{CliError, UsageError};
use antsreg_heads::brain::Contrast;
use antsreg_study::batch::{BatchObserver, Outcome};
use antsreg_study::{Error as StudyError, Invocation};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, ValueEnum};

use crate::brain::ContrastName;
use crate::{batch, normalise};

/// Why a call with named options failed.
#[derive(Debug, thiserror::Error)]
pub enum NamedError {
    /// An option that is unknown, out of range or without effect.
    #[error("{0}")]
    Option(String),
    /// The work failed.
    #[error(transparent)]
    Study(#[from] Box<StudyError>),
}

impl From<CliError> for NamedError {
    fn from(error: CliError) -> NamedError {
        match error {
            CliError::Study { source } => NamedError::Study(source),
            CliError::Register { source } => NamedError::Study(Box::new((*source).into())),
            CliError::File(error) => NamedError::Study(Box::new(error.into())),
            CliError::Output(error) => NamedError::Study(Box::new(error.into())),
            other => NamedError::Option(other.to_string()),
        }
    }
}

impl From<UsageError> for NamedError {
    fn from(error: UsageError) -> NamedError {
        NamedError::Option(error.to_string())
    }
}

/// The options `A` as a whole command line.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true, disable_version_flag = true)]
struct Of<A: clap::Args> {
    #[command(flatten)]
    options: A,
}

/// Reads options from words such as `--cost=nmi`.
fn read<A: clap::Args>(words: &[String]) -> Result<A, NamedError> {
    Ok(Of::<A>::try_parse_from(words).map_err(|error| NamedError::Option(told(&error)))?.options)
}

/// One sentence about words that cannot be read as options.
fn told(error: &clap::Error) -> String {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => Some(texts.join(", ")),
        _ => None,
    };
    let option = text(ContextKind::InvalidArg).unwrap_or_default();
    let option = option.split([' ', '=', '[']).next().unwrap_or_default();
    let found = text(ContextKind::InvalidValue).unwrap_or_default();
    let reason = std::error::Error::source(error).map(ToString::to_string);
    match (error.kind(), reason, text(ContextKind::ValidValue)) {
        (ErrorKind::UnknownArgument, ..) => match text(ContextKind::SuggestedArg) {
            Some(like) => format!("{option}: unknown option; did you mean {like}?"),
            None => format!("{option}: unknown option"),
        },
        (_, Some(reason), _) => format!("{option}: {reason}"),
        (_, None, Some(values)) => format!("{option}: expected one of {values}, found `{found}`"),
        _ => {
            let text = error.to_string();
            text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
        }
    }
}

/// The contrast of a template with this name; `None` for `auto`.
///
/// # Errors
/// An unknown name.
pub fn contrast(name: &str) -> Result<Option<Contrast>, NamedError> {
    let names = || ContrastName::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    ContrastName::from_str(name, true).map(ContrastName::contrast).map_err(|_| {
        let known: Vec<String> = names().map(|name| name.get_name().to_owned()).collect();
        NamedError::Option(format!("contrast: expected one of {}, found `{name}`", known.join(", ")))
    })
}

/// Registers many subjects, as the command `batch` with these words does.
///
/// # Errors
/// An option that cannot be used; errors that concern all subjects.
pub fn batch(words: &[String], invocation: &Invocation, observer: &dyn BatchObserver) -> Result<Outcome, NamedError> {
    Ok(batch::outcome(&read(words)?, invocation, observer)?)
}

/// Normalises scans, as the command `normalise` with these words does.
///
/// # Errors
/// An option that cannot be used; errors that concern all scans.
pub fn normalise(
    words: &[String],
    invocation: &Invocation,
    observer: &dyn BatchObserver,
) -> Result<Outcome, NamedError> {
    Ok(normalise::outcome(&read(words)?, invocation, observer)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(words: &[&str]) -> String {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        read::<batch::Args>(&words).expect_err("it is refused").to_string()
    }

    #[test]
    fn options_are_named_in_one_sentence() {
        assert!(refused(&["--surprise=1"]).starts_with("--surprise: unknown option"));
        assert!(
            refused(&["--cost=mutual"]).starts_with("--cost: expected one of "),
            "{}",
            refused(&["--cost=mutual"])
        );
        assert!(refused(&["--cc-radius=0"]).starts_with("--cc-radius: "), "{}", refused(&["--cc-radius=0"]));
    }
}
