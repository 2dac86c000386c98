//! The options of the stages by name. A table has everything about an option in one place: name, field, range, default,
//! help text and section. What front ends declare, set, check and show follows from the table.

mod linear;
mod syn;
pub mod value;

use std::sync::LazyLock;

use antsreg_core::schedule::Level;
use antsreg_linear::{Boundary, Search};
use clap::ValueEnum;
use clap::builder::PossibleValue;

use self::value::{Kind, Number, Range, joined};
use crate::{Model, Preset, Recipe, Schedule, Stage};

/// An option of a stage.
pub struct Opt {
    /// Name on a command line, with two dashes.
    pub long: &'static str,
    /// Other spelling of the name, without dashes.
    pub alias: Option<&'static str>,
    /// The part of a registration that the option belongs to.
    pub section: Section,
    /// Word for the value in help texts; empty for a flag.
    pub value_name: &'static str,
    /// The names that the option takes, if it is a choice between names.
    pub choices: Vec<PossibleValue>,
    /// Kind of the value that the option takes.
    pub kind: Kind,
    /// Description of the values that the option takes.
    pub expected: String,
    /// What stands between the numbers of a list.
    pub separator: char,
    text: String,
    /// Whether the help text shows the values of the presets behind the text.
    shows_default: bool,
    /// Whether the option is only shown if its value is not the default.
    quiet: bool,
    needs: Option<Needs>,
    set: Box<Setter>,
    get: Box<Getter>,
}

/// Reads a value and writes it into a recipe; `None` if the option does not take the value.
type Setter = dyn Fn(&mut Recipe, &str) -> Option<()> + Send + Sync;
/// Formats the value in a recipe; `None` if the recipe does not have the field, or the flag is off.
type Getter = dyn Fn(&mut Recipe) -> Option<String> + Send + Sync;

/// The part of a registration that an option belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// The linear stage.
    Linear,
    /// Boundary-based registration within the linear stage.
    Boundary,
    /// The deformable stage.
    Syn,
}

/// Another option that decides whether an option has an effect, and the condition.
struct Needs {
    option: &'static str,
    met: fn(&Recipe) -> bool,
}

/// An option as front ends show it: its name with two dashes, and its value, which is empty for a flag.
pub type Shown = (&'static str, String);

/// Why an option is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// The value is not one that the option takes.
    #[error("expected {expected}, found `{found}`")]
    Value {
        /// Name of the option, with two dashes.
        option: &'static str,
        /// Description of the values that the option takes.
        expected: String,
        /// The value that was given.
        found: String,
    },
    /// There is no option with this name.
    #[error("there is no option `{name}`")]
    Unknown {
        /// The name that was given.
        name: String,
    },
    /// The option has no effect.
    #[error("{option} has no effect with {with}")]
    NoEffect {
        /// Name of the option, with two dashes.
        option: &'static str,
        /// The other option that decides this, and its value.
        with: String,
    },
}

/// All options of the stages, in the order of help texts. An option stands behind those on which it depends.
pub fn all() -> &'static [Opt] {
    static ALL: LazyLock<Vec<Opt>> = LazyLock::new(|| linear::options().into_iter().chain(syn::options()).collect());
    &ALL
}

/// Returns the option with this name, such as `cc-radius` or `cc_radius`.
pub fn find(name: &str) -> Option<&'static Opt> {
    let name = name.replace('_', "-");
    all().iter().find(|option| option.name() == name || option.alias.is_some_and(|alias| alias == name))
}

/// A value in the types of a program that calls this library, instead of a text.
#[derive(Debug, Clone, PartialEq)]
pub enum Typed {
    /// Whether a flag is on.
    Flag(bool),
    /// A number.
    Number(f64),
    /// Numbers, such as one for each level.
    Numbers(Vec<f64>),
    /// A name, or the text that a command line would have.
    Text(String),
}

/// Returns the option with this name, with its value as a text.
///
/// # Errors
/// [`OptionError::Unknown`], or [`OptionError::Value`] if the option does not take the value.
pub fn named(name: &str, value: &Typed) -> Result<(&'static Opt, String), OptionError> {
    let option = find(name).ok_or_else(|| OptionError::Unknown { name: name.to_owned() })?;
    let text = match value {
        Typed::Flag(on) => on.to_string(),
        Typed::Number(number) => number.to_string(),
        Typed::Numbers(numbers) => joined(numbers, &option.separator.to_string()),
        Typed::Text(text) => text.clone(),
    };
    option.check(&text)?;
    Ok((option, text))
}

/// Writes options into a recipe, in the order of the table. The transform model of the recipe must be set.
///
/// # Errors
/// A value that an option does not take; an option that has no effect with this model, or of a linear stage with
/// another option. [`check_metrics`] checks the options of deformable stages when all channels are known.
pub fn apply(recipe: &mut Recipe, given: &[(&'static Opt, String)]) -> Result<(), OptionError> {
    let in_order = all().iter().flat_map(|option| given.iter().filter(|(given, _)| given.long == option.long));
    let in_order: Vec<_> = in_order.collect();
    for (option, _) in &in_order {
        if !option.section.is_used(recipe.model) {
            return Err(option.no_effect(format!("--transform {}", name(&recipe.model))));
        }
    }
    for (option, value) in &in_order {
        option.set(recipe, value)?;
    }
    let mut of_linear = in_order.iter().filter(|(option, _)| option.section != Section::Syn);
    of_linear.try_for_each(|(option, _)| option.check_effect(recipe))
}

/// Checks that each given option of the deformable stage belongs to a metric of one of the channels.
///
/// # Errors
/// [`OptionError::NoEffect`].
pub fn check_metrics(recipe: &Recipe, given: &[(&'static Opt, String)]) -> Result<(), OptionError> {
    let mut of_syn = given.iter().filter(|(option, _)| option.section == Section::Syn);
    of_syn.try_for_each(|(option, _)| option.check_effect(recipe))
}

/// Returns the options of a stage that have an effect, each with its value, which is empty for a flag. `slices` says
/// whether the images are slices: a linear model then has other degrees of freedom.
pub fn shown(stage: &Stage, slices: bool) -> Vec<Shown> {
    let mut recipe = Recipe::new(Preset::Default);
    match stage {
        Stage::Linear(options) => {
            recipe.dof = Some(options.dof.number(slices));
            recipe.linear = options.clone();
        }
        Stage::Deformable(options) => recipe.syn = options.clone(),
    }
    let of_stage = |option: &&Opt| (option.section == Section::Syn) == matches!(stage, Stage::Deformable(_));
    let usual = Recipe::new(Preset::Default);
    let shown = |option: &'static Opt| {
        option.check_effect(&recipe).ok()?;
        let value = option.get(&recipe).filter(|_| !option.quiet || option.get(&recipe) != option.get(&usual))?;
        Some((option.long, value))
    };
    all().iter().filter(of_stage).filter_map(shown).collect()
}

/// Returns a help text with the default value behind it, and the values of presets that differ from the default.
pub fn help(text: &str, value: impl Fn(Preset) -> String) -> String {
    let usual = value(Preset::Default);
    let others = Preset::ALL.into_iter().filter(|preset| value(*preset) != usual);
    let others: String = others.map(|preset| format!("; {}: {}", name(&preset), value(preset))).collect();
    format!("{text} [default: {usual}{others}]")
}

/// Name of a choice, as users write it.
pub fn name(choice: &impl ValueEnum) -> String {
    choice.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

impl Section {
    /// Heading of the section in help texts.
    pub fn heading(self) -> &'static str {
        if self == Section::Syn { "SyN stage" } else { "Affine stage" }
    }

    fn is_used(self, model: Model) -> bool {
        if self == Section::Syn { model.is_deformable() } else { model.dof().is_some() }
    }
}

impl Opt {
    /// Name without dashes before it.
    pub fn name(&self) -> &'static str {
        self.long.trim_start_matches('-')
    }

    /// Whether the option has no value.
    pub fn is_flag(&self) -> bool {
        self.value_name.is_empty()
    }

    /// The help text, with the default value.
    pub fn help(&self) -> String {
        if !self.shows_default {
            return self.text.clone();
        }
        help(&self.text, |preset| {
            let mut recipe = Recipe::new(preset);
            recipe.linear.boundary = (self.section == Section::Boundary).then(Boundary::default);
            self.get(&recipe).unwrap_or_default()
        })
    }

    /// Reads a value and writes it into a recipe.
    ///
    /// # Errors
    /// [`OptionError::Value`].
    pub fn set(&self, recipe: &mut Recipe, value: &str) -> Result<(), OptionError> {
        let refused =
            || OptionError::Value { option: self.long, expected: self.expected.clone(), found: value.to_owned() };
        (self.set)(recipe, value).ok_or_else(refused)
    }

    /// Checks that the option takes a value.
    ///
    /// # Errors
    /// [`OptionError::Value`].
    pub fn check(&self, value: &str) -> Result<(), OptionError> {
        self.set(&mut Recipe::new(Preset::Default), value)
    }

    /// Formats the value in a recipe; `None` if the recipe does not have the field, or the flag is off.
    fn get(&self, recipe: &Recipe) -> Option<String> {
        (self.get)(&mut recipe.clone())
    }

    fn check_effect(&self, recipe: &Recipe) -> Result<(), OptionError> {
        let Some(Needs { option, met }) = &self.needs else { return Ok(()) };
        if met(recipe) {
            return Ok(());
        }
        let value = match *option {
            "--transform" => Some(name(&recipe.model)),
            other => find(other.trim_start_matches('-')).and_then(|other| other.get(recipe)),
        };
        Err(self.no_effect(format!("{option} {}", value.unwrap_or_default()).trim_end().to_owned()))
    }

    fn no_effect(&self, with: String) -> OptionError {
        OptionError::NoEffect { option: self.long, with }
    }

    /// An option with these functions that read and format its value. `usage` is its name, followed by the word for its
    /// value, if it has one.
    fn new(
        usage: &'static str,
        expected: String,
        text: impl Into<String>,
        set: impl Fn(&mut Recipe, &str) -> Option<()> + Send + Sync + 'static,
        get: impl Fn(&mut Recipe) -> Option<String> + Send + Sync + 'static,
    ) -> Opt {
        let (long, value_name) = usage.split_once(' ').unwrap_or((usage, ""));
        Opt {
            long,
            alias: None,
            section: Section::Syn,
            value_name,
            choices: Vec::new(),
            kind: Kind::Text,
            expected,
            separator: ',',
            text: text.into(),
            shows_default: true,
            quiet: false,
            needs: None,
            set: Box::new(set),
            get: Box::new(get),
        }
    }

    /// A number in a range.
    fn number<T: Number>(
        usage: &'static str,
        range: impl Into<Range>,
        field: fn(&mut Recipe) -> Option<&mut T>,
        text: impl Into<String>,
    ) -> Opt {
        let range = range.into();
        let set = move |recipe: &mut Recipe, text: &str| {
            let value = T::read(text, range)?;
            if let Some(field) = field(recipe) {
                *field = value;
            }
            Some(())
        };
        let get = move |recipe: &mut Recipe| field(recipe).map(|value| value.to_string());
        Opt { kind: T::KIND, ..Opt::new(usage, format!("{} {range}", T::ONE), text, set, get) }
    }

    /// A choice between names.
    fn choice<T: ValueEnum + 'static>(
        usage: &'static str,
        field: fn(&mut Recipe) -> Option<&mut T>,
        text: &str,
    ) -> Opt {
        let choices: Vec<PossibleValue> = T::value_variants().iter().filter_map(T::to_possible_value).collect();
        let set = move |recipe: &mut Recipe, text: &str| {
            let value = T::from_str(text, true).ok()?;
            if let Some(field) = field(recipe) {
                *field = value;
            }
            Some(())
        };
        let get = move |recipe: &mut Recipe| field(recipe).map(|value| name(value));
        let expected = joined(choices.iter().map(PossibleValue::get_name), ", ");
        Opt { choices, kind: Kind::Choice, ..Opt::new(usage, expected, text, set, get) }
    }

    /// Numbers in a range, one for each level of the deformable stage. `x` stands between them, as in ANTs.
    fn per_level<T: Number>(
        name: &'static str,
        range: impl Into<Range>,
        example: &str,
        field: fn(&mut Schedule) -> &mut Option<Vec<T>>,
        of_level: fn(&Level) -> T,
        text: &str,
    ) -> Opt {
        let range = range.into();
        let set = move |recipe: &mut Recipe, text: &str| {
            // In "8x4x2x1vox" the x of "vox" is not a separator.
            let values = T::read_list(text.strip_suffix("vox").unwrap_or(text), 'x', range)?;
            *field(&mut recipe.schedule) = Some(values);
            Some(())
        };
        let get = move |recipe: &mut Recipe| Some(joined(recipe.syn.levels.iter().map(of_level), "x"));
        let expected = format!("{} {range}, one per level, such as {example}", T::SEVERAL);
        Opt { separator: 'x', kind: Kind::PerLevel, ..Opt::new(name, expected, text, set, get) }
    }

    /// A flag, which `turn_on` turns on.
    fn flag(name: &'static str, turn_on: fn(&mut Recipe), is_on: fn(&Recipe) -> bool, text: &str) -> Opt {
        let set = move |recipe: &mut Recipe, text: &str| match text {
            "" | "true" => {
                turn_on(recipe);
                Some(())
            }
            "false" => Some(()),
            _ => None,
        };
        let get = move |recipe: &mut Recipe| is_on(recipe).then(String::new);
        Opt { shows_default: false, kind: Kind::Flag, ..Opt::new(name, "true or false".into(), text, set, get) }
    }

    fn of(self, section: Section) -> Opt {
        Opt { section, ..self }
    }

    /// The option has an effect only under a condition that `option` decides.
    fn needing(self, option: &'static str, met: fn(&Recipe) -> bool) -> Opt {
        Opt { needs: Some(Needs { option, met }), ..self }
    }
}

/// Whether the linear stage searches angles.
fn searches(recipe: &Recipe) -> bool {
    recipe.linear.search != Search::None
}

impl std::fmt::Debug for Opt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.long)
    }
}

#[cfg(test)]
mod tests;
