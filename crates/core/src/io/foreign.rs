//! Other file formats, recognised by their first bytes, so that an error message can name the format of the given
//! file.

/// First bytes of files in other formats, and the names of these formats.
const STARTS: [(&[u8], &str); 13] = [
    (b"CDF\x01", "a MINC 1 image"),
    (b"CDF\x02", "a MINC 1 image"),
    (b"\x89HDF", "an HDF5 file, as MINC 2 images and ITK's composite transforms are"),
    (b"MNI Transform File", "a MINC transform"),
    (b"# transform file", "a FreeSurfer transform (lta_convert converts it to ITK's format)"),
    (b"type      =", "a FreeSurfer transform (lta_convert converts it to ITK's format)"),
    (b"#Insight Transform File", "an ITK transform"),
    (b"version https://git-lfs", "a Git LFS pointer, whose file has not been fetched"),
    (b"BZh", "a file packed by bzip2"),
    (b"\xfd7zXZ", "a file packed by xz"),
    (b"\x28\xb5\x2f\xfd", "a file packed by zstd"),
    (b"PK\x03\x04", "a zip archive"),
    (b"<", "a web page or XML"),
];

/// Position in the file, and the bytes at this position, by which DICOM files are recognised.
const DICOM: (usize, &[u8]) = (128, b"DICM");

/// Name of the format of a file that begins with these bytes; `None` if the format is not recognised.
pub(super) fn name(start: &[u8]) -> Option<&'static str> {
    if start.get(DICOM.0..).is_some_and(|rest| rest.starts_with(DICOM.1)) {
        return Some("a DICOM file (dcm2niix converts it to NIfTI)");
    }
    STARTS.iter().find(|(bytes, _)| start.starts_with(bytes)).map(|(_, name)| *name)
}
