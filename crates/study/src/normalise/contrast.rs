//! The contrast of a scan: the template's image that suits it, and warnings about names and templates of another contrast.

use std::path::Path;

use antsreg_heads::brain::Contrast;
use antsreg_register::Options;
use antsreg_register::syn::Metric;

use super::names::suffix_of;

/// The contrast that a BIDS suffix states, if the suffix states one of the built-in template's contrasts.
fn of_suffix(suffix: &str) -> Option<Contrast> {
    match suffix {
        "T1w" | "inplaneT1" | "UNIT1" => Some(Contrast::T1),
        "T2w" | "inplaneT2" => Some(Contrast::T2),
        "PDw" => Some(Contrast::Pd),
        _ => None,
    }
}

/// The contrast of the built-in template that suits a scan. The suffix in the name of the scan's file decides, else the
/// contrast `found` in the image by brain extraction. PD suits FLAIR if brain extraction found neither PD nor T2.
pub fn of_scan(image: &Path, found: Option<Contrast>) -> Contrast {
    let suffix = suffix_of(image);
    if let Some(named) = suffix.and_then(of_suffix) {
        return named;
    }
    match (found, suffix) {
        (Some(found @ (Contrast::T2 | Contrast::Pd)), _) => found,
        (_, Some("FLAIR")) => Contrast::Pd,
        _ => Contrast::T1,
    }
}

/// Warnings about a scan in whose image brain extraction found the contrast `found`. `template` is the contrast of a
/// template in a file, if it is known.
pub fn warnings(image: &Path, found: Option<Contrast>, template: Option<Contrast>, options: &Options) -> Vec<String> {
    let Some(found) = found else { return Vec::new() };
    let mut warnings = Vec::new();
    match suffix_of(image) {
        None if matches!(found, Contrast::T2 | Contrast::Pd) => warnings.push(format!(
            "the image is most like {found}, but the name of its file has no BIDS suffix, so the outputs are named T1w: \
             let the name end in _T2w, _PDw or _FLAIR"
        )),
        Some(suffix) => {
            let named = of_suffix(suffix);
            // FLAIR and images after contrast agent resemble PD, and so do some T1 and T2. T1 and T2 are opposites.
            if matches!((named, found), (Some(Contrast::T1), Contrast::T2) | (Some(Contrast::T2), Contrast::T1)) {
                warnings.push(format!(
                    "the name of the file says {suffix}, but the image is most like {found}: check the file"
                ));
            }
        }
        None => {}
    }
    let by_correlation =
        options.deformable().flat_map(|stage| &stage.channels).any(|channel| channel.metric == Metric::Cc);
    if let Some(template) = template
        && template != found
        && by_correlation
    {
        warnings.push(format!(
            "the scan is most like {found} and the template like {template}: take a template of the same contrast, or \
             --cost nmi --metric mattes"
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_decides_and_else_the_image() {
        let [t1, t2, pd] = [Contrast::T1, Contrast::T2, Contrast::Pd];
        let of = |name: &str, found| of_scan(Path::new(name), found);
        assert_eq!(of("a_T1w.nii", Some(pd)), t1);
        assert_eq!(of("a_T2w.nii", Some(t1)), t2);
        assert_eq!(of("a_PDw.nii.gz", None), pd);
        assert_eq!(of("a_FLAIR.nii", Some(t2)), t2);
        assert_eq!(of("a_FLAIR.nii", Some(t1)), pd);
        assert_eq!(of("a_FLAIR.nii", None), pd);
        assert_eq!(of("a.nii", Some(pd)), pd);
        assert_eq!(of("a.nii", None), t1);
        assert_eq!(of("a.nii", Some(Contrast::Given)), t1);
    }

    #[test]
    fn names_and_templates_of_another_contrast_are_warned_about() {
        let [t1, t2, pd] = [Contrast::T1, Contrast::T2, Contrast::Pd];
        let options = Options::default();
        let of = |name: &str, found, template| warnings(Path::new(name), Some(found), template, &options);
        assert_eq!(of("a_T1w.nii", t1, None), [""; 0]);
        assert_eq!(of("a_T1w.nii", pd, None), [""; 0]);
        assert_eq!(of("a.nii", t1, Some(t1)), [""; 0]);
        assert_eq!(of("a_FLAIR.nii", pd, None), [""; 0]);
        assert!(of("a.nii", pd, None)[0].contains("no BIDS suffix"));
        assert!(of("a_T1w.nii", t2, None)[0].contains("says T1w"));
        assert!(of("a_T2w.nii", t1, None)[0].contains("most like T1"));
        assert!(of("a_FLAIR.nii", pd, Some(t1))[0].contains("--metric mattes"));
        let mutual = antsreg_register::Recipe {
            model: antsreg_register::Model::Syn,
            ..antsreg_register::Recipe::new(antsreg_register::Preset::Multimodal)
        };
        let mutual = mutual.options([100; 3]).expect("options");
        assert_eq!(warnings(Path::new("a_FLAIR.nii"), Some(pd), Some(t1), &mutual), [""; 0]);
    }
}
