//! The paths of all files of a template.

use std::path::{Path, PathBuf};

use super::Error;
use super::step::Step;

/// The folder in which a template is built.
#[derive(Debug, Clone)]
pub struct Layout {
    root: PathBuf,
    /// End of the names of image files, for each channel; empty if there is only one channel.
    suffixes: Vec<String>,
}

/// Files of a subject's registration to the template in one pass.
#[derive(Debug, Clone)]
pub struct RegistrationFiles {
    /// Path of the affine transform, template → subject.
    pub affine: PathBuf,
    /// Path of the warp from template to subject (displacement field), which acts on points before the affine
    /// transform. Not written in the affine pass.
    pub warp: PathBuf,
    /// Path of each channel's image on the template's grid.
    pub warped: Vec<PathBuf>,
    /// Path of the manifest of the registration: the list of the files that it read and wrote, and its results.
    pub manifest: PathBuf,
}

/// Files of the average of all subjects in a pass.
#[derive(Debug, Clone)]
pub struct AverageFiles {
    /// Path of each channel's mean image.
    pub images: Vec<PathBuf>,
    /// Path of the mean warp; no file in the affine pass.
    pub warp: PathBuf,
    /// Path of the mean stretch: an affine transform, the mean over the subjects without rotation and shift.
    pub stretch: PathBuf,
    /// Path of the manifest of the average of all subjects: the list of the files that were read and written to make
    /// the average.
    pub manifest: PathBuf,
}

/// Files of the template that results from a pass.
#[derive(Debug, Clone)]
pub struct TemplateFiles {
    /// Path of the template's image of each channel.
    pub images: Vec<PathBuf>,
    /// Path of the displacements (new template → average) of the shape update, which moves the average to the mean
    /// shape; no file before the first pass.
    pub shape: PathBuf,
    /// Path of the manifest of the template: the list of the files that were read and written to make it.
    pub manifest: PathBuf,
}

/// Paths of a subject's files after the last pass: transforms to the final template, images and labels on its grid.
#[derive(Debug, Clone)]
pub struct SubjectFiles {
    /// Path of the affine transform, template → subject.
    pub affine: PathBuf,
    /// Path of the warp from template to subject (displacement field). It acts on points before the affine transform.
    pub warp: PathBuf,
    /// Path of the inverse of the displacement field.
    pub inverse_warp: PathBuf,
    /// Path of each channel's image on the template's grid.
    pub warped: Vec<PathBuf>,
    /// Path of the subject's labels on the template's grid.
    pub labels: PathBuf,
    /// Path of the manifest of the subject's final step: the list of the files that this step read and wrote.
    pub manifest: PathBuf,
}

impl Layout {
    /// Defines the paths of all files of a template in the folder `root`. `channels` are the names of the template's
    /// channels.
    pub fn new(root: &Path, channels: &[String]) -> Layout {
        let suffixes = match channels {
            [_] => vec![String::new()],
            several => several.iter().map(|name| format!("_{name}")).collect(),
        };
        Layout { root: root.into(), suffixes }
    }

    /// Path of the folder of the template.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Path of the plan of the template in the folder `root`.
    pub fn plan(root: &Path) -> PathBuf {
        root.join("atlas.json")
    }

    /// Path of the lock file that a process holds while it builds the template.
    pub fn lock(root: &Path) -> PathBuf {
        root.join(".lock")
    }

    /// Path of the JSON file with the devices and times of the last run.
    pub fn record(root: &Path) -> PathBuf {
        root.join("record.json")
    }

    /// Path of the HTML report of the template.
    pub fn report(&self) -> PathBuf {
        self.root.join("report.html")
    }

    /// Path of the table with the statistics of every pass.
    pub fn convergence(&self) -> PathBuf {
        self.root.join("convergence.csv")
    }

    /// The path of a file relative to the folder of the template.
    pub fn relative(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.root).unwrap_or(path).into()
    }

    /// Path of the file with the identities (size, time, inode) of the files that a manifest lists.
    pub fn identities(&self, manifest: &Path) -> PathBuf {
        self.root.join(".verified").join(self.relative(manifest))
    }

    /// Folder of the files of a pass.
    pub fn pass(&self, pass: usize) -> PathBuf {
        self.root.join(format!("pass_{pass}"))
    }

    /// Folder of the registrations of a pass. With a separate folder, names of subjects cannot clash with the other
    /// files of the pass.
    pub fn registrations(&self, pass: usize) -> PathBuf {
        self.pass(pass).join("subjects")
    }

    /// Folder of the first template.
    pub fn start(&self) -> PathBuf {
        self.root.join("start")
    }

    /// Path of the brain mask of a subject whose brain is registered instead of the whole head.
    pub fn brain(&self, subject: &str) -> PathBuf {
        self.start().join(format!("brain_{subject}.nii.gz"))
    }

    /// Folder of the subjects' final files.
    pub fn subjects(&self) -> PathBuf {
        self.root.join("subjects")
    }

    /// Folder of the probability maps of labels.
    pub fn probabilities(&self) -> PathBuf {
        self.root.join("probabilities")
    }

    fn channels(&self, folder: &Path, name: &str, extension: &str) -> Vec<PathBuf> {
        self.suffixes.iter().map(|suffix| folder.join(format!("{name}{suffix}.{extension}"))).collect()
    }

    /// Files of a subject's registration to the template in one pass.
    pub fn registration(&self, pass: usize, subject: &str) -> RegistrationFiles {
        let folder = self.registrations(pass);
        RegistrationFiles {
            affine: folder.join(format!("{subject}_0GenericAffine.mat")),
            warp: folder.join(format!("{subject}_1Warp.nii")),
            warped: self.channels(&folder, &format!("{subject}_Warped"), "nii"),
            manifest: folder.join(format!("{subject}.json")),
        }
    }

    /// Files of the average of all subjects in a pass.
    pub fn average(&self, pass: usize) -> AverageFiles {
        let folder = self.pass(pass);
        AverageFiles {
            images: self.channels(&folder, "average", "nii"),
            warp: folder.join("average_1Warp.nii"),
            stretch: folder.join("average_0Stretch.mat"),
            manifest: folder.join("average.json"),
        }
    }

    /// Files of the template of a pass, or of the template before all passes.
    pub fn template(&self, pass: Option<usize>) -> TemplateFiles {
        let folder = pass.map_or_else(|| self.start(), |pass| self.pass(pass));
        TemplateFiles {
            images: self.channels(&folder, "template", "nii"),
            shape: folder.join("shape_1Warp.nii"),
            manifest: folder.join("template.json"),
        }
    }

    /// Paths of the images of the final template, one for each channel.
    pub fn result(&self, extension: &str) -> Vec<PathBuf> {
        self.channels(&self.root, "template", extension)
    }

    /// Path of the labels of the final template.
    pub fn result_labels(&self, extension: &str) -> PathBuf {
        self.root.join(format!("template_labels.{extension}"))
    }

    /// Path of the manifest of the final template: the list of the files that were read and written to make it.
    pub fn result_manifest(&self) -> PathBuf {
        self.root.join("template.json")
    }

    /// Paths of a subject's files after the last pass: transforms to the final template, images and labels on its grid.
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

    /// Path of the manifest of a step: the list of the files that the step read and wrote.
    pub fn manifest(&self, step: &Step) -> PathBuf {
        match step {
            Step::Start => self.template(None).manifest,
            Step::Register { pass, subject } => self.registration(*pass, subject).manifest,
            Step::Average { pass } => self.average(*pass).manifest,
            Step::Update { pass } => self.template(Some(*pass)).manifest,
            Step::FinishSubject { subject, extension } => self.subject(subject, extension).manifest,
            Step::Finish { .. } => self.result_manifest(),
        }
    }

    /// Checks that names of subjects and channels give every output its own name.
    ///
    /// # Errors
    /// [`Error::SameName`].
    pub fn check_names<'a>(&self, subjects: impl Iterator<Item = &'a str>, extension: &str) -> Result<(), Error> {
        let mut files = self.result(extension);
        files.extend([self.result_labels(extension), self.result_manifest(), self.report(), self.convergence()]);
        files.extend([Layout::plan(&self.root), Layout::record(&self.root)]);
        // Each pass has the same file names in its own folder, so it suffices to check the names of one pass.
        let TemplateFiles { images, shape, manifest } = self.template(Some(1));
        files.extend(images.into_iter().chain([shape, manifest]));
        let AverageFiles { images, warp, stretch, manifest } = self.average(1);
        files.extend(images.into_iter().chain([warp, stretch, manifest]));
        for subject in subjects {
            let RegistrationFiles { affine, warp, warped, manifest } = self.registration(1, subject);
            files.extend(warped.into_iter().chain([affine, warp, manifest]));
            let SubjectFiles { affine, warp, inverse_warp, warped, labels, manifest } =
                self.subject(subject, extension);
            files.extend(warped.into_iter().chain([affine, warp, inverse_warp, labels, manifest]));
        }
        files.sort_unstable();
        match files.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(Error::SameName { file: self.relative(&pair[0]) }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(subjects: &[&str], channels: &[&str]) -> Result<(), String> {
        let channels: Vec<String> = channels.iter().map(ToString::to_string).collect();
        let layout = Layout::new(Path::new("out"), &channels);
        layout.check_names(subjects.iter().copied(), "nii").map_err(|error| error.to_string())
    }

    #[test]
    fn subjects_named_as_files_of_the_template_have_files_of_their_own() {
        assert_eq!(check(&["shape", "average", "template", "start", "subjects"], &["t1"]), Ok(()));
        assert_eq!(check(&["shape", "average", "template"], &["t1", "t2"]), Ok(()));
    }

    #[test]
    fn names_by_which_two_files_would_be_one_are_refused() {
        for (subjects, channels, file) in [
            (["a", "b"], ["t1", "labels"], "template_labels.nii"),
            (["a", "b"], ["t1", "1Warp"], "pass_1/average_1Warp.nii"),
            (["a", "a_Warped_x"], ["t1", "x_1Warp"], "pass_1/subjects/a_Warped_x_1Warp.nii"),
        ] {
            let message = check(&subjects, &channels).expect_err(file);
            assert!(message.contains(&format!("called {file},")), "{message}");
        }
    }
}
