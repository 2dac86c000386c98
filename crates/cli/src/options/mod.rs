//! Options that several subcommands (verbs) of `antsreg-gpu` share. Each module declares and checks one group of options.

mod registration;
mod report;
mod stages;
mod writing;

pub use registration::RegistrationArgs;
pub use report::ReportArgs;
pub use writing::WritingArgs;
