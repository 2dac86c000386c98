//! Advice for errors and warnings of the libraries. The libraries do not know the options of the command line.

use antsreg_pool::Error as PoolError;
use antsreg_register::linear::Error as LinearError;
use antsreg_register::{Error as RegisterError, RecipeError, Warning};
use antsreg_study::labels::AtlasesError;
use antsreg_study::template::{Error as TemplateError, Step};
use antsreg_study::{Error as StudyError, RunWarning};

/// Advice for an error of files or of a study. The advice becomes the end of the error message.
pub fn of_study(error: &StudyError) -> String {
    match error {
        StudyError::NotLabels(_) => "; to resample label maps with `apply`, give -n generic-label".into(),
        StudyError::OtherGrid { path, other, interpolation, .. } => {
            let [path, other] = [path, other].map(|path| path.display());
            format!("; resample it with `antsreg-gpu apply -i {path} -r {other} -n {interpolation} -o OUT`")
        }
        StudyError::NoOverlap { start, .. } if start == "centre-of-mass" => {
            "; check that the voxel sizes of both images are in mm".into()
        }
        StudyError::NoOverlap { .. } => {
            "; give --initial-transform centre-of-mass, or the file of a transform".into()
        }
        StudyError::NotATransform { found, .. } if found.starts_with("an FSL") => {
            "; convert matrices of FSL with `antsreg-gpu convert`".into()
        }
        StudyError::WhiteMatter { .. } => "; give a segmentation with --white-matter".into(),
        StudyError::Atlas { source, .. } => of_study(source),
        StudyError::Atlases(AtlasesError::NoLabels { .. }) => {
            "; give --atlas IMAGE=LABELS, or a table with the columns image and labels".into()
        }
        StudyError::Atlases(AtlasesError::TooFew { .. }) => "; give more atlases with --atlas".into(),
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
            "; give another --output, or --restart: files made with other data are then made again".into()
        }
        TemplateError::PlanFormat { .. } | TemplateError::PlanChanged { .. } => {
            "; build in a new folder, or give `template` --restart to make everything again in this folder".into()
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
                Step::Start => "template … --plan-only".into(),
                Step::Register { pass, subject } => {
                    format!("template register-one {folder} --pass {pass} --subject {subject}")
                }
                Step::Average { pass } => format!("template average {folder} --pass {pass}"),
                Step::Update { pass } => format!("template update {folder} --pass {pass}"),
                Step::FinishSubject { .. } | Step::Finish { .. } => format!("template finish {folder}"),
            };
            format!("; first run `{command}`")
        }
        _ => String::new(),
    }
}

/// Advice for an error of a registration. The advice becomes the end of the error message.
pub fn of_register(error: &RegisterError) -> &'static str {
    match error {
        RegisterError::DeviceMemory(_) => "; free GPU memory, or compute in main memory with --device cpu",
        RegisterError::Window(_) => "; give a smaller --cc-radius, or --device cpu",
        RegisterError::NoDevice { .. } => "; choose a device with --device",
        RegisterError::Shrink { .. } => " with --shrink-factors",
        RegisterError::Linear {
            source: LinearError::FewBoundaryPoints { .. } | LinearError::NoWhiteMatter, ..
        } => "; give a segmentation with --white-matter",
        _ => "",
    }
}

/// Advice for a warning of a run. The advice becomes the end of the warning.
pub fn of_run(warning: &RunWarning) -> &'static str {
    match warning {
        RunWarning::Result(warning) => of_warning(warning),
        _ => "",
    }
}

fn of_recipe(error: &RecipeError) -> &'static str {
    match error {
        RecipeError::Dof { .. } => "; change --dof",
        RecipeError::Levels { .. } => {
            "; the defaults depend on the image: give --shrink-factors, --smoothing-sigmas and --iterations together, \
             with one value for each level"
        }
        RecipeError::Reinversions { .. } => "; change --reinvert-every",
        _ => "",
    }
}

/// Advice for a warning about a result. The advice becomes the end of the warning.
pub fn of_warning(warning: &Warning) -> &'static str {
    match warning {
        // A linear stage has searched for the affine transform. This search may have caused the bad result, so the
        // advice names options of the linear stage.
        Warning::WorseThanStart { searched: true, .. } => {
            "; look at the images. For images with few slices or with small parts of a head, --transform rigid, \
             --no-search or masks can help"
        }
        Warning::WorseThanStart { .. } => "; look at the images",
        Warning::NegativeCorrelation { .. } => {
            "; look at the images. For two modalities give --cost nmi and --metric mattes"
        }
        Warning::ImplausibleScale { .. } => "; look at the images, and check that the voxel sizes of both are in mm",
        Warning::BeyondLimits { .. } => " (--inverse-limit)",
        _ => "",
    }
}
