//! BIDS names: parses the name of a scan and makes the names of its derivatives.

use std::path::{Path, PathBuf};

use crate::pair::{Names, PairFiles};
use crate::words::stem;

/// Suffixes of anatomical images in BIDS.
const SUFFIXES: [&str; 11] =
    ["T1w", "T2w", "FLAIR", "PDw", "PDT2", "T2starw", "inplaneT1", "inplaneT2", "angio", "UNIT1", "T1map"];

/// The BIDS suffix for a scan whose file name has no suffix.
const USUAL: &str = "T1w";

/// BIDS entities that say how an image was derived. They are removed from a scan's name, because the names of its
/// derivatives have such entities of their own.
const DERIVED: [&str; 9] = ["space", "split", "recording", "res", "den", "label", "desc", "from", "to"];

/// The name of a scan in BIDS: entities in order, and the suffix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BidsName {
    /// Keys and labels of the BIDS entities in the name, beginning with `sub`.
    entities: Vec<[String; 2]>,
    /// The kind of image, such as `T1w`.
    pub suffix: String,
}

impl BidsName {
    /// The BIDS name of the scan of a subject. If the name is not a BIDS name, its letters and digits become the
    /// label of the subject.
    pub fn of(subject: &str, image: &Path) -> BidsName {
        let suffix = suffix_of(image).unwrap_or(USUAL).to_owned();
        if !subject.starts_with("sub-") {
            return BidsName { entities: vec![["sub".into(), label(subject)]], suffix };
        }
        let entity = |part: &str| {
            let (key, value) = part.split_once('-')?;
            let kept = !DERIVED.contains(&key) && key != "mode" && !value.is_empty();
            kept.then(|| [label(key), label(value)])
        };
        let mut entities: Vec<[String; 2]> = subject.split('_').filter_map(entity).collect();
        if entities.first().is_none_or(|[key, _]| key != "sub") {
            entities.insert(0, ["sub".into(), label("")]);
        }
        BidsName { entities, suffix }
    }

    /// The BIDS entities of the scan's name, such as `sub-01_ses-1`, joined by underscores.
    pub fn entities(&self) -> String {
        let joined: Vec<String> = self.entities.iter().map(|[key, value]| format!("{key}-{value}")).collect();
        joined.join("_")
    }

    /// The folder of the scan's derivatives, relative to the folder of the dataset.
    pub fn folder(&self) -> PathBuf {
        let of = |wanted: &str| self.entities.iter().find(|[key, _]| key == wanted);
        let levels = ["sub", "ses"].into_iter().filter_map(of).map(|[key, value]| format!("{key}-{value}"));
        levels.chain(["anat".to_owned()]).collect()
    }
}

/// The suffix in the name of an image, if BIDS defines it; upper and lower case are treated alike.
pub fn suffix_of(image: &Path) -> Option<&'static str> {
    let stem = stem(image);
    let last = stem.rsplit('_').next()?;
    SUFFIXES.into_iter().find(|suffix| suffix.eq_ignore_ascii_case(last))
}

/// Reduces a text to letters and digits, because BIDS allows no other characters in the label of an entity.
pub fn label(text: &str) -> String {
    let label: String = text.chars().filter(char::is_ascii_alphanumeric).collect();
    if label.is_empty() { "unnamed".into() } else { label }
}

/// Where the derivatives (in BIDS: images, transforms and masks made from a scan) of one scan are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Derivatives are written to the BIDS dataset in this folder, under BIDS names.
    Dataset(PathBuf),
    /// Derivatives are written under file names that begin with this prefix.
    Prefix(String),
}

/// The BIDS names of a scan's derivatives: the images, transforms and masks made from the scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Derivatives {
    place: Place,
    name: BidsName,
    space: String,
}

impl Derivatives {
    /// Creates the BIDS names of a scan's derivatives (images, transforms and masks made from the scan). `space` is the
    /// name of the template's space.
    pub fn new(place: Place, name: BidsName, space: &str) -> Derivatives {
        Derivatives { place, name, space: space.into() }
    }

    /// The BIDS suffix of the scan, such as `T1w`.
    pub fn suffix(&self) -> &str {
        &self.name.suffix
    }

    /// Common start of the paths of the images and transforms written for the scan, folder included. The paths of the
    /// HTML page and of the JSON record begin differently.
    pub fn start(&self) -> String {
        match &self.place {
            Place::Dataset(folder) => {
                folder.join(self.name.folder()).join(self.name.entities() + "_").display().to_string()
            }
            Place::Prefix(prefix) => prefix.clone(),
        }
    }

    /// Folders that must exist before the scan's derivatives (images, transforms and masks made from the scan) are
    /// written.
    pub fn folders(&self) -> Vec<PathBuf> {
        match &self.place {
            Place::Dataset(folder) => vec![folder.join(self.name.folder()), folder.join("logs")],
            Place::Prefix(_) => Vec::new(),
        }
    }

    /// Path of an image of the head after bias correction, on the grid of the scan; `suffix` is the image's BIDS
    /// suffix.
    pub fn image(&self, suffix: &str) -> PathBuf {
        self.file(&format!("desc-preproc_{suffix}.nii.gz"))
    }

    /// Path of an image of the head on the grid of the template; `suffix` is the image's BIDS suffix.
    pub fn image_in_space(&self, suffix: &str) -> PathBuf {
        self.file(&format!("space-{}_desc-preproc_{suffix}.nii.gz", self.space))
    }

    /// Path of the brain mask on the grid of the scan.
    pub fn mask(&self) -> PathBuf {
        self.file("desc-brain_mask.nii.gz")
    }

    /// Path of the brain mask on the grid of the template.
    pub fn mask_in_space(&self) -> PathBuf {
        self.file(&format!("space-{}_desc-brain_mask.nii.gz", self.space))
    }

    /// Path of the transform that resamples images of the scan onto the template.
    pub fn to_space(&self) -> PathBuf {
        self.transform(&self.name.suffix, &self.space, "h5")
    }

    /// Path of the transform that resamples images of the template onto the scan.
    pub fn from_space(&self) -> PathBuf {
        self.transform(&self.space, &self.name.suffix, "h5")
    }

    /// Path of the rigid transform that resamples another image of the same head onto the scan.
    pub fn to_scan(&self, suffix: &str) -> PathBuf {
        self.transform(suffix, &self.name.suffix, "txt")
    }

    /// Path of the HTML page of the scan.
    pub fn page(&self) -> PathBuf {
        match &self.place {
            Place::Dataset(folder) => folder.join(format!("{}.html", self.name.entities())),
            Place::Prefix(prefix) => PairFiles::usual_report(prefix),
        }
    }

    /// Path of the JSON record of the scan's registration.
    pub fn record(&self) -> PathBuf {
        match &self.place {
            Place::Dataset(folder) => folder.join("logs").join(format!("{}_record.json", self.name.entities())),
            Place::Prefix(prefix) => format!("{prefix}record.json").into(),
        }
    }

    /// Path of the JSON sidecar of an image, which says how the image was made.
    pub fn sidecar(image: &Path) -> PathBuf {
        image.with_file_name(stem(image) + ".json")
    }

    /// Paths of all outputs for one scan. `carried` holds the BIDS suffixes of other images of the same head, which are
    /// normalised with the scan; `page` says whether a page is written.
    pub fn names(&self, carried: &[String], page: bool) -> Names {
        let own = [self.image(&self.name.suffix), self.mask(), self.mask_in_space()];
        let others = carried.iter().flat_map(|suffix| [self.image(suffix), self.image_in_space(suffix)]);
        let images: Vec<PathBuf> = own.into_iter().chain(others).collect();
        let warped = self.image_in_space(&self.name.suffix);
        let sidecars = images.iter().chain([&warped]).map(|image| Derivatives::sidecar(image));
        let transforms = carried.iter().map(|suffix| self.to_scan(suffix));
        let further = images.iter().cloned().chain(sidecars).chain(transforms).collect();
        Names {
            affine: None,
            warp: None,
            inverse_warp: None,
            composite: Some(self.to_space()),
            inverse_composite: Some(self.from_space()),
            warped: Some(warped),
            inverse_warped: None,
            labels: None,
            overlap: None,
            further,
            report: page.then(|| self.page()),
            record: self.record(),
        }
    }

    fn transform(&self, from: &str, to: &str, extension: &str) -> PathBuf {
        self.file(&format!("from-{from}_to-{to}_mode-image_xfm.{extension}"))
    }

    fn file(&self, rest: &str) -> PathBuf {
        PathBuf::from(self.start() + rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn derivatives(subject: &str, image: &str) -> Derivatives {
        let name = BidsName::of(subject, Path::new(image));
        Derivatives::new(Place::Dataset("out".into()), name, "MNI")
    }

    #[test]
    fn sessions_and_runs_keep_their_entities() {
        let of = derivatives("sub-01_ses-b_acq-x_run-2", "sub-01_ses-b_acq-x_run-2_T1w.nii.gz");
        let start = "out/sub-01/ses-b/anat/sub-01_ses-b_acq-x_run-2_";
        assert_eq!(of.start(), start);
        assert_eq!(of.image("T1w"), PathBuf::from(format!("{start}desc-preproc_T1w.nii.gz")));
        let transform = format!("{start}from-T1w_to-MNI_mode-image_xfm.h5");
        assert_eq!(of.to_space(), PathBuf::from(transform));
        assert_eq!(of.page(), Path::new("out/sub-01_ses-b_acq-x_run-2.html"));
        assert_eq!(of.record(), Path::new("out/logs/sub-01_ses-b_acq-x_run-2_record.json"));
        let sidecar = Derivatives::sidecar(&of.mask_in_space());
        assert_eq!(sidecar, PathBuf::from(format!("{start}space-MNI_desc-brain_mask.json")));
    }

    #[test]
    fn other_names_become_labels() {
        let of = derivatives("head_a-1 b", "x/head_a-1 b.nii.gz");
        assert_eq!(of.start(), "out/sub-heada1b/anat/sub-heada1b_");
        assert_eq!(of.suffix(), "T1w");
        let of = derivatives("sub-1_desc-preproc_space-T1w_T2w", "sub-1_desc-preproc_space-T1w_T2w.nii.gz");
        assert_eq!((of.start().as_str(), of.suffix()), ("out/sub-1/anat/sub-1_", "T2w"));
        assert_eq!(derivatives("__", "__.nii").start(), "out/sub-unnamed/anat/sub-unnamed_");
        assert_eq!(derivatives("sub-", "sub-.nii").start(), "out/sub-unnamed/anat/sub-unnamed_");
        // Entities with markup, quotes or paths keep their letters and digits.
        let of = derivatives("sub-1_<b>-<i>x_../'\"&-2_T1w", "a.nii");
        assert_eq!(of.start(), "out/sub-1/anat/sub-1_b-ix_unnamed-2_");
    }

    #[test]
    fn a_prefix_is_the_start_of_all_names() {
        let name = BidsName::of("a", Path::new("a.nii.gz"));
        let of = Derivatives::new(Place::Prefix("o/a_".into()), name, "MNI");
        let names = of.names(&["T2w".into()], true);
        let all = names.all();
        assert!(all.iter().all(|name| name.starts_with("o")), "{all:?}");
        for rest in ["desc-preproc_T2w.nii.gz", "from-T2w_to-T1w_mode-image_xfm.txt", "report.html", "record.json"] {
            assert!(all.contains(&PathBuf::from(format!("o/a_{rest}")).as_path()), "{rest} is missing in {all:?}");
        }
    }
}
