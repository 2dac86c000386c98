//! Advice for errors and warnings of the libraries. The libraries do not know the options of the command line.

use antsreg_pool::Error as PoolError;
use antsreg_register::{Error as RegisterError, RecipeError, Warning};
use antsreg_study::Error as StudyError;
use antsreg_study::labels::AtlasesError;
use antsreg_study::template::{Error as TemplateError, Step};

/// Advice for an error of files or of a study. It becomes the end of the error message.
pub fn of_study(error: &StudyError) -> String {
    match error {
        StudyError::NotLabels(_) => "; what `apply` carries stays a label map with -n generic-label".into(),
        StudyError::OtherGrid { path, other, interpolation, .. } => {
            let [path, other] = [path, other].map(|path| path.display());
            format!("; bring it there with `antsreg-gpu apply -i {path} -r {other} -n {interpolation} -o OUT`")
        }
        StudyError::NoOverlap { start, .. } if start == "centre-of-mass" => {
            "; are the voxel sizes of both in mm?".into()
        }
        StudyError::NoOverlap { .. } => "; start from --initial-transform centre-of-mass, or give a transform".into(),
        StudyError::NotATransform { found, .. } if found.starts_with("an FSL") => {
            "; FSL's go through `antsreg-gpu convert`".into()
        }
        StudyError::Atlas { source, .. } => of_study(source),
        StudyError::Atlases(AtlasesError::NoLabels { .. }) => {
            "; give --atlas IMAGE=LABELS, or a table with the columns image and labels".into()
        }
        StudyError::Atlases(AtlasesError::TooFew { .. }) => "; give more with --atlas".into(),
        StudyError::Recipe(error) => of_recipe(error).into(),
        StudyError::Register(error) => of_register(error).into(),
        StudyError::Template(error) => of_template(error),
        StudyError::Pool(PoolError::Thread { .. } | PoolError::Threads { .. }) => "; try a smaller --threads".into(),
        _ => String::new(),
    }
}

fn of_template(error: &TemplateError) -> String {
    match error {
        TemplateError::Changed { .. } => {
            "; give another --output, or --restart to make again what does not fit".into()
        }
        TemplateError::PlanFormat { .. } | TemplateError::PlanChanged { .. } => {
            "; build in a new folder, or give `atlas` --restart to make everything again in this one".into()
        }
        TemplateError::NotAPlan { .. } | TemplateError::Foreign { .. } | TemplateError::InputAmongOutputs { .. } => {
            "; give another --output".into()
        }
        TemplateError::TooLarge { .. } => "; give a smaller --margin, or an image with larger voxels".into(),
        TemplateError::TooFewToTrim { .. } => "; leave out --average trimmed".into(),
        TemplateError::Subject { reason, .. } => of_study(reason),
        TemplateError::NotYet { folder, step, .. } => {
            let folder = folder.display();
            let command = match step {
                Step::Start => "atlas … --plan-only".into(),
                Step::Register { pass, subject } => {
                    format!("atlas register-one {folder} --pass {pass} --subject {subject}")
                }
                Step::Average { pass } => format!("atlas average {folder} --pass {pass}"),
                Step::Update { pass } => format!("atlas update {folder} --pass {pass}"),
                Step::FinishSubject { .. } | Step::Finish { .. } => format!("atlas finish {folder}"),
            };
            format!("; first run `{command}`")
        }
        _ => String::new(),
    }
}

/// What the user can do about an error of a registration, as the end of the error message.
pub fn of_register(error: &RegisterError) -> &'static str {
    match error {
        RegisterError::DeviceMemory(_) => "; free some, or compute in main memory with --device cpu",
        RegisterError::Window(_) => "; give a smaller --cc-radius, or --device cpu",
        RegisterError::NoDevice { .. } => "; choose with --device",
        RegisterError::Shrink { .. } => " with --shrink-factors",
        _ => "",
    }
}

fn of_recipe(error: &RecipeError) -> &'static str {
    match error {
        RecipeError::Dof { .. } => "; change --dof",
        RecipeError::Levels { .. } => {
            "; those not given suit the image: give all three of --shrink-factors, --smoothing-sigmas and --iterations with \
             one value a level"
        }
        RecipeError::Reinversions { .. } => "; change --reinvert-every",
        _ => "",
    }
}

/// What the user can do about a warning about a result, as the end of the warning.
pub fn of_warning(warning: &Warning) -> &'static str {
    match warning {
        // If the affine stage is the cause, options of that stage may help.
        Warning::WorseThanStart { searched: true, .. } => {
            "; look at the images. Where few slices, or small parts of a head, leave much undetermined, --transform rigid, \
             --no-search or masks help"
        }
        Warning::WorseThanStart { .. } => "; look at the images",
        Warning::NegativeCorrelation { .. } => {
            "; look at the images. For two modalities give --cost nmi and --metric mattes"
        }
        Warning::ImplausibleScale { .. } => "; look at the images. Are the voxel sizes of both in mm?",
        Warning::BeyondLimits { .. } => " (--inverse-limit)",
        _ => "",
    }
}
