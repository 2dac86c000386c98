//! Reads an affine map from a file. The file is given as FILE, or as [FILE,1] for the inverse of the map.

use std::path::PathBuf;
use std::str::FromStr;

use antsreg_core::io::itk;
use antsreg_core::{AffineTransform, Transform};

use crate::error::Error;

/// A transform file as given on the command line, and whether to invert the transform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransformFile {
    path: PathBuf,
    inverted: bool,
}

impl TransformFile {
    /// Reads the affine map. If the file has several maps, the result is their product, and the first map is applied
    /// first.
    pub fn read(&self) -> Result<AffineTransform, Error> {
        let mut whole = AffineTransform::identity();
        for transform in itk::read_transforms(&self.path)? {
            match transform {
                Transform::Affine(affine) => whole = affine.after(&whole),
                Transform::Displacement(_) => return Err(Error::NotAffine { path: self.path.clone() }),
            }
        }
        if !self.inverted {
            return Ok(whole);
        }
        whole.inverse().ok_or_else(|| Error::NotInvertible { path: self.path.clone() })
    }
}

impl FromStr for TransformFile {
    type Err = String;

    fn from_str(text: &str) -> Result<TransformFile, String> {
        let Some(inner) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else {
            return Ok(TransformFile { path: text.into(), inverted: false });
        };
        let parts = inner.rsplit_once(',').map(|(path, flag)| (path.trim(), flag.trim()));
        match parts {
            Some((path, flag @ ("0" | "1"))) => Ok(TransformFile { path: path.into(), inverted: flag == "1" }),
            _ => Err(format!("expected FILE, or [FILE,1] for its inverse, found `{text}`")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transforms_are_read_as_ants_writes_them() {
        let read = |text: &str| text.parse::<TransformFile>();
        let file = |path: &str, inverted| Ok(TransformFile { path: path.into(), inverted });
        assert_eq!(read("a.mat"), file("a.mat", false));
        assert_eq!(read("[a,b.mat,1]"), file("a,b.mat", true));
        assert_eq!(read("[a.mat, 0]"), file("a.mat", false));
        assert!(read("[a.mat]").is_err());
        assert!(read("[a.mat,2]").is_err());
    }
}
