//! Options that several subcommands (verbs) of `antsreg-gpu` share. Each module declares, checks and shows one group of
//! options.

mod boundary;
mod help;
pub mod linear;
mod registration;
mod report;
pub mod syn;
mod writing;

pub use registration::RegistrationArgs;
pub use report::ReportArgs;
pub use writing::WritingArgs;

/// An option as shown to the user: its name and its value, which is empty for a flag.
pub type Shown = (&'static str, String);

/// Formats a list with one value for each resolution level as on the command line, with `x` between the values, such as
/// `8x4x2x1`.
pub fn per_level<T: std::fmt::Display>(values: impl IntoIterator<Item = T>) -> String {
    values.into_iter().map(|value| value.to_string()).collect::<Vec<_>>().join("x")
}

/// Returns the name of a command-line option if the user gave this option, else `None`.
fn given(option: &'static str, is_given: bool) -> Option<&'static str> {
    is_given.then_some(option)
}
