//! Options of FSL's commands for warps: `--name=VALUE`, `-n VALUE`, and switches.

use std::path::PathBuf;

use antsreg_console::Refusal;
use antsreg_core::io::fsl_warp::Vectors;

use crate::fsl::names;

/// An option: its long name, its short name without the dash, and whether it takes a value.
pub struct Known(pub &'static str, pub &'static str, pub bool);

/// The options of a command line.
pub struct Given {
    words: Vec<(&'static str, String)>,
}

impl Given {
    /// Parses a command line.
    ///
    /// # Errors
    /// An option that is not among `known`; a value that is missing.
    pub fn parse(arguments: &[String], known: &'static [Known]) -> Result<Given, Refusal> {
        let mut words = Vec::new();
        let mut arguments = arguments.iter();
        while let Some(word) = arguments.next() {
            let (typed, value) = match word.split_once('=') {
                Some((typed, value)) => (typed, Some(value.to_owned())),
                None => (word.as_str(), None),
            };
            let matches = |known: &&Known| match typed.strip_prefix("--") {
                Some(long) => long == known.0,
                None => typed.strip_prefix('-').is_some_and(|short| !short.is_empty() && short == known.1),
            };
            let Known(name, _, takes_value) =
                known.iter().find(matches).ok_or_else(|| Refusal::new(typed, "this command has no such option"))?;
            let value = match (takes_value, value) {
                (true, None) => arguments.next().cloned(),
                (true, value) => value,
                (false, _) => Some(String::new()),
            };
            words.push((*name, value.ok_or_else(|| Refusal::new(typed, "expected a value for this option"))?));
        }
        Ok(Given { words })
    }

    /// The last value of an option.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.words.iter().rev().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// Whether an option is given.
    pub fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    /// An input image.
    ///
    /// # Errors
    /// There is no such image.
    pub fn image(&self, name: &str) -> Result<Option<PathBuf>, Refusal> {
        self.value(name).map(|value| names::input(&format!("--{name}"), value)).transpose()
    }

    /// An input image that must be given.
    ///
    /// # Errors
    /// The option is missing, or there is no such image.
    pub fn needed_image(&self, name: &str) -> Result<PathBuf, Refusal> {
        self.image(name)?.ok_or_else(|| Refusal::new(format!("--{name}"), "is missing; expected an image"))
    }

    /// The output image `--out`.
    ///
    /// # Errors
    /// The option is missing; a format that is not supported.
    pub fn output(&self) -> Result<PathBuf, Refusal> {
        names::output(self.value("out").ok_or_else(|| Refusal::new("--out", "is missing; expected a name"))?)
    }

    /// What vectors the warps have, if `--rel` or `--abs` says so.
    pub fn vectors(&self, [relative, absolute]: [&str; 2]) -> Option<Vectors> {
        let relative = self.has(relative).then_some(Vectors::Relative);
        relative.or(self.has(absolute).then_some(Vectors::Absolute))
    }

    /// Refuses options that are not served.
    ///
    /// # Errors
    /// One of them is given.
    pub fn refuse(&self, names: &[&str]) -> Result<(), Refusal> {
        match names.iter().find(|name| self.has(name)) {
            Some(name) => Err(Refusal::not_served(format!("--{name}"), "leave it out")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[Known] = &[Known("in", "i", true), Known("rel", "", false), Known("out", "o", true)];

    fn parse(line: &str) -> Result<Given, Refusal> {
        Given::parse(&line.split(' ').map(str::to_owned).collect::<Vec<_>>(), KNOWN)
    }

    #[test]
    fn options_are_long_or_short() {
        let given = parse("-i a --out=b=c --rel --in d").expect("they are known");
        assert_eq!((given.value("in"), given.value("out"), given.has("rel")), (Some("d"), Some("b=c"), true));
        assert_eq!(given.vectors(["rel", "abs"]), Some(Vectors::Relative));
        assert!(given.refuse(&["rel"]).is_err() && given.refuse(&["super"]).is_ok());
        for line in ["--nosuch", "-x", "-", "--in", "word"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
