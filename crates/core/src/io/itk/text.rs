//! ITK's text transforms.

use super::super::ErrorKind;
use super::affine::Stored;

/// Reads the transform of a text file.
pub(super) fn parse(text: &str) -> Result<Stored, ErrorKind> {
    let mut stored = Stored { name: String::new(), parameters: Vec::new(), fixed_parameters: Vec::new() };
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
        match key.trim() {
            "Transform" if stored.name.is_empty() => stored.name = value.trim().to_string(),
            "Transform" => return Err(syntax("one transform", trimmed)),
            "Parameters" => stored.parameters = numbers()?,
            "FixedParameters" => stored.fixed_parameters = numbers()?,
            _ => return Err(syntax("Transform, Parameters or FixedParameters", key)),
        }
    }
    if stored.name.is_empty() {
        let found = "no line \"Transform: …\"".into();
        return Err(ErrorKind::Format { expected: "an ITK transform", found });
    }
    Ok(stored)
}

/// The transform as text, with all digits.
pub(super) fn format(stored: &Stored) -> Vec<u8> {
    let join = |numbers: &[f64]| numbers.iter().map(f64::to_string).collect::<Vec<_>>().join(" ");
    format!(
        "#Insight Transform File V1.0\n#Transform 0\nTransform: {}\nParameters: {}\nFixedParameters: {}\n",
        stored.name,
        join(&stored.parameters),
        join(&stored.fixed_parameters)
    )
    .into_bytes()
}
