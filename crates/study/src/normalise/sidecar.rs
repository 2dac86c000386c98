//! JSON sidecars of the images of a dataset: how each image was made.

use std::path::Path;

use serde_json::{Value, json};

use super::listing::Scan;
use super::space::Space;

/// Address of the built-in template's image in TemplateFlow.
const BUILT_IN: &str =
    "https://templateflow.s3.amazonaws.com/tpl-MNI152NLin2009cAsym/tpl-MNI152NLin2009cAsym_res-02_T1w.nii.gz";

/// The name of a file in metadata: its path relative to the BIDS dataset that contains it.
pub fn source(scan: &Scan, file: &Path) -> String {
    let below = scan.root.as_deref().and_then(|root| file.strip_prefix(root).ok());
    below.map_or_else(|| file.display().to_string(), |below| format!("bids:raw:{}", below.display()))
}

/// The JSON sidecar of a head image, which says how the image was made, from the files `sources`. With a `space` the
/// image lies on the grid of the template. `stripped` says whether the image shows a brain without skull.
pub fn image(sources: &[String], space: Option<&Space>, stripped: bool) -> Value {
    with_reference(json!({ "Sources": sources, "SkullStripped": stripped }), space)
}

/// The JSON sidecar of a brain mask, which says how the mask was made.
pub fn mask(sources: &[String], space: Option<&Space>) -> Value {
    with_reference(json!({ "Sources": sources, "Type": "Brain" }), space)
}

fn with_reference(mut value: Value, space: Option<&Space>) -> Value {
    if let (Some(space), Some(object)) = (space, value.as_object_mut()) {
        let reference = space.template.as_ref().map_or(BUILT_IN.into(), |(path, _)| path.display().to_string());
        object.insert("SpatialReference".into(), reference.into());
    }
    value
}
