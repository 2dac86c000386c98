//! The options of `antsJointLabelFusion.sh`, and the command lines and file names made from them.

use std::path::{Path, PathBuf};

use antsreg_console::Refusal;

use crate::ants::joint_fusion::{FusedFiles, Numbered};

/// The region of the target image (the image that gets labels) in which labels are fused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mask {
    /// Region: the voxels at which no label has the votes of nearly all atlases.
    Uncertain,
    /// Region: the voxels at which at least one atlas has a label other than 0.
    AnyLabel,
    /// Region: all voxels of the target image, the image that gets labels.
    None,
    /// Region: the voxels inside the mask that is read from this file.
    File(PathBuf),
}

/// The options of `antsJointLabelFusion.sh`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Number of dimensions of the images: 2 or 3.
    pub dimension: String,
    /// Start of the names of all output files.
    pub prefix: String,
    /// Path of the target, the image that gets labels.
    pub target: PathBuf,
    /// Path of the image of each atlas.
    pub images: Vec<PathBuf>,
    /// Path of the label map of each atlas.
    pub labels: Vec<PathBuf>,
    /// Whether labels are chosen by majority vote, without joint fusion.
    pub by_majority: bool,
    /// Whether the intermediate files of each atlas are kept.
    pub keep: bool,
    /// Whether atlases are registered by `antsRegistrationSyNQuick.sh`.
    pub quick: bool,
    /// Whether the registration script is asked to compute in single precision.
    pub single: bool,
    /// Names of the posterior files; `None` if posteriors are not written.
    pub posteriors: Option<Numbered>,
    /// The type of transform by which atlases are registered to the target.
    pub transform: String,
    /// The region of the target image (the image that gets labels) in which labels are fused.
    pub mask: Mask,
}

impl Options {
    /// Parses the arguments of the script `antsJointLabelFusion.sh`.
    ///
    /// # Errors
    /// An argument that is wrong or not supported.
    pub fn parse(words: &[String]) -> Result<Options, Refusal> {
        let mut options = Options {
            dimension: "3".into(),
            prefix: String::new(),
            target: PathBuf::new(),
            images: Vec::new(),
            labels: Vec::new(),
            by_majority: false,
            keep: false,
            quick: true,
            single: true,
            posteriors: None,
            transform: "s".into(),
            mask: Mask::Uncertain,
        };
        let mut words = words.iter();
        while let Some(flag) = words.next() {
            let value =
                words.next().ok_or_else(|| Refusal::new(flag, "this option needs a value, but has none"))?.as_str();
            let switch = || crate::ants::words::switch(flag, value);
            match flag.as_str() {
                "-d" => options.dimension = value.into(),
                "-o" => options.prefix = value.into(),
                "-t" => options.target = value.into(),
                "-g" => options.images.push(value.into()),
                "-l" => options.labels.push(value.into()),
                "-m" => options.by_majority = switch()?,
                "-k" => options.keep = switch()?,
                "-q" => options.quick = switch()?,
                "-f" => options.single = switch()?,
                "-p" => {
                    let why = "expected a placeholder for the label, such as posterior%04d.nii.gz";
                    options.posteriors = Some(Numbered::parse(value)?.ok_or_else(|| Refusal::new(value, why))?);
                }
                "-y" => options.transform = value.into(),
                "-x" => options.mask = mask(value)?,
                "-c" | "-j" | "-r" | "-u" | "-v" | "-w" | "-z" => {}
                _ => return Err(Refusal::new(flag, "this script has no such option")),
            }
        }
        options.check()?;
        Ok(options)
    }

    fn check(&self) -> Result<(), Refusal> {
        for (option, is_missing) in [("-o", self.prefix.is_empty()), ("-t", self.target.as_os_str().is_empty())] {
            if is_missing {
                return Err(Refusal::new(option, "this option is missing"));
            }
        }
        let (images, labels) = (self.images.len(), self.labels.len());
        if images < 2 || images != labels {
            let why = format!(
                "expected two or more atlas images and as many label maps, found {images} images and {labels} label maps"
            );
            return Err(Refusal::new("-g and -l", why));
        }
        Ok(())
    }

    /// The start of the names of an atlas's output files.
    pub fn atlas_prefix(&self, atlas: usize) -> String {
        let name = self.images[atlas].file_name().map_or_else(Default::default, |name| name.to_string_lossy());
        let base = name.split('.').next().unwrap_or_default();
        format!("{}{base}_{atlas}_", self.prefix)
    }

    /// Returns the command-line arguments with which ANTs' registration script registers an atlas to the target image.
    pub fn registration(&self, atlas: usize) -> Vec<String> {
        let [target, image] = [&self.target, &self.images[atlas]].map(|path| path.display().to_string());
        let precision = if self.single { "f" } else { "d" };
        let (prefix, (dimension, transform)) = (self.atlas_prefix(atlas), (&self.dimension, &self.transform));
        let pairs: [(&str, &str); 7] = [
            ("-d", dimension),
            ("-p", precision),
            ("-j", "1"),
            ("-t", transform),
            ("-f", &target),
            ("-m", &image),
            ("-o", &prefix),
        ];
        pairs.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value.to_owned()]).collect()
    }

    /// The command-line arguments that resample an atlas's label map on the grid of the target.
    pub fn carrying(&self, atlas: usize) -> Vec<String> {
        let prefix = self.atlas_prefix(atlas);
        let [target, labels] = [&self.target, &self.labels[atlas]].map(|path| path.display().to_string());
        let warp = ["s", "sr", "so"].contains(&self.transform.as_str()).then_some("1Warp.nii.gz");
        let transforms = warp.into_iter().chain(["0GenericAffine.mat"]);
        let mut words = vec!["-d".into(), self.dimension.clone(), "--float".into(), "1".into()];
        words.extend(["-i".into(), labels, "-r".into(), target, "-n".into(), "NearestNeighbor".into()]);
        words.extend(["-o".into(), format!("{prefix}WarpedLabels.nii.gz")]);
        words.extend(transforms.flat_map(|name| ["-t".into(), format!("{prefix}{name}")]));
        words
    }

    /// The path of an output file of the label fusion: the common start of all output names, followed by the text
    /// `rest`.
    pub fn file(&self, rest: &str) -> PathBuf {
        Path::new(&format!("{}{rest}", self.prefix)).to_owned()
    }

    /// The names of all output files of the label fusion.
    pub fn files(&self) -> FusedFiles {
        if self.by_majority {
            return FusedFiles { labels: Some(self.file("MajorityVotingLabels.nii.gz")), ..FusedFiles::default() };
        }
        FusedFiles {
            labels: Some(self.file("Labels.nii.gz")),
            intensities: Some(self.file("Intensity.nii.gz")),
            posteriors: self.posteriors.clone(),
        }
    }
}

fn mask(value: &str) -> Result<Mask, Refusal> {
    match value {
        "majorityvoting" => Ok(Mask::Uncertain),
        "or" => Ok(Mask::AnyLabel),
        "none" => Ok(Mask::None),
        "otsu" => Err(Refusal::not_served("-x otsu", "use `-x majorityvoting`, `-x or`, `-x none` or `-x MASK`")),
        file => Ok(Mask::File(file.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> Result<Options, Refusal> {
        Options::parse(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn an_atlas_is_registered_and_carried_by_the_commands_of_the_script() {
        let options = options("-d 3 -t t.nii -o out/x_ -g a/one.nii.gz -l 1.nii -g two.x.nii -l 2.nii -y sr -q 0");
        let options = options.expect("options");
        assert_eq!(options.registration(1).join(" "), "-d 3 -p f -j 1 -t sr -f t.nii -m two.x.nii -o out/x_two_1_");
        assert_eq!(
            options.carrying(0).join(" "),
            "-d 3 --float 1 -i 1.nii -r t.nii -n NearestNeighbor -o out/x_one_0_WarpedLabels.nii.gz \
             -t out/x_one_0_1Warp.nii.gz -t out/x_one_0_0GenericAffine.mat"
        );
        assert!(!options.quick && options.mask == Mask::Uncertain);
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        let atlases = "-g a -l b -g c -l d";
        for (line, expected) in [
            (format!("-t t -o o {atlases} -b 1"), "-b"),
            (format!("-t t -o o {atlases} -x otsu"), "-x otsu"),
            (format!("-t t -o o {atlases} -p p.nii"), "p.nii"),
            (format!("-t t -o o {atlases} -m yes"), "-m"),
            (format!("-o o {atlases}"), "-t"),
            (format!("-t t {atlases}"), "-o"),
            ("-t t -o o -g a -l b".into(), "-g and -l"),
            (format!("-t t -o o {atlases} -g e"), "-g and -l"),
        ] {
            assert_eq!(options(&line).expect_err(&line).option, expected);
        }
    }
}
