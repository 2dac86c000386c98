//! Help texts with default values that are read from the presets, so that the texts are always true.

use antsreg_register::Preset;

use crate::values::name;

/// Returns `text` followed by the default value, and by the values of other presets where they differ.
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
