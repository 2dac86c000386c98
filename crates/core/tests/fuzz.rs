//! Every reader is given noise and damaged copies of valid files. No reader may panic or allocate more memory than
//! the size of the file can justify.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use antsreg_core::io::exchange::{Spaces, TransformFormat};
use antsreg_core::io::points::PointTable;
use antsreg_core::io::{fsl, itk, nifti};
use antsreg_core::{AffineTransform, DisplacementField, Grid, LabelVolume, Transform, Volume};
use nalgebra::Point3;
use peak_alloc::PeakAlloc;
use proptest::prelude::*;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Bytes of memory that a reader may take regardless of the size of the file: buffers of fixed size, copies that the
/// tests make, and other threads of the test harness.
const OVERHEAD_BYTES: usize = 8 << 20;
/// Most bytes of memory for each byte of a gzip file: the largest compression ratio, times a float of four bytes for
/// each decompressed byte.
const BYTES_PER_BYTE: usize = 1032 * 4;

/// A lock that lets one test case run at a time, because the allocator counts the memory of the whole process.
static ALONE: Mutex<()> = Mutex::new(());

/// Reads `bytes` with all readers and measures the memory that they allocate.
fn read_all(folder: &Path, bytes: &[u8]) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let path = folder.join("input");
    std::fs::write(&path, bytes).unwrap();
    let grid = Grid::axis_aligned([4, 4, 4], [1.0; 3]);
    let before = PeakAlloc.current_usage();
    PeakAlloc.reset_peak_usage();
    // If a reader accepts the bytes, the data that it returns must be consistent.
    if let Ok(volume) = nifti::read_volume(&path) {
        assert_eq!(volume.voxels.len(), volume.grid.len());
        assert!(volume.voxels.iter().all(|value| value.is_finite()));
    }
    if let Ok(labels) = nifti::read_labels(&path) {
        assert_eq!(labels.voxels.len(), labels.grid.len());
    }
    if let Ok(field) = itk::read_warp(&path) {
        assert_eq!(field.vectors.len(), field.grid.len());
    }
    if let Ok(affine) = itk::read_affine(&path) {
        assert!(affine.to_homogeneous().iter().all(|value| value.is_finite()));
    }
    if let Ok(affine) = fsl::read_matrix(&path, &grid, &grid) {
        assert!(affine.to_homogeneous().iter().all(|value| value.is_finite()));
    }
    if let Ok(table) = PointTable::read(&path) {
        assert!(table.points().iter().all(|point| point.coords.iter().all(|value| value.is_finite())));
    }
    let _ = nifti::inspect(&path);
    let _ = itk::read_transforms(&path);
    let _ = TransformFormat::of_content(&path);
    for (_, format) in TransformFormat::ALL {
        let _ = format.read(&path, Spaces { fixed: Some(&grid), moving: Some(&grid) });
    }
    let taken = PeakAlloc.peak_usage().saturating_sub(before);
    let allowed = OVERHEAD_BYTES + BYTES_PER_BYTE * bytes.len();
    assert!(taken <= allowed, "{} bytes of input took {taken} bytes of memory", bytes.len());
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// Makes a small valid file of every kind that can be read.
fn good_files(folder: &Path) -> Vec<Vec<u8>> {
    let grid = Grid::axis_aligned([3, 4, 5], [1.0, 1.5, 2.0]);
    let volume = Volume { voxels: (0..grid.len()).map(|at| at as f32).collect(), grid: grid.clone() };
    let labels = LabelVolume { voxels: (0..grid.len() as i32).collect(), grid: grid.clone() };
    let field = DisplacementField { vectors: vec![[0.5, -0.25, 0.125]; grid.len()], grid: grid.clone() };
    let at = |name: &str| folder.join(name);
    for (plain, packed) in [("v.nii", "v.nii.gz"), ("l.nii", "l.nii.gz"), ("w.nii", "w.nii.gz")] {
        for name in [plain, packed] {
            match &name[..1] {
                "v" => nifti::write_volume(&at(name), &volume).unwrap(),
                "l" => nifti::write_labels(&at(name), &labels).unwrap(),
                _ => itk::write_warp(&at(name), &field).unwrap(),
            }
        }
    }
    itk::write_affine(&at("a.mat"), &AffineTransform::identity(), Point3::new(1.0, 2.0, 3.0)).unwrap();
    itk::write_affine(&at("a.txt"), &AffineTransform::identity(), Point3::new(1.0, 2.0, 3.0)).unwrap();
    fsl::write_matrix(&at("f.mat"), &AffineTransform::identity(), &grid, &grid).unwrap();
    PointTable::new(vec![Point3::new(1.0, 2.0, 3.0); 3]).write(&at("p.csv")).unwrap();
    std::fs::copy(fixtures().join("ants_composite.h5"), at("c.h5")).unwrap();
    for name in ["v.mgh", "v.mgz", "v.nrrd", "v.mha"] {
        nifti::write_volume(&at(name), &volume).unwrap();
    }
    let affine = Transform::Affine(AffineTransform::identity());
    let spaces = Spaces { fixed: Some(&grid), moving: Some(&grid) };
    for (name, format) in
        [("t.lta", TransformFormat::Lta), ("t.1D", TransformFormat::Afni), ("t.x5", TransformFormat::X5)]
    {
        format.write(&at(name), &affine, spaces).unwrap();
    }
    let warp = Transform::Displacement(field.clone());
    for (name, format) in [("u.x5", TransformFormat::X5), ("p.nii", TransformFormat::NiftyReg)] {
        format.write(&at(name), &warp, spaces).unwrap();
    }
    for name in ["w.nrrd", "w.mha"] {
        itk::write_warp(&at(name), &field).unwrap();
    }
    let names = [
        "c.h5", "v.nii", "v.nii.gz", "l.nii", "l.nii.gz", "w.nii", "w.nii.gz", "a.mat", "a.txt", "f.mat", "p.csv",
        "v.mgh", "v.mgz", "v.nrrd", "v.mha", "w.nrrd", "w.mha", "t.lta", "t.1D", "t.x5", "u.x5", "p.nii",
    ];
    names.map(|name| std::fs::read(at(name)).unwrap()).into()
}

/// A kind of damage that the tests do to a valid file, before they give the file to a reader.
#[derive(Debug, Clone)]
enum Damage {
    /// The file is cut off at this share (0…1) of its length.
    Cut(f64),
    /// A byte of the file is replaced; the number from 0 to 1 gives its position as a share of the file's length.
    Replace(f64, u8),
    /// One of the first 400 bytes of the file, where headers are, is replaced.
    ReplaceInHeader(usize, u8),
    /// Two of the first 400 bytes of the file, where headers are, are replaced by a number that programs often handle
    /// wrongly.
    Extreme(usize, u16),
    /// A dimension in the NIfTI header of the file is replaced by another number.
    Dimension(usize, u16),
    /// A byte is inserted into the file at this share (0…1) of its length.
    Insert(f64, u8),
}

fn damage() -> impl Strategy<Value = Damage> {
    let extreme = || prop::sample::select(vec![0u16, 1, 0x7fff, 0xff7f, 0x8000, 0x0080, 0xffff, 0x7f80, 0x807f]);
    prop_oneof![
        1 => (0.0..1.0f64).prop_map(Damage::Cut),
        3 => (0.0..1.0f64, any::<u8>()).prop_map(|(at, byte)| Damage::Replace(at, byte)),
        4 => (0..400usize, any::<u8>()).prop_map(|(at, byte)| Damage::ReplaceInHeader(at, byte)),
        4 => (0..400usize, extreme()).prop_map(|(at, value)| Damage::Extreme(at, value)),
        2 => (0..8usize, extreme()).prop_map(|(axis, value)| Damage::Dimension(axis, value)),
        1 => (0.0..1.0f64, any::<u8>()).prop_map(|(at, byte)| Damage::Insert(at, byte)),
    ]
}

fn apply(damage: &Damage, bytes: &mut Vec<u8>) {
    let at = |share: f64| (share * bytes.len() as f64) as usize;
    match *damage {
        Damage::Cut(share) => bytes.truncate(at(share)),
        Damage::Replace(share, byte) => {
            let at = at(share);
            bytes.iter_mut().skip(at).take(1).for_each(|old| *old = byte);
        }
        Damage::ReplaceInHeader(at, byte) => bytes.iter_mut().skip(at).take(1).for_each(|old| *old = byte),
        Damage::Dimension(axis, value) => apply(&Damage::Extreme(40 + 2 * axis, value), bytes),
        Damage::Extreme(at, value) => {
            bytes.iter_mut().skip(at).zip(value.to_le_bytes()).for_each(|(old, byte)| *old = byte);
        }
        Damage::Insert(share, byte) => bytes.insert(at(share), byte),
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

proptest! {
    #[test]
    fn noise(bytes in prop::collection::vec(any::<u8>(), 0..2000), disguise in 0..5usize) {
        let folder = tempfile::tempdir().unwrap();
        let start: &[u8] = [
            b"".as_slice(),
            &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff],
            &[0x5c, 1, 0, 0],
            b"#Insight Transform File V1.0\nTransform: AffineTransform_double_3_3\nParameters: ",
            b"x,y,z\n",
        ][disguise];
        read_all(folder.path(), &[start, &bytes].concat());
    }

    #[test]
    fn damaged_files(file in 0..22usize, damages in prop::collection::vec(damage(), 1..6), pack in any::<bool>()) {
        let folder = tempfile::tempdir().unwrap();
        let mut bytes = good_files(folder.path()).swap_remove(file);
        for damage in &damages {
            apply(damage, &mut bytes);
        }
        read_all(folder.path(), &bytes);
        if pack {
            read_all(folder.path(), &gzip(&bytes));
        }
    }
}

/// A gzip stream of zeros becomes a thousand times larger when unpacked: no reader may keep data that it does not
/// need.
#[test]
fn gzip_bomb() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = good_files(folder.path()).swap_remove(1);
    bytes.resize(64 << 20, 0);
    let packed = gzip(&bytes);
    drop(bytes);
    let path = folder.path().join("bomb.nii.gz");
    std::fs::write(&path, &packed).unwrap();
    let before = PeakAlloc.current_usage();
    PeakAlloc.reset_peak_usage();
    nifti::read_volume(&path).unwrap();
    itk::read_affine(&path).unwrap_err();
    let taken = PeakAlloc.peak_usage().saturating_sub(before);
    assert!(taken < OVERHEAD_BYTES, "{taken} bytes of memory");
}

/// Gives the file readers damaged files that made a reader fail in the past, and similar files.
#[test]
fn kept_inputs() {
    let folder = tempfile::tempdir().unwrap();
    let mut read = 0;
    for entry in std::fs::read_dir(fixtures()).unwrap() {
        read_all(folder.path(), &std::fs::read(entry.unwrap().path()).unwrap());
        read += 1;
    }
    assert!(read > 0, "the fixtures are in place");
}
