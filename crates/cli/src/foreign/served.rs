//! The table of commands that are served: one entry a command.

use super::{Call, ants};
use crate::error::CliError;

/// A command of another program.
pub struct Command {
    /// The name by which it is called.
    pub name: &'static str,
    /// The programs it belongs to.
    pub suite: Suite,
    /// Translates the arguments and runs.
    pub run: fn(&Call) -> Result<(), CliError>,
}

/// Programs that share conventions of their environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suite {
    /// ANTs, and other programs on ITK.
    Ants,
}

/// All commands that are served.
pub const COMMANDS: &[Command] =
    &[Command { name: "antsAffineInitializer", suite: Suite::Ants, run: ants::affine_initializer::run }];

/// The command of a name.
pub fn command(name: &str) -> Option<&'static Command> {
    COMMANDS.iter().find(|command| command.name == name)
}

/// The names of all commands.
pub fn names() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().map(|command| command.name)
}
