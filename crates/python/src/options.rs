//! Options of the command as Python passes them: names of arguments, and values in Python's types.

use antsreg_cli::described::{self, Argument, Lists};
use antsreg_register::option::{self, OptionError, Typed};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::{Class, Failure};

/// Value of an option, as Python passes it.
#[derive(FromPyObject)]
pub enum OptionValue {
    /// Whether a flag is on.
    Flag(bool),
    /// A number.
    Number(f64),
    /// A name or a path.
    Text(String),
    /// A list of numbers.
    Numbers(Vec<f64>),
    /// A list of names or paths.
    Texts(Vec<String>),
}

impl From<OptionValue> for Typed {
    fn from(value: OptionValue) -> Typed {
        match value {
            OptionValue::Flag(on) => Typed::Flag(on),
            OptionValue::Number(number) => Typed::Number(number),
            OptionValue::Text(text) => Typed::Text(text),
            OptionValue::Numbers(numbers) => Typed::Numbers(numbers),
            OptionValue::Texts(texts) => Typed::Text(texts.join(",")),
        }
    }
}

/// Options of a verb of the command, by the names of Python's arguments, as words of a command line: `cc_radius=4`
/// becomes `--cc-radius=4`. A flag that is off is left out.
#[pyfunction]
pub fn words(verb: &str, options: Vec<(String, OptionValue)>) -> Vec<String> {
    options.into_iter().flat_map(|(name, value)| option_words(verb, &name, value)).collect()
}

fn option_words(verb: &str, name: &str, value: OptionValue) -> Vec<String> {
    // Python reserves `from`, so that the argument of `--from` is `from_`.
    let name = name.trim_end_matches('_').replace('_', "-");
    let values = match value {
        OptionValue::Flag(true) => return vec![format!("--{name}")],
        OptionValue::Flag(false) => return Vec::new(),
        OptionValue::Number(number) => vec![number.to_string()],
        OptionValue::Text(text) => vec![text],
        OptionValue::Texts(texts) => texts,
        OptionValue::Numbers(numbers) => numbers.iter().map(ToString::to_string).collect(),
    };
    let values = match described::lists(verb, &name) {
        Lists::Repeated => values,
        Lists::Joined(separator) => vec![option::value::joined(values, &separator.to_string())],
    };
    values.into_iter().map(|value| format!("--{name}={value}")).collect()
}

/// The arguments of a verb of the command: for each a dictionary with `name`, `position`, `kind`, `value_name`,
/// `choices`, `several`, `optional_value`, `required` and `help`.
#[pyfunction]
pub fn arguments<'py>(py: Python<'py>, verb: &str) -> Result<Vec<Bound<'py, PyDict>>, Failure> {
    let all = described::arguments(verb)
        .ok_or_else(|| Failure::own(Class::Option, format!("the command has no verb `{verb}`")))?;
    all.iter().map(|argument| as_dict(py, argument).map_err(Failure::Python)).collect()
}

fn as_dict<'py>(py: Python<'py>, argument: &Argument) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", &argument.name)?;
    dict.set_item("position", argument.position)?;
    dict.set_item("kind", argument.value.name())?;
    dict.set_item("value_name", &argument.value_name)?;
    dict.set_item("choices", &argument.choices)?;
    dict.set_item("several", argument.several)?;
    dict.set_item("optional_value", argument.optional_value)?;
    dict.set_item("required", argument.required)?;
    dict.set_item("help", &argument.help)?;
    Ok(dict)
}

/// The error for an option that is refused, with the names as Python writes them.
pub fn refused(error: OptionError) -> Failure {
    let python = |option: &str| option.trim_start_matches('-').replacen(' ', "=", 1).replace('-', "_");
    let text = match error {
        OptionError::Value { option, expected, found } => {
            format!("{}: expected {expected}, found `{found}`", python(option))
        }
        OptionError::NoEffect { option, with } => format!("{} has no effect with {}", python(option), python(&with)),
        OptionError::Unknown { name } if is_of_files(&name) => {
            format!("{name}: this option is for files; give it to run_command(\"register\", …) or batch")
        }
        OptionError::Unknown { name } => format!("there is no option `{name}`"),
    };
    Failure::own(Class::Option, text)
}

/// Whether the command `register` has this option, although registrations of images in memory do not.
fn is_of_files(name: &str) -> bool {
    let name = name.replace('_', "-");
    described::arguments("register").is_some_and(|all| all.iter().any(|argument| argument.name == name))
}
