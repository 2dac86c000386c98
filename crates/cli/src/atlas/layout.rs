//! Where every file of an atlas lies.

use std::path::{Path, PathBuf};

/// The folder of an atlas.
#[derive(Debug, Clone)]
pub struct Layout {
    root: PathBuf,
    /// What the names of channels' images end in: nothing if there is one channel.
    suffixes: Vec<String>,
}

/// Files of a subject's registration in a pass.
#[derive(Debug, Clone)]
pub struct RegistrationFiles {
    /// Template → subject.
    pub affine: PathBuf,
    /// Displacement before the affine; absent in the affine pass.
    pub warp: PathBuf,
    /// Each channel on the template's grid.
    pub warped: Vec<PathBuf>,
    /// What was done.
    pub manifest: PathBuf,
}

/// Files of a pass's average.
#[derive(Debug, Clone)]
pub struct AverageFiles {
    /// Each channel.
    pub images: Vec<PathBuf>,
    /// The mean warp; absent in the affine pass.
    pub warp: PathBuf,
    /// The mean stretch.
    pub stretch: PathBuf,
    /// What was done.
    pub manifest: PathBuf,
}

/// Files of a template.
#[derive(Debug, Clone)]
pub struct TemplateFiles {
    /// Each channel.
    pub images: Vec<PathBuf>,
    /// New template → average; absent at the start.
    pub shape: PathBuf,
    /// What was done.
    pub manifest: PathBuf,
}

/// Files of a subject that are handed out.
#[derive(Debug, Clone)]
pub struct SubjectFiles {
    /// Template → subject.
    pub affine: PathBuf,
    /// Displacement before the affine.
    pub warp: PathBuf,
    /// Its inverse.
    pub inverse_warp: PathBuf,
    /// Each channel on the template's grid.
    pub warped: Vec<PathBuf>,
    /// The subject's labels there.
    pub labels: PathBuf,
    /// What was done.
    pub manifest: PathBuf,
}

impl Layout {
    /// Of an atlas with these channels.
    pub fn new(root: &Path, channels: &[String]) -> Layout {
        let suffixes = match channels {
            [_] => vec![String::new()],
            several => several.iter().map(|name| format!("_{name}")).collect(),
        };
        Layout { root: root.into(), suffixes }
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The plan of the atlas in a folder.
    pub fn plan(root: &Path) -> PathBuf {
        root.join("atlas.json")
    }

    /// Held while one process builds the whole atlas.
    pub fn lock(root: &Path) -> PathBuf {
        root.join(".lock")
    }

    /// Name of a file below the folder.
    pub fn relative(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.root).unwrap_or(path).into()
    }

    /// Folder of a pass.
    pub fn pass(&self, pass: usize) -> PathBuf {
        self.root.join(format!("pass_{pass}"))
    }

    /// Folder of what comes before all passes.
    pub fn start(&self) -> PathBuf {
        self.root.join("start")
    }

    /// Folder of what subjects get.
    pub fn subjects(&self) -> PathBuf {
        self.root.join("subjects")
    }

    /// Folder of the probability maps.
    pub fn probabilities(&self) -> PathBuf {
        self.root.join("probabilities")
    }

    fn channels(&self, folder: &Path, name: &str, extension: &str) -> Vec<PathBuf> {
        self.suffixes.iter().map(|suffix| folder.join(format!("{name}{suffix}.{extension}"))).collect()
    }

    /// A subject's registration in a pass.
    pub fn registration(&self, pass: usize, subject: &str) -> RegistrationFiles {
        let folder = self.pass(pass);
        RegistrationFiles {
            affine: folder.join(format!("{subject}_0GenericAffine.mat")),
            warp: folder.join(format!("{subject}_1Warp.nii")),
            warped: self.channels(&folder, &format!("{subject}_Warped"), "nii"),
            manifest: folder.join(format!("{subject}.json")),
        }
    }

    /// The average of a pass.
    pub fn average(&self, pass: usize) -> AverageFiles {
        let folder = self.pass(pass);
        AverageFiles {
            images: self.channels(&folder, "average", "nii"),
            warp: folder.join("average_1Warp.nii"),
            stretch: folder.join("average_0Stretch.mat"),
            manifest: folder.join("average.json"),
        }
    }

    /// The template of a pass, or that before all passes.
    pub fn template(&self, pass: Option<usize>) -> TemplateFiles {
        let folder = pass.map_or_else(|| self.start(), |pass| self.pass(pass));
        TemplateFiles {
            images: self.channels(&folder, "template", "nii"),
            shape: folder.join("shape_1Warp.nii"),
            manifest: folder.join("template.json"),
        }
    }

    /// The template that is handed out.
    pub fn result(&self, extension: &str) -> Vec<PathBuf> {
        self.channels(&self.root, "template", extension)
    }

    /// What a subject gets.
    pub fn subject(&self, subject: &str, extension: &str) -> SubjectFiles {
        let folder = self.subjects();
        SubjectFiles {
            affine: folder.join(format!("{subject}_0GenericAffine.mat")),
            warp: folder.join(format!("{subject}_1Warp.{extension}")),
            inverse_warp: folder.join(format!("{subject}_1InverseWarp.{extension}")),
            warped: self.channels(&folder, &format!("{subject}_Warped"), extension),
            labels: folder.join(format!("{subject}_Labels.{extension}")),
            manifest: folder.join(format!("{subject}.json")),
        }
    }
}
