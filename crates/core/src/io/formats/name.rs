//! Names of image files.

use std::path::{Path, PathBuf};

/// A format in which images are written, by the name of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageFormat {
    /// NIfTI in one file: `.nii`, `.nii.gz`. It is NIfTI-2 if an axis has more than 32767 elements, else NIfTI-1.
    Nifti {
        /// Whether the file is compressed.
        gzipped: bool,
    },
    /// FreeSurfer's volumes: `.mgh`, `.mgz`.
    Mgh {
        /// Whether the file is compressed.
        gzipped: bool,
    },
    /// NRRD in one file: `.nrrd`.
    Nrrd,
    /// NRRD with the voxels in another file: `.nhdr`.
    NrrdHeader,
    /// MetaImage in one file: `.mha`.
    Meta,
    /// MetaImage with the voxels in another file: `.mhd`.
    MetaHeader,
}

/// The end of a name, and its format.
const ENDS: [(&str, ImageFormat); 8] = [
    (".nii.gz", ImageFormat::Nifti { gzipped: true }),
    (".nii", ImageFormat::Nifti { gzipped: false }),
    (".mgz", ImageFormat::Mgh { gzipped: true }),
    (".mgh", ImageFormat::Mgh { gzipped: false }),
    (".nrrd", ImageFormat::Nrrd),
    (".nhdr", ImageFormat::NrrdHeader),
    (".mha", ImageFormat::Meta),
    (".mhd", ImageFormat::MetaHeader),
];

/// Ends of names of images that are read but not written.
const READ_ONLY: [&str; 5] = [".mgh.gz", ".hdr.gz", ".img.gz", ".hdr", ".img"];

impl ImageFormat {
    /// The ends of names that are written, for messages.
    pub const NAMES: &'static str = ".nii.gz, .nii, .mgz, .mgh, .nrrd, .nhdr, .mha or .mhd";

    /// The format of a new file with this name; `None` if no image is written under such a name.
    pub fn of(path: &Path) -> Option<ImageFormat> {
        let name = lowercase(path);
        ENDS.iter().find(|(end, _)| name.ends_with(end)).map(|(_, format)| *format)
    }

    /// The name of an image file without folder and the end that tells its format; `None` if the name is not one of an
    /// image that can be read.
    pub fn stem(path: &Path) -> Option<String> {
        let name = path.file_name()?.to_string_lossy().into_owned();
        let low = name.to_lowercase();
        let ends = ENDS.iter().map(|(end, _)| *end).chain(READ_ONLY);
        let end = ends.into_iter().find(|end| low.ends_with(end))?;
        // The name may have letters whose lower case has another length.
        name.get(..name.len() - end.len()).map(str::to_owned)
    }
}

fn lowercase(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().to_lowercase()
}

/// The second file that is written with an image of this name: the voxels of a header that is a file of its own.
pub fn companion(path: &Path) -> Option<PathBuf> {
    let extension = match ImageFormat::of(path)? {
        ImageFormat::NrrdHeader => "raw.gz",
        ImageFormat::MetaHeader => "raw",
        _ => return None,
    };
    Some(path.with_file_name(with_extension(path, extension)))
}

/// The file name of `path` with another extension.
pub(super) fn with_extension(path: &Path, extension: &str) -> String {
    path.with_extension(extension).file_name().unwrap_or_default().to_string_lossy().into_owned()
}
