//! The command, as typed: for people, in records.

/// Every word of the command.
pub fn command_line() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}
