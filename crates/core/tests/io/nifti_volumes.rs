//! Tests of volumes and label maps in NIfTI files, against files built byte by byte.

use std::io::Read;
use std::path::Path;

use crate::support::{RawNifti, grids, gzip, save};
use antsreg_core::io::nifti::{
    GridRule, PlanesReader, Series, SeriesReader, Timing, inspect, read_labels, read_series, read_volume,
    stored_grid, write_deflated_volume, write_labels, write_series, write_values, write_volume,
};
use antsreg_core::io::{Deflated, ErrorKind};
use antsreg_core::{Grid, LabelVolume, Volume};
use nalgebra::{Matrix3, Matrix4, Rotation3, UnitQuaternion};

/// Tolerance, mm: NIfTI stores the voxel-to-world map in single precision (2⁻²⁴ of about 100 mm), and a few such
/// numbers are added.
const HEADER_MM: f64 = 2e-5;

fn largest_difference(a: &Grid, b: &Grid) -> f64 {
    (a.voxel_to_world().to_homogeneous() - b.voxel_to_world().to_homogeneous()).amax()
}

#[test]
fn volumes_come_back_on_every_grid() {
    let folder = tempfile::tempdir().unwrap();
    for (name, grid) in grids() {
        let voxels: Vec<f32> = (0..grid.len()).map(|at| (at as f32).sin() * 1e3).collect();
        let volume = Volume { grid, voxels };
        for file in ["a.nii", "a.nii.gz", "UPPER.NII.GZ"] {
            let path = folder.path().join(file);
            write_volume(&path, &volume).unwrap();
            let back = read_volume(&path).unwrap();
            assert_eq!(back.voxels, volume.voxels, "{name}");
            assert_eq!(back.grid.shape, volume.grid.shape, "{name}");
            let difference = largest_difference(&back.grid, &volume.grid);
            assert!(difference < HEADER_MM, "{name}: {difference} mm");
            assert_eq!(stored_grid(&path, &volume.grid).unwrap(), back.grid, "{name}");
            let by_values = folder.path().join(format!("values_{file}"));
            write_values(&by_values, &volume.grid, |n| volume.voxels[n]).unwrap();
            assert_eq!(std::fs::read(&by_values).unwrap(), std::fs::read(&path).unwrap(), "{name}");
        }
    }
}

#[test]
fn qform_says_the_same_as_sform() {
    let folder = tempfile::tempdir().unwrap();
    for (name, grid) in grids() {
        let path = folder.path().join("a.nii");
        write_volume(&path, &Volume::filled(grid.clone(), 1.0)).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        assert_eq!((bytes[252], bytes[254]), (1, 1), "both codes are 1");
        assert_eq!(bytes[123], 2, "units are mm");
        bytes[254] = 0;
        let by_qform = read_volume(&save(folder.path(), "q.nii", &bytes)).unwrap();
        // Tolerance: a quaternion in single precision loses half its digits if its scalar part is nearly zero.
        let difference = largest_difference(&by_qform.grid, &grid);
        assert!(difference < 1e-3, "{name}: {difference} mm");
    }
}

#[test]
fn every_type_in_both_byte_orders() {
    let folder = tempfile::tempdir().unwrap();
    // One case for each voxel type: NIfTI's code, whether the type is signed, and the bytes of the values 0, 1, 100,
    // and −3 or 3.
    macro_rules! case {
        ($code:literal, $type:ty, $last:expr) => {{
            let values: [$type; 8] =
                [0 as $type, 1 as $type, 100 as $type, $last, 5 as $type, 6 as $type, 7 as $type, 8 as $type];
            for big_endian in [false, true] {
                let data = values.iter().flat_map(|v| if big_endian { v.to_be_bytes() } else { v.to_le_bytes() });
                let raw = RawNifti { big_endian, ..RawNifti::new([2, 2, 2], $code, data.collect()) };
                let expected = values.map(|value| value as f32);
                let plain = save(folder.path(), "a.nii", &raw.bytes());
                assert_eq!(read_volume(&plain).unwrap().voxels, expected, "type {}", $code);
                assert_eq!(read_labels(&plain).unwrap().voxels, values.map(|value| value as i32), "type {}", $code);
                assert_eq!(inspect(&plain).unwrap().big_endian, big_endian);
                // Gzip is recognised by its magic bytes, not by the name.
                let packed = save(folder.path(), "b.nii", &gzip(&raw.bytes()));
                assert_eq!(read_volume(&packed).unwrap().voxels, expected, "type {}", $code);
                // If a NIfTI header has a slope and an intercept, the reader must multiply the stored values by the
                // slope and add the intercept.
                let scaled = RawNifti { slope_intercept: [0.5, -2.0], ..raw };
                let path = save(folder.path(), "c.nii", &scaled.bytes());
                assert_eq!(read_volume(&path).unwrap().voxels, expected.map(|value| value * 0.5 - 2.0));
            }
        }};
    }
    case!(2, u8, 3);
    case!(4, i16, -3);
    case!(8, i32, -3);
    case!(16, f32, -3.0);
    case!(64, f64, -3.0);
    case!(256, i8, -3);
    case!(512, u16, 3);
    case!(768, u32, 3);
    case!(1024, i64, -3);
    case!(1280, u64, 3);
}

#[test]
fn slopes_that_mean_none() {
    let folder = tempfile::tempdir().unwrap();
    for slope_intercept in [[0.0, 7.0], [f32::NAN, 7.0], [f32::NAN, f32::NAN], [f32::INFINITY, 0.0], [1.0, 0.0]] {
        let raw = RawNifti { slope_intercept, ..RawNifti::new([2, 2, 2], 2, (0..8).collect()) };
        let volume = read_volume(&save(folder.path(), "a.nii", &raw.bytes())).unwrap();
        assert_eq!(volume.voxels, [0., 1., 2., 3., 4., 5., 6., 7.], "{slope_intercept:?}");
    }
}

#[test]
fn sform_before_qform_before_voxel_sizes() {
    let folder = tempfile::tempdir().unwrap();
    let rotation = Rotation3::from_euler_angles(0.4, 0.3, -0.2);
    let q = UnitQuaternion::from_rotation_matrix(&rotation);
    let mut raw = RawNifti {
        pixdim: [-1.0, 2.0, -3.0, 4.0, 1.0, 1.0, 1.0, 1.0],
        quaternion: [q.i as f32, q.j as f32, q.k as f32, 10.0, 20.0, 30.0],
        qform_code: 2,
        sform_code: 4,
        rows: [[0.0, 0.0, 2.0, -1.0], [-2.0, 0.0, 0.0, -2.0], [0.0, 2.0, 0.0, -3.0]],
        ..RawNifti::new([2, 2, 2], 2, vec![0; 8])
    };
    let world = |raw: &RawNifti| {
        let grid = read_volume(&save(folder.path(), "a.nii", &raw.bytes())).unwrap().grid;
        grid.voxel_to_world().to_homogeneous()
    };
    #[rustfmt::skip]
    let sform = Matrix4::new(
        0.0, 0.0, 2.0, -1.0,
        -2.0, 0.0, 0.0, -2.0,
        0.0, 2.0, 0.0, -3.0,
        0.0, 0.0, 0.0, 1.0,
    );
    assert!((world(&raw) - sform).amax() < 1e-12);

    // The signs of voxel sizes are ignored, and qfac −1 reverses the third axis.
    raw.sform_code = 0;
    let mut qform = (rotation.matrix() * Matrix3::from_diagonal(&[2.0, 3.0, -4.0].into())).to_homogeneous();
    qform.fixed_view_mut::<3, 1>(0, 3).copy_from_slice(&[10.0, 20.0, 30.0]);
    // Tolerance: the quaternion is stored in single precision.
    assert!((world(&raw) - qform).amax() < 1e-5, "{} {qform}", world(&raw));
    raw.pixdim[0] = 0.0;
    qform.column_mut(2).neg_mut();
    assert!((world(&raw) - qform).amax() < 1e-5, "qfac 0 means 1");

    // In a header without sform and qform, the axes must be those of ITK 5.4.
    raw.qform_code = 0;
    assert!((world(&raw) - Matrix4::from_diagonal(&[-2.0, -3.0, 4.0, 1.0].into())).amax() < 1e-12);

    // NIfTI's code 3 means that lengths are in micrometres.
    raw.units = 3;
    assert!((world(&raw) - Matrix4::from_diagonal(&[-2e-3, -3e-3, 4e-3, 1.0].into())).amax() < 1e-12);
}

#[test]
fn a_series_of_one_volume_is_a_volume() {
    let folder = tempfile::tempdir().unwrap();
    for dim in [[4, 2, 2, 2, 1, 9, 9, 9], [5, 2, 2, 2, 1, 1, 9, 9], [7, 2, 2, 2, 1, 1, 1, 1]] {
        let raw = RawNifti { dim, ..RawNifti::new([2, 2, 2], 2, (0..8).collect()) };
        let volume = read_volume(&save(folder.path(), "a.nii", &raw.bytes())).unwrap();
        assert_eq!(volume.grid.shape, [2, 2, 2]);
    }
}

#[test]
fn a_series_comes_back_volume_by_volume() {
    let folder = tempfile::tempdir().unwrap();
    // A series is compressed in pieces of 2¹⁸ voxel values. A volume of this test has more values, so that borders of
    // pieces lie within volumes.
    let grid = Grid::axis_aligned([70, 65, 61], [3.0, 3.0, 3.5]);
    let volume = |n: usize| Volume {
        voxels: (0..grid.len()).map(|at| (n * 1000 + at % 997) as f32).collect(),
        grid: grid.clone(),
    };
    let timing = Timing { start: 0.5, step: 2.25, unit: 8 };
    let series = Series { volumes: (0..3).map(volume).collect(), timing };
    for name in ["a.nii", "a.nii.gz"] {
        let path = folder.path().join(name);
        write_series(&path, &series).unwrap();
        assert_eq!(inspect(&path).unwrap().dim, [4, 70, 65, 61, 3, 1, 1, 1]);
        assert_eq!(read_series(&path).unwrap(), series);
        assert!(read_volume(&path).unwrap_err().to_string().contains("holds 3 volumes"));
    }
    let bytes = std::fs::read(folder.path().join("a.nii")).unwrap();
    // Offsets of header fields in the standard: pixdim[4] at byte 92, xyzt_units at 123, toffset at 136.
    assert_eq!(bytes[92..96], 2.25f32.to_le_bytes());
    assert_eq!(bytes[123], 2 | 8);
    assert_eq!(bytes[136..140], 0.5f32.to_le_bytes());
    let last = 352 + 4 * (3 * grid.len() - 1);
    assert_eq!(bytes[last..], (2000.0 + ((grid.len() - 1) % 997) as f32).to_le_bytes());
    // A file of one volume is read as a series of one volume. A vector image and a truncated file are refused.
    let one = RawNifti::new([2, 2, 2], 2, (0..8).collect());
    assert_eq!(read_series(&save(folder.path(), "b.nii", &one.bytes())).unwrap().volumes.len(), 1);
    let vectors = RawNifti { dim: [5, 2, 2, 2, 1, 3, 1, 1], ..RawNifti::new([2, 2, 2], 2, vec![0; 24]) };
    assert!(read_series(&save(folder.path(), "c.nii", &vectors.bytes())).is_err());
    let message = read_series(&save(folder.path(), "d.nii", &bytes[..last - 9])).unwrap_err().to_string();
    assert!(message.contains("truncated"), "{message}");
    let none = Series { volumes: Vec::new(), timing };
    assert!(write_series(&folder.path().join("e.nii"), &none).is_err());
}

#[test]
fn extensions_are_skipped_and_an_offset_of_zero_is_352() {
    let folder = tempfile::tempdir().unwrap();
    let mut data = vec![0xaa; 32];
    data.extend(0..8);
    let with_extension = RawNifti { vox_offset: 384.0, ..RawNifti::new([2, 2, 2], 2, data) };
    let without = RawNifti { vox_offset: 0.0, ..RawNifti::new([2, 2, 2], 2, (0..8).collect()) };
    for raw in [with_extension, without] {
        for bytes in [raw.bytes(), gzip(&raw.bytes())] {
            let volume = read_volume(&save(folder.path(), "a.nii", &bytes)).unwrap();
            assert_eq!(volume.voxels, [0., 1., 2., 3., 4., 5., 6., 7.]);
        }
    }
}

#[test]
fn header_and_image_apart() {
    let folder = tempfile::tempdir().unwrap();
    let raw = RawNifti { magic: *b"ni1\0", vox_offset: 0.0, ..RawNifti::new([2, 2, 2], 2, Vec::new()) };
    let header = save(folder.path(), "a.hdr", &raw.bytes());
    let image = save(folder.path(), "a.img", &[0, 1, 2, 3, 4, 5, 6, 7]);
    for path in [&header, &image] {
        assert_eq!(read_volume(path).unwrap().voxels, [0., 1., 2., 3., 4., 5., 6., 7.]);
    }
    std::fs::remove_file(&image).unwrap();
    assert_eq!(read_volume(&header).unwrap_err().path, image, "the error names the file that is missing");
    save(folder.path(), "a.img.gz", &gzip(&[7; 8]));
    assert_eq!(read_volume(&header).unwrap().voxels, [7.0; 8]);
}

#[test]
fn gzip_of_several_members_is_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = RawNifti::new([2, 2, 2], 2, (0..8).collect()).bytes();
    let packed = [gzip(&bytes[..100]), gzip(&bytes[100..])].concat();
    let volume = read_volume(&save(folder.path(), "a.nii.gz", &packed)).unwrap();
    assert_eq!(volume.voxels, [0., 1., 2., 3., 4., 5., 6., 7.]);
}

#[test]
fn labels_take_the_smallest_type_that_holds_them() {
    let folder = tempfile::tempdir().unwrap();
    let grid = Grid::axis_aligned([3, 3, 3], [1.0; 3]);
    for (extreme, datatype) in [
        (255, "Uint8"),
        (256, "Int16"),
        (-1, "Int16"),
        (32767, "Int16"),
        (32768, "Int32"),
        (-32769, "Int32"),
        (i32::MAX, "Int32"),
        (i32::MIN, "Int32"),
    ] {
        let voxels: Vec<i32> = (0..27).map(|at| if at == 13 { extreme } else { at }).collect();
        let labels = LabelVolume { grid: grid.clone(), voxels };
        let path = folder.path().join("a.nii.gz");
        write_labels(&path, &labels).unwrap();
        assert_eq!(read_labels(&path).unwrap(), labels, "{extreme}");
        assert_eq!(inspect(&path).unwrap().datatype, datatype, "{extreme}");
    }
}

#[test]
fn large_volumes_come_back_whole() {
    // The voxel data of this test image are longer than the blocks in which files are read, and than the pieces in
    // which they are compressed. Several threads convert them.
    let folder = tempfile::tempdir().unwrap();
    let grid = Grid::axis_aligned([211, 203, 201], [1.0, 0.9, 1.1]);
    let voxels = (0..grid.len() as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 8) as f32).collect();
    let volume = Volume { grid, voxels };
    for file in ["a.nii", "a.nii.gz"] {
        let path = folder.path().join(file);
        write_volume(&path, &volume).unwrap();
        assert!(read_volume(&path).unwrap().voxels == volume.voxels);
    }
}

#[cfg(unix)]
#[test]
fn written_files_have_ordinary_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let ordinary = folder.path().join("ordinary");
    std::fs::write(&ordinary, "").unwrap();
    let path = folder.path().join("a.nii");
    write_volume(&path, &Volume::filled(Grid::axis_aligned([2, 2, 2], [1.0; 3]), 0.0)).unwrap();
    let mode = |path| std::fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&path), mode(&ordinary));
}

#[test]
fn the_header_states_the_bits_of_a_voxel() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nii");
    let grid = Grid::axis_aligned([2, 2, 2], [1.0; 3]);
    // The field `bitpix` of the standard, at byte 72.
    let bits = || std::fs::read(&path).unwrap()[72..74].to_vec();
    write_volume(&path, &Volume::filled(grid.clone(), 0.0)).unwrap();
    assert_eq!(bits(), [32, 0]);
    for (label, expected) in [(1, 8), (1000, 16), (100_000, 32)] {
        write_labels(&path, &LabelVolume { grid: grid.clone(), voxels: vec![label; 8] }).unwrap();
        assert_eq!(bits(), [expected, 0], "{label}");
    }
}

#[test]
fn fields_that_are_the_same_for_every_image() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nii");
    write_volume(&path, &Volume::filled(Grid::axis_aligned([2, 2, 2], [1.0; 3]), 0.0)).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let number = |at: usize| f32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    assert_eq!(bytes[..4], 348i32.to_le_bytes(), "the length of the header");
    // NIfTI does not use the field `regular`, but readers of the older format ANALYZE expect this letter.
    assert_eq!(bytes[38], b'r');
    // The voxels begin after the header and four bytes, which say that no extensions follow.
    assert_eq!((number(108), &bytes[344..352]), (352.0, &b"n+1\0\0\0\0\0"[..]));
    // Values are stored without scaling. A slope of 0 would mean the same, but some readers multiply by it.
    assert_eq!([number(112), number(116)], [1.0, 0.0], "slope and intercept");
}

#[test]
fn the_quaternion_of_a_half_turn_is_positive() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nii");
    let mut grid = Grid::axis_aligned([2, 2, 2], [1.0; 3]);
    // The axes of LPS are those of RAS, turned by 180° about z: a = b = c = 0 and d = 1, as NIfTI's own library writes.
    grid.direction = Matrix3::from_diagonal(&[-1.0, -1.0, 1.0].into());
    write_volume(&path, &Volume::filled(grid, 0.0)).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let number = |at: usize| f32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    assert_eq!([256, 260, 264].map(number), [0.0, 0.0, 1.0]);
}

#[test]
fn an_axis_of_more_than_32767_voxels_is_stored_as_nifti_2() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nii.gz");
    for (voxels, length) in [(32_767, 348), (32_768, 540)] {
        let volume = Volume::filled(Grid::axis_aligned([2, voxels, 2], [1.0; 3]), 2.0);
        write_volume(&path, &volume).unwrap();
        assert_eq!(antsreg_core::io::read_bytes(&path, "an image", 1 << 20).unwrap()[..4], i32::to_le_bytes(length));
        assert_eq!(read_volume(&path).unwrap(), volume);
        assert_eq!(stored_grid(&path, &volume.grid).unwrap(), volume.grid);
    }
}

#[test]
fn skipped_volumes_of_a_series_count() {
    let folder = tempfile::tempdir().unwrap();
    let raw = RawNifti { dim: [4, 2, 2, 2, 4, 1, 1, 1], ..RawNifti::new([2, 2, 2], 2, (0..32).collect()) };
    for bytes in [raw.bytes(), gzip(&raw.bytes())] {
        let mut reader = SeriesReader::open(&save(folder.path(), "a.nii", &bytes)).unwrap();
        assert_eq!(reader.next_volume().unwrap().unwrap().voxels[0], 0.0);
        reader.skip_volume().unwrap();
        assert_eq!(reader.next_volume().unwrap().unwrap().voxels[0], 16.0);
        reader.skip_volume().unwrap();
        assert_eq!(reader.next_volume().unwrap(), None);
    }
}

#[test]
fn compressed_voxels_make_a_file_with_these_voxels() {
    let folder = tempfile::tempdir().unwrap();
    let [path, expected] = ["a.nii.gz", "b.nii.gz"].map(|name| folder.path().join(name));
    let mut grid = Grid::axis_aligned([90, 70, 50], [1.0, 1.5, 2.0]);
    grid.origin.y = -40.0;
    let voxels = (0..grid.len()).map(|n| if n % 90 < 30 { 0.0 } else { (n as f32).sin() }).collect();
    let volume = Volume { grid: grid.clone(), voxels };
    write_volume(&expected, &volume).unwrap();
    write_deflated_volume(&path, &grid, &Deflated::of(&volume.voxels)).unwrap();
    let bytes = |path: &Path| {
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_end(&mut bytes).unwrap();
        bytes
    };
    assert!(bytes(&path) == bytes(&expected));
    let few = Deflated::of(&volume.voxels[1..]);
    let kind = write_deflated_volume(&folder.path().join("c.nii.gz"), &grid, &few).unwrap_err().kind;
    let ErrorKind::Count { what: "voxels", expected, found } = kind else { panic!("{kind}") };
    assert_eq!((expected, found), (grid.len(), grid.len() - 1));
}

#[test]
fn voxels_that_are_not_finite_are_missing_and_zero() {
    let mut values: Vec<f32> = (0..12).map(|value| 1.0 + value as f32).collect();
    (values[7], values[10]) = (f32::NAN, f32::NEG_INFINITY);
    let expected: Vec<f32> = values.iter().map(|value| if value.is_finite() { *value } else { 0.0 }).collect();
    let place = tempfile::tempdir().expect("a folder");
    let path = place.path().join("a.nii");
    let data = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let raw = RawNifti::new([3, 2, 2], 16, data);
    std::fs::write(&path, raw.bytes()).expect("a file");
    assert_eq!(read_volume(&path).expect("a volume").voxels, expected);
    assert_eq!(read_labels(&path).expect("labels").voxels[7], 0);
    let mut reader = PlanesReader::open(GridRule::default(), &path).expect("a file");
    assert_eq!(reader.next_volume().expect("a volume").voxels, expected);
    let mut reader = PlanesReader::open(GridRule::default(), &path).expect("a file");
    reader.keep_missing();
    assert!(reader.next_volume().expect("a volume").voxels[7].is_nan());
    // 1e300 is beyond single precision.
    let doubles: Vec<f64> = (0..12).map(|value| if value == 3 { 1e300 } else { 1.0 }).collect();
    let data = doubles.iter().flat_map(|value| value.to_le_bytes()).collect();
    std::fs::write(&path, RawNifti { datatype: 64, data, ..raw }.bytes()).expect("a file");
    assert_eq!(read_volume(&path).expect("a volume").voxels[3], 0.0);
}
