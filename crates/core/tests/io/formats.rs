//! Tests of images in other formats than NIfTI-1. Files of other programs are compared in `tests/python/test_formats.py`.

use std::path::Path;

use antsreg_core::io::nifti::{
    self, GridRule, Planes, PlanesFile, PlanesReader, Series, Stored, Timing, inspect, read_labels, read_series,
    read_volume, write_labels, write_series, write_volume,
};
use antsreg_core::io::outputs::{self, Outputs};
use antsreg_core::io::{Error, ErrorKind, ImageFormat, itk};
use antsreg_core::{DisplacementField, Grid, LabelVolume, Volume};

use crate::support::{grids, save};

const NAMES: [&str; 7] = ["a.mgh", "a.mgz", "a.nrrd", "a.nhdr", "a.mha", "a.mhd", "a.nii"];

fn ramp(grid: &Grid) -> Volume {
    Volume { voxels: (0..grid.len()).map(|at| at as f32 * 0.5 - 7.0).collect(), grid: grid.clone() }
}

/// Largest distance of corners of two grids, mm.
fn apart(a: &Grid, b: &Grid) -> f64 {
    assert_eq!(a.shape, b.shape);
    let corner = |grid: &Grid, n: usize| {
        let index: [f64; 3] = std::array::from_fn(|axis| ((n >> axis & 1) * grid.shape[axis]) as f64);
        grid.voxel_to_world().apply(&index.into())
    };
    (0..8).map(|n| (corner(a, n) - corner(b, n)).norm()).fold(0.0, f64::max)
}

#[test]
fn volumes_and_labels_come_back_from_every_format() {
    let folder = tempfile::tempdir().unwrap();
    for (which, grid) in grids() {
        let volume = ramp(&grid);
        let labels =
            LabelVolume { voxels: (0..grid.len() as i32).map(|n| n * 700 - 9).collect(), grid: grid.clone() };
        for name in NAMES {
            let path = folder.path().join(name);
            write_volume(&path, &volume).unwrap();
            let back = read_volume(&path).unwrap();
            // MGH and NIfTI-1 store single precision.
            let rounding = if name.contains(".m") && !name.contains(".mh") || name == "a.nii" { 2e-5 } else { 1e-12 };
            let rounding = if name.contains(".mg") { 2e-5 } else { rounding };
            assert!(apart(&back.grid, &grid) < rounding, "{which} {name}: {}", apart(&back.grid, &grid));
            assert_eq!(back.voxels, volume.voxels, "{which} {name}");
            assert_eq!(nifti::stored_grid(&path, &grid).unwrap(), back.grid, "{which} {name}");
            let by_itk = GridRule::Itk.read_volume(&path).unwrap();
            assert!(apart(&by_itk.grid, &grid) < 2e-5, "{which} {name}");
            write_labels(&path, &labels).unwrap();
            assert_eq!(read_labels(&path).unwrap().voxels, labels.voxels, "{which} {name}");
        }
    }
}

#[test]
fn series_keep_their_step() {
    let folder = tempfile::tempdir().unwrap();
    let (_, grid) = grids().remove(4);
    let volumes =
        (0..3).map(|n| Volume { voxels: ramp(&grid).voxels.iter().map(|v| v + n as f32).collect(), ..ramp(&grid) });
    let series =
        Series { volumes: volumes.collect(), timing: Timing { start: 0.0, step: 2.5, unit: Timing::SECONDS } };
    for name in NAMES {
        let path = folder.path().join(name);
        write_series(&path, &series).unwrap();
        let back = read_series(&path).unwrap();
        let step = if name.starts_with("a.mg") { 2500.0 } else { 2.5 };
        assert_eq!(back.timing.step, step, "{name}");
        for (a, b) in back.volumes.iter().zip(&series.volumes) {
            assert_eq!(a.voxels, b.voxels, "{name}");
        }
        assert_eq!(back.volumes.len(), 3);
        assert!(matches!(read_volume(&path).unwrap_err().kind, ErrorKind::SeveralVolumes { count: 3, .. }));
    }
}

#[test]
fn warps_are_vectors_in_nrrd_and_metaimage_and_refused_in_mgh() {
    let folder = tempfile::tempdir().unwrap();
    let (_, grid) = grids().remove(6);
    let vectors = (0..grid.len()).map(|n| [n as f32, -0.5 * n as f32, 3.0]).collect();
    let field = DisplacementField { grid: grid.clone(), vectors };
    for name in ["w.nrrd", "w.nhdr", "w.mha", "w.mhd"] {
        let path = folder.path().join(name);
        itk::write_warp(&path, &field).unwrap();
        assert_eq!(itk::read_warp(&path).unwrap().vectors, field.vectors, "{name}");
        assert_eq!(itk::read_transforms(&path).unwrap().len(), 1, "{name}");
        let bytes = std::fs::read(&path).unwrap();
        itk::write_warp_as(&path, &field, Stored::Float32).unwrap();
        assert_eq!(itk::read_warp(&path).unwrap().vectors, field.vectors, "{name}, component by component");
        assert!(name != "w.mha" || bytes == std::fs::read(&path).unwrap());
    }
    let kind = itk::write_warp(&folder.path().join("w.mgz"), &field).unwrap_err().kind;
    assert!(matches!(kind, ErrorKind::NotStorable { format: "MGH", .. }), "{kind}");
}

#[test]
fn every_type_is_stored_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let grid = Grid::axis_aligned([3, 4, 5], [1.0; 3]);
    let values = Volume { voxels: (0..60).map(|n| n as f32).collect(), grid: grid.clone() };
    use Stored::*;
    for stored in [Int8, Uint8, Int16, Uint16, Int32, Uint32, Int64, Uint64, Float32, Float64] {
        for name in NAMES {
            let path = folder.path().join(name);
            let file = PlanesFile { grid: &grid, count: 1, planes: Planes::One, stored };
            match file.write(&path, |_| Ok::<_, Error>(values.clone())) {
                Ok(()) => {
                    assert_eq!(read_volume(&path).unwrap(), values, "{name} {stored:?}");
                    assert_eq!(inspect(&path).unwrap().datatype, format!("{:?}", stored), "{name}");
                    assert!(PlanesReader::open(GridRule::Sform, &path).is_ok());
                }
                Err(error) => {
                    let storable = [Uint8, Int16, Uint16, Int32, Float32].contains(&stored);
                    assert!(name.starts_with("a.mg") && !storable, "{name} {stored:?}: {error}");
                }
            }
        }
    }
}

#[test]
fn both_files_of_a_detached_header_belong_to_the_set() {
    let folder = tempfile::tempdir().unwrap();
    let volume = ramp(&grids().remove(0).1);
    for (name, voxels) in [("a.nhdr", "a.raw.gz"), ("b.mhd", "b.raw")] {
        let [path, voxels] = [name, voxels].map(|name| folder.path().join(name));
        let mut set = Outputs::new();
        set.write::<Error>(&path, |path| write_volume(path, &volume)).unwrap();
        assert!(!path.exists() && !voxels.exists());
        set.commit().unwrap();
        assert_eq!(read_volume(&path).unwrap().voxels, volume.voxels);
        assert!(outputs::check([&path], [&voxels]).is_err(), "the voxels are an input");
        std::fs::remove_file(&voxels).unwrap();
        let error = read_volume(&path).unwrap_err();
        assert!(matches!(error.kind, ErrorKind::Missing) && error.path == voxels, "{error}");
    }
}

#[test]
fn fields_that_cannot_be_honoured_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let read =
        |name: &str, text: &str| read_volume(&save(folder.path(), name, text.as_bytes())).unwrap_err().to_string();
    let nrrd = "NRRD0004\ntype: uchar\ndimension: 3\nsizes: 2 2 2\n";
    let meta = "ObjectType = Image\nNDims = 3\nDimSize = 2 2 2\n";
    for (text, expected) in [
        (format!("{nrrd}encoding: bzip2\n\n12345678"), "`encoding` of the header is \"bzip2\""),
        (format!("{nrrd}encoding: raw\nline skip: 2\n\n12345678"), "`line skip`"),
        (format!("{nrrd}encoding: raw\ndata file: LIST\na\nb\n"), "`data file`"),
        (format!("{nrrd}encoding: raw\nspace: mars\n\n12345678"), "`space` of the header is \"mars\""),
        (format!("{nrrd}encoding: raw"), "no end"),
        ("NRRD0004\ntype: uchar\nsizes: 1 2 3\n\n".into(), "no field `dimension`"),
        (format!("{nrrd}encoding: raw\nsizes: 2 2 -2\n\n12345678"), "impossible dimensions"),
        (format!("{meta}ElementType = MET_OTHER\nElementDataFile = LOCAL\n12345678"), "MET_OTHER"),
        (format!("{meta}ElementType = MET_UCHAR\nBinaryData = False\nElementDataFile = LOCAL\n"), "`BinaryData`"),
        (format!("{meta}ElementType = MET_UCHAR\nElementDataFile = LIST\na\nb\n"), "`ElementDataFile`"),
        (format!("{meta}ElementType = MET_UCHAR\nElementDataFile = LOCAL\n1234567"), "truncated"),
    ] {
        let message = read("a", &text);
        assert!(message.contains(expected), "{text}: {message}");
    }
    assert_eq!(ImageFormat::stem(Path::new("x/A.v2.MGZ")).as_deref(), Some("A.v2"));
    assert_eq!(ImageFormat::stem(Path::new("a.csv")), None);
}

/// Numbers at random, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

#[test]
fn two_hundred_and_fifty_damaged_headers_of_each_format_are_survived() {
    let folder = tempfile::tempdir().unwrap();
    let (_, grid) = grids().remove(4);
    let long = Grid::axis_aligned([40_000, 2, 1], [1.0; 3]);
    let mut random = Random(1);
    for name in [NAMES.as_slice(), &["two.nii"]].concat() {
        let path = folder.path().join(name);
        write_volume(&path, &ramp(if name == "two.nii" { &long } else { &grid })).unwrap();
        let good = std::fs::read(&path).unwrap();
        // The header; of a gzipped file any byte.
        let header = good.len().min(600);
        for _ in 0..250 {
            let mut bytes = good.clone();
            for _ in 0..1 + random.below(3) {
                let at = random.below(header);
                match random.below(4) {
                    0 => bytes[at] = random.below(256) as u8,
                    1 => bytes[at] = [b'-', b'9', b' ', b'\n', b'(', 0, 0xff, 0x7f][random.below(8)],
                    2 => drop(bytes.splice(at..at, b"99999999999".iter().copied())),
                    _ => bytes.truncate(at.max(1)),
                }
                if bytes.len() < header {
                    break;
                }
            }
            std::fs::write(&path, &bytes).unwrap();
            if let Ok(volume) = read_volume(&path) {
                assert_eq!(volume.voxels.len(), volume.grid.len());
            }
            let _ = (read_labels(&path), read_series(&path), itk::read_transforms(&path), inspect(&path));
        }
    }
}
