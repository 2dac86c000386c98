//! Prints the reference page of the command line in Markdown: `cargo run -p antsreg-cli --example reference`.

use std::io::{Error, Write};

use clap::{Arg, Command};

fn main() -> Result<(), Error> {
    let mut program = antsreg_cli::described();
    program.build();
    let mut page = String::from("# Command line\n");
    page += "Every subcommand (verb) with all its options, as `antsreg-gpu VERB --help` shows them.\n\n";
    describe(&program, &mut page);
    std::io::stdout().write_all(page.as_bytes())
}

/// Appends the description of a command, then of its subcommands, to the reference page of the command line.
fn describe(command: &Command, page: &mut String) {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    *page += &format!("## {name}\n");
    let about = command.get_long_about().or(command.get_about());
    *page += &format!("{}\n\n", about.map(escaped).unwrap_or_default());
    *page += &format!("```text\n{}\n```\n\n", command.clone().render_usage());
    let shown: Vec<&Arg> =
        command.get_arguments().filter(|arg| !arg.is_hide_set() && !is_common(arg, command)).collect();
    let mut headings: Vec<&str> = Vec::new();
    for heading in shown.iter().map(|arg| heading(arg)) {
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    for wanted in headings {
        *page += &format!("**{wanted}**\n\n");
        for arg in shown.iter().filter(|arg| heading(arg) == wanted) {
            option(arg, page);
        }
    }
    if let Some(examples) = command.get_after_long_help().or(command.get_after_help()) {
        *page += &format!("```text\n{}\n```\n\n", examples.to_string().trim());
    }
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help" && !sub.is_hide_set()) {
        describe(sub, page);
    }
}

/// Whether an option belongs to all subcommands (verbs) of `antsreg-gpu`. Such options are described once, with the
/// program itself.
fn is_common(arg: &Arg, command: &Command) -> bool {
    let everywhere =
        arg.get_help_heading() == Some("Common options") || matches!(arg.get_id().as_str(), "help" | "version");
    everywhere && command.get_name() != "antsreg-gpu"
}

/// The heading under which an option or argument stands in the reference page of the command line.
fn heading(arg: &Arg) -> &str {
    arg.get_help_heading().unwrap_or(if arg.is_positional() { "Arguments" } else { "Options" })
}

/// Appends the description of one option or argument to the reference page of the command line: names, values, help
/// text and default value.
fn option(arg: &Arg, page: &mut String) {
    let names: Vec<String> = arg
        .get_short()
        .map(|short| format!("-{short}"))
        .into_iter()
        .chain(arg.get_long().map(|long| format!("--{long}")))
        .collect();
    let values: Vec<String> = if arg.get_action().takes_values() {
        arg.get_value_names().unwrap_or_default().iter().map(|name| format!("<{name}>")).collect()
    } else {
        Vec::new()
    };
    let title: Vec<String> =
        [names.join(", "), values.join(" ")].into_iter().filter(|part| !part.is_empty()).collect();
    let help = arg.get_long_help().or(arg.get_help()).map(escaped).unwrap_or_default();
    *page += &format!("- `{}`: {}", title.join(" "), help.replace("\n\n", "\n\n    "));
    let defaults: Vec<String> =
        arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    if !defaults.is_empty() && arg.get_action().takes_values() && !arg.is_hide_default_value_set() {
        *page += &format!(" [default: `{}`]", defaults.join(" "));
    }
    *page += "\n";
    let listed = arg.get_possible_values();
    if arg.get_action().takes_values() && !arg.is_hide_possible_values_set() {
        for value in listed.iter().filter(|value| !value.is_hide_set()) {
            let help = value.get_help().map(|help| format!(": {}", escaped(help))).unwrap_or_default();
            *page += &format!("    - `{}`{help}\n", value.get_name());
        }
    }
    *page += "\n";
}

/// Converts a help text to Markdown. Brackets, stars, bars, underscores, backslashes and backticks are escaped, so
/// that they are shown as they are.
fn escaped(text: &clap::builder::StyledStr) -> String {
    let mut escaped = String::new();
    for letter in text.to_string().chars() {
        if matches!(letter, '<' | '>' | '*' | '_' | '|' | '[' | ']' | '\\' | '`') {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}
