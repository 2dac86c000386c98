//! The grammar of ANTs' command lines: flags with values such as `CC[fixed.nii.gz,moving.nii.gz,1,4]`.
//!
//! A group in brackets may be split over several arguments; spaces inside the group are removed. A flag takes all
//! values that follow the flag. A flag without values has the value 1.

use std::ops::RangeInclusive;

use antsreg_console::{CliError, Refusal, output::print};

use super::version::print_version;

/// A flag of a command: its short and its long name.
#[derive(Debug, PartialEq, Eq)]
pub struct Flag {
    /// The short name of the flag: the letter after a single dash, such as `d` in `-d`; `None` if the flag has only a
    /// long name.
    pub short: Option<char>,
    /// The long name of the flag, which follows two dashes.
    pub long: &'static str,
}

/// A flag of a command line with its values.
#[derive(Debug, PartialEq, Eq)]
pub struct Given {
    /// The flag's long name.
    pub flag: &'static str,
    /// The values of the flag; at least one.
    pub values: Vec<Value>,
}

/// A value of a command-line flag in ANTs' notation: a name, a group in brackets, or a name followed by a group, such
/// as `CC[a.nii,b.nii,1,4]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// The whole text of the flag's value as on the command line, but without spaces inside brackets.
    pub text: String,
    /// The name in the flag's value: the text before the brackets, such as `CC` in `CC[a.nii,b.nii,1,4]`; without
    /// brackets, the whole text.
    pub name: String,
    /// The parameters inside the brackets of the flag's value; `None` if the value has no brackets.
    pub parameters: Option<Vec<String>>,
}

impl Value {
    /// Splits the text of a flag's value, such as `CC[a.nii,b.nii,1,4]`, into its name and the parameters inside its
    /// brackets.
    pub fn parse(text: &str) -> Value {
        let group = text.strip_suffix(']').and_then(|rest| rest.split_once('['));
        let (name, parameters) = match group {
            Some((name, "")) => (name, Some(Vec::new())),
            Some((name, group)) => (name, Some(group.split(',').map(|part| part.trim().to_owned()).collect())),
            None => (text, None),
        };
        Value { text: text.to_owned(), name: name.trim().to_owned(), parameters }
    }

    /// Returns the parameter at position `place`, counted from 0, inside the brackets of the flag's value; `None` if
    /// this parameter is missing or empty.
    pub fn parameter(&self, place: usize) -> Option<&str> {
        self.parameters.as_ref()?.get(place).map(String::as_str).filter(|part| !part.is_empty())
    }

    /// Whether the name before the brackets of the flag's value equals `name`, regardless of case.
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }
}

/// Makes a flag with a short and a long name.
pub const fn flag(short: char, long: &'static str) -> Flag {
    Flag { short: Some(short), long }
}

/// Makes a flag with only a long name.
pub const fn long(long: &'static str) -> Flag {
    Flag { short: None, long }
}

/// The flags that every command of ANTs has.
const OF_ALL: &[Flag] = &[long("version"), flag('h', "short-help"), long("help")];

/// Parses the command line of a command with these flags and the flags that all commands have. If usage or version is
/// requested, prints it and returns `None`.
///
/// # Errors
/// A command line that [`parse`] refuses.
pub fn read(arguments: &[String], flags: &'static [Flag], usage: &str) -> Result<Option<Vec<Given>>, CliError> {
    let given = parse(arguments, flags)?;
    let on = |flag: &str| last(&given, flag).is_some_and(|value| value.text != "0");
    if given.is_empty() || on("help") || on("short-help") {
        print(usage)?;
    } else if on("version") {
        print_version()?;
    } else {
        return Ok(Some(given));
    }
    Ok(None)
}

/// Returns the arguments of a command that has no flags, but arguments in a fixed order. If the usage text is
/// requested, prints it and returns `None`.
///
/// # Errors
/// More or fewer arguments than the command expects.
pub fn positional<'a>(
    arguments: &'a [String],
    count: RangeInclusive<usize>,
    usage: &str,
) -> Result<Option<&'a [String]>, CliError> {
    let asks = |word: &String| word == "-h" || word == "--help";
    if arguments.is_empty() || arguments.iter().any(asks) {
        print(usage)?;
        return Ok(None);
    }
    if !count.contains(&arguments.len()) {
        let expected = match (count.start(), count.end()) {
            (least, &usize::MAX) => format!("at least {least}"),
            (least, most) => format!("{least} to {most}"),
        };
        return Err(Refusal::new("arguments", format!("expected {expected}, found {}", arguments.len())).into());
    }
    Ok(Some(arguments))
}

/// All values of a flag on a command line, in order.
pub fn all<'a>(given: &'a [Given], flag: &'a str) -> impl DoubleEndedIterator<Item = &'a Value> {
    given.iter().filter(move |given| given.flag == flag).flat_map(|given| &given.values)
}

/// The last value of a flag. ANTs uses the last value where it expects one value.
pub fn last<'a>(given: &'a [Given], flag: &'a str) -> Option<&'a Value> {
    all(given, flag).next_back()
}

/// Reads the value of an option that is a switch: 0 for off, 1 for on.
///
/// # Errors
/// Any text except 0 and 1.
pub fn switch(option: &str, text: &str) -> Result<bool, Refusal> {
    match text {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err(Refusal::new(option, format!("expected 0 or 1, found {text}"))),
    }
}

/// Splits a command line into flags and their values.
///
/// # Errors
/// A flag that the command does not have; a word that belongs to no flag; a bracket that is not closed.
pub fn parse(arguments: &[String], flags: &'static [Flag]) -> Result<Vec<Given>, Refusal> {
    let mut all: Vec<Given> = Vec::new();
    for word in regrouped(arguments)? {
        if word.is_empty() {
            match all.last().filter(|last| last.values.is_empty()) {
                Some(last) => return Err(Refusal::new(format!("--{}", last.flag), "its value is empty")),
                None => continue,
            }
        }
        if !is_flag(&word) {
            let Some(last) = all.last_mut() else {
                return Err(Refusal::new(
                    word,
                    "this word belongs to no flag; expected a flag such as --metric before this word",
                ));
            };
            last.values.push(Value::parse(&word));
            continue;
        }
        let (typed, value) = match word.split_once('=') {
            Some((typed, value)) if typed.starts_with("--") => (typed.to_owned(), Some(Value::parse(value))),
            _ => (word, None),
        };
        let known = flags.iter().chain(OF_ALL).find(|flag| match typed.strip_prefix("--") {
            // As in ANTs, a single letter after two dashes is a short name.
            Some(long) => flag.long == long || long.chars().eq(flag.short),
            None => typed.strip_prefix('-').is_some_and(|short| short.chars().eq(flag.short)),
        });
        let flag = known.ok_or_else(|| Refusal::new(typed, "this command has no such option"))?.long;
        all.push(Given { flag, values: value.into_iter().collect() });
    }
    for given in all.iter_mut().filter(|given| given.values.is_empty()) {
        given.values.push(Value::parse("1"));
    }
    Ok(all)
}

/// Whether a word of the command line is a flag, such as `-o`, and not a negative number.
fn is_flag(word: &str) -> bool {
    word.starts_with('-') && word.len() > 1 && !word.starts_with(|c: char| c.is_ascii_digit()) && !is_number(word)
}

fn is_number(word: &str) -> bool {
    word.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
}

/// Returns the command-line arguments, with the words of each group in brackets joined to one argument.
fn regrouped(arguments: &[String]) -> Result<Vec<String>, Refusal> {
    let mut words = Vec::new();
    let mut open: Option<String> = None;
    for argument in arguments {
        let argument = argument.trim();
        let word = match open.take() {
            Some(begun) => begun + argument,
            None => argument.to_owned(),
        };
        match (word.contains('['), word.ends_with(']')) {
            (true, false) => open = Some(word),
            _ => words.push(word),
        }
    }
    match open {
        Some(begun) => Err(Refusal::new(begun, "a bracket is not closed; expected ] at the end of this argument")),
        None => Ok(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLAGS: &[Flag] =
        &[flag('m', "metric"), flag('r', "initial-moving-transform"), long("float"), flag('v', "verbose")];

    fn read_line(line: &str) -> Result<Vec<(&'static str, Vec<String>)>, Refusal> {
        let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let given = parse(&arguments, FLAGS)?;
        Ok(given.into_iter().map(|g| (g.flag, g.values.into_iter().map(|value| value.text).collect())).collect())
    }

    #[test]
    fn groups_may_be_split_over_arguments() {
        let expected = Ok(vec![("metric", vec!["CC[f.nii,m.nii,1,4]".to_owned()])]);
        assert_eq!(read_line("--metric CC[ f.nii, m.nii, 1, 4 ]"), expected);
        assert_eq!(read_line("-m CC[f.nii,m.nii,1,4]"), expected);
        assert_eq!(read_line("--metric=CC[f.nii, m.nii,1,4]"), expected);
    }

    #[test]
    fn a_flag_takes_all_values_that_follow_or_1() {
        assert_eq!(read_line("--v 0 "), Ok(vec![("verbose", vec!["0".to_owned()])]));
        let expected = vec![
            ("initial-moving-transform", vec!["[a.mat,0]".to_owned(), "[b.mat,1]".to_owned()]),
            ("float", vec!["1".to_owned()]),
            ("verbose", vec!["-1".to_owned()]),
        ];
        assert_eq!(read_line("-r [ a.mat, 0 ] [ b.mat, 1 ] --float -v -1"), Ok(expected));
    }

    #[test]
    fn a_value_is_a_name_with_parameters() {
        let value = Value::parse("Mattes[f.nii,,1, 32]");
        assert!(value.is("mattes") && !value.is("CC"));
        assert_eq!([0, 1, 3, 4].map(|n| value.parameter(n)), [Some("f.nii"), None, Some("32"), None]);
        assert_eq!(Value::parse("100x50").parameters, None);
        assert_eq!(Value::parse("[100x50,1e-6]").name, "");
    }

    #[test]
    fn what_is_not_understood_is_refused_by_name() {
        for (line, expected) in [
            ("--size 3", "--size"),
            ("-v 1 -r ", "--initial-moving-transform"),
            ("3 -v 1", "3"),
            ("-m CC[f.nii, m.nii", "CC[f.nii,m.nii"),
            ("-vm", "-vm"),
        ] {
            let refusal = read_line(line).expect_err(line);
            assert_eq!(refusal.option, expected);
        }
    }
}
