//! The options of the affine and of the SyN stage, declared from the library's table.

use antsreg_console::UsageError;
use antsreg_register::Recipe;
use antsreg_register::option::{self, Opt, OptionError};
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Args, Command, FromArgMatches};

/// Options of the stages as given on the command line, each with its value, which is empty for a flag.
#[derive(Debug, Clone)]
pub struct StageArgs(Vec<(&'static Opt, String)>);

impl StageArgs {
    /// Name of clap's group of all options of the stages.
    const GROUP: &'static str = "StageArgs";

    /// Writes the options into `recipe`, whose transform model is set. An option without effect is an error.
    pub fn apply(&self, recipe: &mut Recipe) -> Result<(), UsageError> {
        option::apply(recipe, &self.0).map_err(usage)
    }

    /// Returns an error if an option is given for a similarity metric that no channel (pair of images) uses.
    pub fn check_metrics(&self, recipe: &Recipe) -> Result<(), UsageError> {
        option::check_metrics(recipe, &self.0).map_err(usage)
    }
}

fn usage(error: OptionError) -> UsageError {
    match error {
        OptionError::NoEffect { option, with } => UsageError::NoEffect { option, with },
        other => UsageError::Option(other.to_string()),
    }
}

fn declared(option: &'static Opt) -> Arg {
    let arg = Arg::new(option.name()).long(option.name()).help(option.help()).help_heading(option.section.heading());
    let arg = option.alias.into_iter().fold(arg, Arg::alias);
    if option.is_flag() {
        return arg.action(ArgAction::SetTrue);
    }
    let arg = arg.value_name(option.value_name).allow_negative_numbers(true);
    match &option.choices[..] {
        [] => arg.value_parser(move |text: &str| option.check(text).map(|()| text.to_owned())),
        choices => arg.value_parser(PossibleValuesParser::new(choices.to_vec())).ignore_case(true),
    }
}

impl Args for StageArgs {
    fn augment_args(command: Command) -> Command {
        let names = option::all().iter().map(Opt::name);
        let group = ArgGroup::new(StageArgs::GROUP).multiple(true).args(names);
        command.args(option::all().iter().map(declared)).group(group)
    }

    fn augment_args_for_update(command: Command) -> Command {
        StageArgs::augment_args(command)
    }
}

impl FromArgMatches for StageArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<StageArgs, clap::Error> {
        let given = |option: &'static Opt| match option.is_flag() {
            true => matches.get_flag(option.name()).then(String::new),
            false => matches.get_one(option.name()).cloned(),
        };
        Ok(StageArgs(option::all().iter().filter_map(|option| Some((option, given(option)?))).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = StageArgs::from_arg_matches(matches)?;
        Ok(())
    }
}
