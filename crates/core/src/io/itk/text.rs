//! ITK's text transforms.

use std::fmt::Write;

use super::super::ErrorKind;
use super::stored::Stored;

/// Parses a text file with a single transform.
pub(super) fn parse(text: &str) -> Result<Stored, ErrorKind> {
    let mut all = parse_all(text)?;
    match all.pop() {
        Some(only) if all.is_empty() => Ok(only),
        _ => Err(ErrorKind::Format { expected: "one ITK transform", found: format!("{} of them", all.len() + 1) }),
    }
}

/// Parses all transforms of an ITK text file, in the order of the file; at least one.
pub(super) fn parse_all(text: &str) -> Result<Vec<Stored>, ErrorKind> {
    let mut all: Vec<Stored> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line_number = index + 1;
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        let syntax = |expected, found: &str| ErrorKind::Syntax { line: line_number, expected, found: found.into() };
        let Some((key, value)) = trimmed.split_once(':') else {
            return Err(syntax("\"key: value\"", trimmed));
        };
        let numbers = || -> Result<Vec<f64>, ErrorKind> {
            value.split_whitespace().map(|word| word.parse().map_err(|_| syntax("a number", word))).collect()
        };
        match (key.trim(), all.last_mut()) {
            ("Transform", _) => {
                let name = value.trim().to_string();
                all.push(Stored { name, parameters: Vec::new(), fixed_parameters: Vec::new() });
            }
            ("Parameters", Some(stored)) => stored.parameters = numbers()?,
            ("FixedParameters", Some(stored)) => stored.fixed_parameters = numbers()?,
            ("Parameters" | "FixedParameters", None) => {
                return Err(syntax("\"Transform: …\" before this line", trimmed));
            }
            _ => return Err(syntax("the key Transform, Parameters or FixedParameters", key)),
        }
    }
    if all.is_empty() {
        let found = "no line \"Transform: …\"".into();
        return Err(ErrorKind::Format { expected: "an ITK transform", found });
    }
    Ok(all)
}

/// Formats transforms as text. Numbers keep all their digits.
pub(super) fn format(all: &[Stored]) -> Vec<u8> {
    let join = |numbers: &[f64]| numbers.iter().map(f64::to_string).collect::<Vec<_>>().join(" ");
    let mut text = "#Insight Transform File V1.0\n".to_string();
    for (number, stored) in all.iter().enumerate() {
        let (parameters, fixed) = (join(&stored.parameters), join(&stored.fixed_parameters));
        let name = &stored.name;
        // Formatting text into a string in memory cannot fail, so the result is not checked.
        let _ = write!(
            text,
            "#Transform {number}\nTransform: {name}\nParameters: {parameters}\nFixedParameters: {fixed}\n"
        );
    }
    text.into_bytes()
}
