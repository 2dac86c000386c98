//! Where every file of a template lies.
//!
//! Files of subjects have folders of their own: a subject may be called `template`, `average` or `shape`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The folder of a template and of all that is made on the way to it.
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
    /// Of a template with these channels, in the folder `root`.
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

    /// The plan of the template in a folder.
    pub fn plan(root: &Path) -> PathBuf {
        root.join("atlas.json")
    }

    /// Locked while one process builds the whole template.
    pub fn lock(root: &Path) -> PathBuf {
        root.join(".lock")
    }

    /// A file's path below the folder.
    pub fn relative(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.root).unwrap_or(path).into()
    }

    /// Folder of a pass.
    pub fn pass(&self, pass: usize) -> PathBuf {
        self.root.join(format!("pass_{pass}"))
    }

    /// Folder of the subjects' registrations in a pass.
    pub fn registrations(&self, pass: usize) -> PathBuf {
        self.pass(pass).join("subjects")
    }

    /// Folder of the first template.
    pub fn start(&self) -> PathBuf {
        self.root.join("start")
    }

    /// Folder of the subjects' files that are handed out.
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
        let folder = self.registrations(pass);
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

    /// Files of a subject that are handed out.
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

    /// The label map of the template that is handed out.
    pub fn labels(&self, extension: &str) -> PathBuf {
        self.root.join(format!("template_labels.{extension}"))
    }

    /// A path that two files of a template of these subjects would have, on a file system that takes `A` and `a` for the same.
    /// Names of subjects and channels can be chosen so, for instance a channel `labels`.
    pub fn collision(&self, subjects: &[&str], extension: &str) -> Option<PathBuf> {
        let mut paths = vec![self.labels(extension)];
        paths.extend(self.result(extension));
        for TemplateFiles { images, shape, manifest } in [self.template(None), self.template(Some(1))] {
            paths.extend(images.into_iter().chain([shape, manifest]));
        }
        let AverageFiles { images, warp, stretch, manifest } = self.average(1);
        paths.extend(images.into_iter().chain([warp, stretch, manifest]));
        for subject in subjects {
            let RegistrationFiles { affine, warp, warped, manifest } = self.registration(1, subject);
            paths.extend(warped.into_iter().chain([affine, warp, manifest]));
            let SubjectFiles { affine, warp, inverse_warp, warped, labels, manifest } =
                self.subject(subject, extension);
            paths.extend(warped.into_iter().chain([affine, warp, inverse_warp, labels, manifest]));
        }
        let mut seen = BTreeSet::new();
        paths.into_iter().find(|path| !seen.insert(path.to_string_lossy().to_lowercase()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collision(channels: &[&str], subjects: &[&str]) -> Option<PathBuf> {
        let channels: Vec<String> = channels.iter().map(|name| (*name).to_owned()).collect();
        Layout::new(Path::new("t"), &channels).collision(subjects, "nii.gz")
    }

    #[test]
    fn subjects_may_have_the_names_of_the_templates_own_files() {
        let subjects = ["shape", "average", "template", "template.nii.gz", "start", "pass_1", "atlas", "record"];
        assert_eq!(collision(&["image"], &subjects), None);
        assert_eq!(collision(&["t1", "t2"], &subjects), None);
    }

    #[test]
    fn names_that_make_two_files_one_are_found() {
        let found = |channels: &[&str], subjects: &[&str]| collision(channels, subjects).expect("a collision");
        assert_eq!(found(&["image"], &["a", "A"]), Path::new("t/pass_1/subjects/A_Warped.nii"));
        assert_eq!(found(&["t1", "labels"], &["a"]), Path::new("t/template_labels.nii.gz"));
        assert_eq!(found(&["t1", "1Warp"], &["a"]), Path::new("t/pass_1/average_1Warp.nii"));
        assert_eq!(found(&["t1", "T1"], &["a"]), Path::new("t/template_T1.nii.gz"));
        let twisted = found(&["t1", "1InverseWarp"], &["a", "a_Warped"]);
        assert_eq!(twisted, Path::new("t/subjects/a_Warped_1InverseWarp.nii.gz"));
    }
}
