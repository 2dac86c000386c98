//! The arguments of all verbs as plain data, from which other programs make interfaces of the command.

use std::any::TypeId;
use std::path::PathBuf;

use antsreg_register::option;
use antsreg_register::option::value::Kind;
use clap::builder::StyledStr;
use clap::{Arg, ArgAction, Command};

/// An argument of a verb.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// Name of an option without dashes before it; a name in messages for an argument that has no option.
    pub name: String,
    /// Position of an argument without a name, counted from 1; `None` for an option.
    pub position: Option<usize>,
    /// Kind of the value.
    pub value: Value,
    /// Word for the value, such as `IMAGE`; empty for a flag.
    pub value_name: String,
    /// The names that the argument takes, if it is a choice between names.
    pub choices: Vec<String>,
    /// Whether the argument takes several values.
    pub several: bool,
    /// Whether an option may stand without its value.
    pub optional_value: bool,
    /// Whether the command fails without the argument.
    pub required: bool,
    /// The help text.
    pub help: String,
}

/// Kind of the value of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// A path.
    Path,
    /// Any other kind.
    Of(Kind),
}

impl Value {
    /// Name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            Value::Path => "path",
            Value::Of(Kind::Flag) => "flag",
            Value::Of(Kind::Choice) => "choice",
            Value::Of(Kind::Number) => "number",
            Value::Of(Kind::Whole) => "whole",
            Value::Of(Kind::PerLevel) => "per-level",
            Value::Of(Kind::Text) => "text",
        }
    }
}

/// How several values of one option are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lists {
    /// As one value, with this character between the values.
    Joined(char),
    /// The option is repeated.
    Repeated,
}

/// The arguments of a verb, also those that all verbs have; `None` if there is no such verb.
pub fn arguments(verb: &str) -> Option<Vec<Argument>> {
    let mut all = crate::described();
    all.build();
    let of_verb = all.find_subcommand(verb)?;
    let hidden = |arg: &&Arg| !arg.is_hide_set() && !matches!(arg.get_id().as_str(), "help" | "version");
    Some(of_verb.get_arguments().filter(hidden).map(argument).collect())
}

fn argument(arg: &Arg) -> Argument {
    let value_names = arg.get_value_names().unwrap_or_default();
    let value_name = value_names.first().map_or(String::new(), ToString::to_string);
    let range = arg.get_num_args();
    let repeated = matches!(arg.get_action(), ArgAction::Append);
    Argument {
        name: arg.get_long().unwrap_or(arg.get_id().as_str()).to_owned(),
        position: arg.get_index(),
        value: value(arg),
        choices: arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect(),
        several: repeated || range.is_some_and(|range| range.max_values() > 1),
        optional_value: range.is_some_and(|range| range.takes_values() && range.min_values() == 0),
        required: arg.is_required_set(),
        help: arg.get_help().map(StyledStr::to_string).unwrap_or_default(),
        value_name,
    }
}

fn value(arg: &Arg) -> Value {
    if let Some(option) = arg.get_long().and_then(option::find) {
        return Value::Of(option.kind);
    }
    if !arg.get_action().takes_values() {
        return Value::Of(Kind::Flag);
    }
    if !arg.get_possible_values().is_empty() {
        return Value::Of(Kind::Choice);
    }
    let parsed = arg.get_value_parser().type_id();
    let is = |kinds: &[TypeId]| kinds.iter().any(|kind| parsed == *kind);
    if is(&[TypeId::of::<PathBuf>()]) {
        Value::Path
    } else if is(&[TypeId::of::<f64>(), TypeId::of::<f32>()]) {
        Value::Of(Kind::Number)
    } else if is(&[TypeId::of::<usize>(), TypeId::of::<u64>(), TypeId::of::<u32>()]) {
        Value::Of(Kind::Whole)
    } else {
        Value::Of(Kind::Text)
    }
}

/// How several values of this option of a verb are written. The name has no dashes before it. Values of an option that
/// is not known are joined.
pub fn lists(verb: &str, name: &str) -> Lists {
    if let Some(option) = option::find(name) {
        return Lists::Joined(option.separator);
    }
    let described = crate::described();
    let of_verb = described.find_subcommand(verb).into_iter().flat_map(Command::get_arguments);
    let found = of_verb.filter(|arg| arg.get_long() == Some(name)).map(|arg| match arg.get_value_delimiter() {
        Some(separator) => Lists::Joined(separator),
        None if matches!(arg.get_action(), ArgAction::Append) => Lists::Repeated,
        // Such as the standard deviations of `motion`, which are written 4x2.
        None if arg.get_value_names().is_some_and(|names| names.iter().any(|name| name.contains('x'))) => {
            Lists::Joined('x')
        }
        None => Lists::Joined(','),
    });
    found.last().unwrap_or(Lists::Joined(','))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_values_are_written_as_the_option_takes_them() {
        assert_eq!(lists("batch", "shrink-factors"), Lists::Joined('x'));
        assert_eq!(lists("batch", "search-degrees"), Lists::Joined(','));
        assert_eq!(lists("batch", "weights"), Lists::Joined(','));
        assert_eq!(lists("batch", "fixed-lesion"), Lists::Repeated);
        assert_eq!(lists("motion", "smoothing-sigmas-mm"), Lists::Joined('x'));
        assert_eq!(lists("batch", "fixed"), Lists::Joined(','));
    }

    #[test]
    fn arguments_have_their_kinds() {
        let all = arguments("register").expect("register is a verb");
        let of = |name: &str| all.iter().find(|argument| argument.name == name).expect(name).clone();
        assert_eq!(of("fixed").value, Value::Path);
        assert!(of("fixed").required && !of("moving-mask").required && of("moving-lesion").several);
        assert_eq!(of("cost").value, Value::Of(Kind::Choice));
        assert!(of("cost").choices.contains(&"nmi".to_owned()));
        assert_eq!(of("cc-radius").value, Value::Of(Kind::Whole));
        assert_eq!(of("noise").value, Value::Of(Kind::Number));
        assert_eq!(of("iterations").value, Value::Of(Kind::PerLevel));
        assert_eq!(of("exact").value, Value::Of(Kind::Flag));
        assert_eq!(of("threads").value, Value::Of(Kind::Whole));
        assert!(of("report").optional_value);
        assert!(all.iter().all(|argument| argument.name != "help"));
        assert_eq!(arguments("info").expect("info is a verb")[0].position, Some(1));
        assert!(arguments("unknown").is_none());
    }
}
