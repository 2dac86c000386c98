//! Help texts with default values that are read from the presets, so that texts and presets cannot differ.

use antsreg_register::Preset;

use crate::values::name;

/// Returns the help `text` with the default value behind it, and the values of presets that differ from the default.
pub fn help(text: &str, value: impl Fn(Preset) -> String) -> String {
    let usual = value(Preset::Default);
    let others: Vec<String> = Preset::ALL
        .into_iter()
        .filter(|preset| value(*preset) != usual)
        .map(|preset| format!("{}: {}", name(&preset), value(preset)))
        .collect();
    if others.is_empty() {
        format!("{text} [default: {usual}]")
    } else {
        format!("{text} [default: {usual}; {}]", others.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_names_presets_that_differ() {
        let text = help("Iterations", |preset| if preset == Preset::Fast { "5".into() } else { "9".into() });
        assert_eq!(text, "Iterations [default: 9; fast: 5]");
    }
}
