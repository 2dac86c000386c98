//! The options of a registration: `--transform`, `--preset`, `--initial-transform`, `--device` and the options of
//! both stages.

use std::str::FromStr;

use antsreg_console::UsageError;
use antsreg_pool::Devices;
use antsreg_register::option::{help, name};
use antsreg_register::{DeviceChoice, Model, Preset, Recipe};
use antsreg_study::pair::StartFile;
use antsreg_study::transforms::{NotATransformFile, TransformFile};

use super::stages::StageArgs;

/// Options of a registration as given on the command line.
#[derive(Debug, Clone, clap::Args)]
pub struct RegistrationArgs {
    #[arg(short, long, value_enum, value_name = "MODEL", help_heading = "Registration",
        help = help("Transform model", |p| name(&p.model())))]
    transform: Option<Model>,
    /// Set of default values for all options below
    #[arg(long, value_enum, default_value_t, help_heading = "Registration")]
    preset: Preset,
    #[arg(
        long,
        value_name = "START",
        help_heading = "Registration",
        help = "Initial transform: centre-of-mass, headers, or an \
        ITK affine, fixed to moving: FILE, or [FILE,1] for its inverse [default: centre-of-mass; headers for syn-only]"
    )]
    initial_transform: Option<Start>,
    /// Device that computes: cpu, cuda (the first NVIDIA GPU), cuda:N, or auto: cuda where it can be used, else cpu.
    /// Many registrations can share several devices: cuda:0,1 or cuda:all; auto then means cuda:all
    #[arg(long, default_value = "auto", value_name = "DEVICE", help_heading = "Registration")]
    pub device: Devices,

    #[command(flatten)]
    stages: StageArgs,
}

impl RegistrationArgs {
    /// Returns the transform model given on the command line, or the preset's model.
    pub fn model(&self) -> Model {
        self.transform.unwrap_or(self.preset.model())
    }

    /// Returns the device of a subcommand (verb) that uses only one device. Several given devices are an error.
    pub fn one_device(&self) -> Result<DeviceChoice, UsageError> {
        match &self.device {
            Devices::One(choice) => Ok(*choice),
            several => Err(UsageError::SeveralDevices { asked: several.to_string() }),
        }
    }

    /// Returns the initial transform given on the command line, or the default initial transform of the transform
    /// model.
    pub fn start(&self) -> StartFile {
        match &self.initial_transform {
            Some(Start(start)) => start.clone(),
            None => StartFile::usual(self.model()),
        }
    }

    /// Makes the recipe (the settings of a whole registration) from the options. An option without effect is an error.
    /// The initial transform given on the command line is not part of this recipe, because it may be in a file; the
    /// caller adds it later.
    pub fn recipe(&self) -> Result<Recipe, UsageError> {
        let mut recipe = Recipe { model: self.model(), ..Recipe::new(self.preset) };
        self.stages.apply(&mut recipe)?;
        Ok(recipe)
    }

    /// Makes the recipe (the settings of a whole registration) for a command that runs many registrations. Such a
    /// command does not find the white matter of its fixed images, so boundary-based registration is an error.
    pub fn recipe_for_many(&self) -> Result<Recipe, UsageError> {
        let recipe = self.recipe()?;
        match recipe.linear.boundary {
            Some(_) => Err(UsageError::BoundaryOfMany),
            None => Ok(recipe),
        }
    }

    /// Returns an error if an option is given for a similarity metric that no channel of the registration uses.
    pub fn check_metrics(&self, recipe: &Recipe) -> Result<(), UsageError> {
        self.stages.check_metrics(recipe)
    }
}

/// Value of the option `--initial-transform`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start(StartFile);

impl FromStr for Start {
    type Err = NotATransformFile;

    fn from_str(text: &str) -> Result<Start, NotATransformFile> {
        Ok(Start(match text {
            "centre-of-mass" | "center-of-mass" => StartFile::CentreOfMass,
            "headers" => StartFile::Headers,
            file => StartFile::File(file.parse::<TransformFile>()?),
        }))
    }
}
