//! Files that cannot be read as a volume. Each is refused with an error that names the file and the problem.

use std::path::Path;

use crate::support::{RawNifti, gzip};
use antsreg_core::io::nifti::{read_labels, read_volume, write_volume};
use antsreg_core::io::outputs::OutputErrorKind;
use antsreg_core::io::{Error, ErrorKind, itk};
use antsreg_core::{Grid, GridError, Volume};

fn raw() -> RawNifti {
    RawNifti::new([3, 2, 2], 16, (0..12).flat_map(|value| (value as f32).to_le_bytes()).collect())
}

/// Writes `bytes` as a NIfTI file and reads it as a volume, which must fail; returns the reason.
fn refusal(bytes: &[u8]) -> ErrorKind {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("subject.nii.gz");
    std::fs::write(&path, bytes).unwrap();
    let error = read_volume(&path).expect_err("refused");
    assert!(error.to_string().starts_with(&path.display().to_string()), "{error}");
    error.kind
}

fn message(bytes: &[u8]) -> String {
    refusal(bytes).to_string()
}

#[test]
fn the_file_these_tests_damage_is_good() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nii");
    std::fs::write(&path, raw().bytes()).unwrap();
    assert_eq!(read_volume(&path).unwrap().voxels.len(), 12);
}

#[test]
fn missing_or_not_a_file() {
    let error = read_volume(Path::new("/nowhere/x.nii")).unwrap_err();
    assert_eq!(error.to_string(), "/nowhere/x.nii: no such file");
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(read_volume(folder.path()).unwrap_err().kind, ErrorKind::NotAFile("a folder")));
    if cfg!(unix) {
        assert!(matches!(read_volume(Path::new("/dev/null")).unwrap_err().kind, ErrorKind::NotAFile(_)));
    }
}

#[test]
fn empty() {
    assert_eq!(message(&[]), "the file is empty");
}

#[test]
fn truncated() {
    let bytes = raw().bytes();
    for length in [1, 3, 4, 100, 347] {
        assert_eq!(message(&bytes[..length]), format!("the file is truncated: expected 348 bytes, found {length}"));
    }
    for length in [348, 352, 353, 399] {
        assert_eq!(message(&bytes[..length]), format!("the file is truncated: expected 400 bytes, found {length}"));
    }
}

#[test]
fn truncated_inside_gzip() {
    let bytes = raw().bytes();
    for length in [0, 100, 352, 399] {
        let expected = if length < 348 { 348 } else { 400 };
        let text = format!("the file is truncated: expected {expected} bytes after decompression, found {length}");
        assert_eq!(message(&gzip(&bytes[..length])), text);
    }
}

#[test]
fn gzip_cut_short_or_damaged() {
    let packed = gzip(&raw().bytes());
    for length in [2, 9, 12, packed.len() / 2] {
        assert!(matches!(refusal(&packed[..length]), ErrorKind::Truncated { unpacked: true, .. }), "{length}");
    }
    // The gzip stream has the data of all voxels, but lacks a byte of its end, where checksum and length are stored.
    assert!(matches!(refusal(&packed[..packed.len() - 1]), ErrorKind::Gzip(_)));
    let mut wrong_checksum = packed.clone();
    wrong_checksum[packed.len() - 8] ^= 1;
    assert!(matches!(refusal(&wrong_checksum), ErrorKind::Gzip(_)));
    let mut wrong_block = packed.clone();
    wrong_block[10] = 0xff;
    assert!(matches!(refusal(&wrong_block), ErrorKind::Gzip(_)));
}

#[test]
fn what_follows_a_gzip_stream_is_none_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nii.gz");
    let bytes = raw().bytes();
    let packed = gzip(&bytes);
    for tail in [&[0; 512][..], b"junk"] {
        std::fs::write(&path, [&packed, tail].concat()).unwrap();
        assert_eq!(read_volume(&path).unwrap().voxels.len(), 12);
    }
    // A second gzip member belongs to the file, and its checksum is checked.
    let (start, rest) = bytes.split_at(380);
    let mut second = gzip(rest);
    std::fs::write(&path, [gzip(start), second.clone()].concat()).unwrap();
    assert_eq!(read_volume(&path).unwrap().voxels[11], 11.0);
    let checksum = second.len() - 8;
    second[checksum] ^= 1;
    assert!(matches!(refusal(&[gzip(start), second].concat()), ErrorKind::Gzip(_)));
}

#[test]
fn something_else() {
    assert_eq!(
        message(b"hello, world"),
        "not an image (NIfTI, MGH, NRRD or MetaImage): found a file that starts with \"hell\""
    );
    // Files of other formats are refused with the name of their format.
    let mut dicom = vec![0; 400];
    dicom[128..132].copy_from_slice(b"DICM");
    for (bytes, name) in [
        (b"PK\x03\x04\0\0\0\0".as_slice(), "a zip archive"),
        (b"CDF\x01\0\0\0\0", "a MINC 1 image"),
        (&dicom, "a DICOM file"),
        (&RawNifti { magic: [0; 4], ..raw() }.bytes(), "an ANALYZE 7.5 header"),
    ] {
        for file in [bytes, &gzip(bytes)] {
            assert!(
                message(file).starts_with(&format!("not an image (NIfTI, MGH, NRRD or MetaImage): found {name}")),
                "{}",
                message(file)
            );
        }
    }
    let wrong_magic = RawNifti { magic: *b"nope", ..raw() };
    assert_eq!(
        message(&wrong_magic.bytes()),
        "not an image (NIfTI, MGH, NRRD or MetaImage): found magic \"nope\" instead of \"n+1\\0\""
    );
    let mut second_version = raw().bytes();
    second_version[..4].copy_from_slice(&540i32.to_le_bytes());
    second_version.resize(544, 0);
    assert!(matches!(refusal(&second_version), ErrorKind::Format { .. }));
    let half_of_a_pair = RawNifti { magic: *b"ni1\0", ..raw() };
    assert!(matches!(refusal(&half_of_a_pair.bytes()), ErrorKind::Format { .. }));
    for vox_offset in [-1.0, 3.0, 352.5, f32::NAN, f32::INFINITY] {
        assert!(
            matches!(refusal(&RawNifti { vox_offset, ..raw() }.bytes()), ErrorKind::Format { .. }),
            "{vox_offset}"
        );
    }
    let beyond = RawNifti { vox_offset: 1e30, ..raw() };
    assert!(matches!(refusal(&beyond.bytes()), ErrorKind::Truncated { .. }));
    assert!(matches!(refusal(&gzip(&beyond.bytes())), ErrorKind::Announced { .. }));
}

#[test]
fn impossible_dimensions() {
    for dim in [
        [0, 3, 2, 2, 1, 1, 1, 1],
        [-3, 3, 2, 2, 1, 1, 1, 1],
        [8, 3, 2, 2, 1, 1, 1, 1],
        [3, 0, 2, 2, 1, 1, 1, 1],
        [3, 3, -2, 2, 1, 1, 1, 1],
        [4, 3, 2, 2, 0, 1, 1, 1],
    ] {
        for big_endian in [false, true] {
            let kind = refusal(&RawNifti { dim, big_endian, ..raw() }.bytes());
            let ErrorKind::Dimensions { dim: found } = kind else { panic!("{dim:?}: {kind}") };
            assert_eq!(*found, dim.map(i64::from));
        }
    }
}

#[test]
fn dimensions_beyond_what_the_file_holds() {
    let dim = [3, 32767, 32767, 32767, 1, 1, 1, 1];
    let bytes = RawNifti { dim, ..raw() }.bytes();
    let expected = 352 + 4 * 32767u64.pow(3);
    assert_eq!(message(&bytes), format!("the file is truncated: expected {expected} bytes, found 400"));
    let ErrorKind::Announced { announced, .. } = refusal(&gzip(&bytes)) else { panic!("another error") };
    assert_eq!(announced, expected);
    // In this NIfTI header, the product of all dimensions (the number of values) does not fit into 64 bits.
    let dim = [7, 32767, 32767, 32767, 32767, 32767, 32767, 32767];
    let ErrorKind::SeveralVolumes { count, .. } = refusal(&RawNifti { dim, ..raw() }.bytes()) else {
        panic!("another error")
    };
    assert_eq!(count, 32767u64.pow(4));
}

#[test]
fn not_one_volume() {
    for dim in
        [[2, 12, 1, 1, 1, 1, 1, 1], [1, 12, 1, 1, 1, 1, 1, 1], [3, 3, 1, 4, 1, 1, 1, 1], [3, 1, 3, 4, 1, 1, 1, 1]]
    {
        assert!(matches!(refusal(&RawNifti { dim, ..raw() }.bytes()), ErrorKind::Flat { .. }), "{dim:?}");
    }
    let series = RawNifti { dim: [4, 3, 2, 1, 2, 1, 1, 1], ..raw() };
    assert_eq!(message(&series.bytes()), "the file holds 2 volumes (dim = [4, 3, 2, 1, 2, 1, 1, 1]), expected one");
}

#[test]
fn voxels_that_are_no_real_numbers() {
    for (datatype, name) in
        [(32, "Complex64"), (1792, "Complex128"), (128, "Rgb24"), (2304, "Rgba32"), (1536, "Float128"), (1, "code 1")]
    {
        let text = format!("voxels of type {name}, expected integers or real numbers of up to 64 bits");
        assert_eq!(message(&RawNifti { datatype, ..raw() }.bytes()), text);
    }
}

#[test]
fn values_that_are_no_labels() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("labels.nii");
    for (value, is_label) in [
        (3.0, true),
        (-0.0, true),
        (f64::from(i32::MAX), true),
        (f64::from(i32::MIN), true),
        (2.5, false),
        (f64::from(i32::MAX) + 1.0, false),
        (f64::from(i32::MIN) - 1.0, false),
        (f64::NAN, true),
        (f64::INFINITY, true),
    ] {
        let values: Vec<f64> = (0..12).map(|at| if at >= 10 { value } else { f64::from(at) }).collect();
        let data = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        std::fs::write(&path, RawNifti { datatype: 64, data, ..raw() }.bytes()).unwrap();
        match read_labels(&path) {
            Ok(labels) => {
                // What is not finite is no data, and so background.
                let expected = if value.is_finite() { value } else { 0.0 };
                assert!(is_label && f64::from(labels.voxels[10]) == expected, "{value}");
            }
            Err(Error { kind: ErrorKind::NotLabels { count: 2, first: [1, 1, 1], value: found }, .. }) => {
                assert!(!is_label && found.to_bits() == value.to_bits(), "{value}");
            }
            Err(error) => panic!("{value}: {error}"),
        }
    }
}

#[test]
fn headers_without_a_usable_grid() {
    let with = |rows| refusal(&RawNifti { rows, ..raw() }.bytes());
    let (x, y, z) = ([1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]);
    assert!(matches!(with([[0.0; 4]; 3]), ErrorKind::Grid(GridError::Singular(_))));
    assert!(matches!(with([x, x, z]), ErrorKind::Grid(GridError::Singular(_))));
    assert!(matches!(with([[1.0, 0.2, 0.0, 0.0], y, z]), ErrorKind::Grid(GridError::Sheared(_))));
    assert!(matches!(with([[-1.0, 0.2, 0.0, 0.0], y, z]), ErrorKind::Grid(GridError::Sheared(_))));
    assert!(matches!(with([[1.0, 0.0, 0.0, f32::NAN], y, z]), ErrorKind::Grid(GridError::NotFinite)));
    assert!(matches!(with([x, [0.0, f32::INFINITY, 0.0, 0.0], z]), ErrorKind::Grid(GridError::NotFinite)));
    let no_size = RawNifti { sform_code: 0, pixdim: [1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0], ..raw() };
    assert!(matches!(refusal(&no_size.bytes()), ErrorKind::Grid(GridError::Singular(_))));
    let turned = |quaternion| refusal(&RawNifti { sform_code: 0, qform_code: 1, quaternion, ..raw() }.bytes());
    assert!(matches!(turned([f32::NAN; 6]), ErrorKind::Grid(GridError::NotFinite)));
    assert!(matches!(turned([1.0, 0.5, 0.0, 0.0, 0.0, 0.0]), ErrorKind::Quaternion(1.25)));
}

#[test]
fn a_volume_is_no_warp_and_a_warp_no_volume() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nii");
    std::fs::write(&path, raw().bytes()).unwrap();
    assert!(matches!(itk::read_warp(&path).unwrap_err().kind, ErrorKind::NotWarp { .. }));
    let warp = RawNifti { dim: [5, 2, 2, 2, 1, 3, 1, 1], data: vec![0; 96], ..raw() };
    assert!(matches!(refusal(&warp.bytes()), ErrorKind::SeveralVolumes { count: 3, .. }));
}

#[test]
fn nothing_is_left_behind_when_writing_fails() {
    let folder = tempfile::tempdir().unwrap();
    let entries = || std::fs::read_dir(folder.path()).unwrap().count();
    let grid = Grid::axis_aligned([2, 2, 2], [1.0; 3]);
    let volume = Volume::filled(grid.clone(), 1.0);

    let missing = folder.path().join("no/such/a.nii");
    assert!(matches!(write_volume(&missing, &volume).unwrap_err().kind, ErrorKind::MissingFolder));
    let strange = folder.path().join("a.png");
    assert!(matches!(write_volume(&strange, &volume).unwrap_err().kind, ErrorKind::Extension(_)));
    let short = Volume { grid, voxels: vec![0.0; 7] };
    let path = folder.path().join("a.nii");
    assert!(matches!(write_volume(&path, &short).unwrap_err().kind, ErrorKind::Count { expected: 8, found: 7, .. }));
    assert_eq!(entries(), 0);

    // A folder that has the name of the image is refused.
    std::fs::create_dir(&path).unwrap();
    let kind = write_volume(&path, &volume).unwrap_err().kind;
    assert!(matches!(kind, ErrorKind::Output(OutputErrorKind::IsFolder)), "{kind:?}");
    assert_eq!(entries(), 1);
}
