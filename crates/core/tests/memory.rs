//! Files that do not fit into memory are refused before they are read, and the error names the bytes needed and
//! available. Series are read
//! volume by volume.
//!
//! The limit applies to the whole process, so this is a separate test program with one test.

use std::path::Path;
use std::time::{Duration, Instant};

use antsreg_core::Grid;
use antsreg_core::io::nifti::{self, SeriesReader, Timing};
use antsreg_core::io::{Error, ErrorKind, itk};
use antsreg_core::memory::{self, Bound, Shortage};
use antsreg_core::{DisplacementField, Volume};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Memory that the process may allocate beyond its size at this time, bytes.
const LEFT: u64 = 160 << 20;

fn is_refused(result: Result<impl Sized, Error>, path: &Path) {
    let Err(Error { path: of, kind: ErrorKind::Memory(Shortage { wanted, available }) }) = result else {
        panic!("not refused for want of memory")
    };
    let available = available.expect("figures");
    assert_eq!((of.as_path(), available.bound), (path, Bound::AddressSpace));
    assert!(wanted > available.bytes && available.bytes <= LEFT, "{wanted} {available:?}");
}

/// Writes a gzipped NIfTI file of zeros with these dimensions; it is about a thousand times smaller than its contents.
fn zeros(path: &Path, dim: [u16; 8]) {
    use std::io::Write;
    let grid = Grid::axis_aligned([2, 2, 2], [1.0; 3]);
    let small = path.with_file_name("small.nii");
    match dim[0] {
        5 => itk::write_warp(&small, &DisplacementField::zeros(grid)).unwrap(),
        _ => nifti::write_volume(&small, &Volume::filled(grid, 0.0)).unwrap(),
    }
    let mut header = std::fs::read(&small).unwrap();
    header.truncate(352);
    header[40..56].copy_from_slice(&dim.map(u16::to_le_bytes).concat());
    let pack = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let bytes = 4 * dim[1..=usize::from(dim[0])].iter().map(|&n| usize::from(n)).product::<usize>();
    // A gzip file may consist of several members in sequence.
    let (block, rest) = (1 << 20, bytes % (1 << 20));
    let members = [pack(&header), pack(&vec![0; block]).repeat(bytes / block), pack(&vec![0; rest])];
    std::fs::write(path, members.concat()).unwrap();
}

#[test]
fn what_does_not_fit_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    // Each of these files unpacks to 180 MB and itself has less than a megabyte.
    let (volume, warp, series) = (at("volume.nii.gz"), at("warp.nii.gz"), at("series.nii.gz"));
    zeros(&volume, [3, 500, 400, 225, 1, 1, 1, 1]);
    zeros(&warp, [5, 300, 250, 200, 1, 3, 1, 1]);
    zeros(&series, [4, 100, 100, 100, 45, 1, 1, 1]);

    // The threads are started now, so that their stacks are not counted as memory of a reader.
    rayon::broadcast(|_| ());
    let Rlimit { current, maximum } = getrlimit(Resource::As);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
    let size: u64 = size.trim().trim_end_matches("kB").trim().parse().unwrap();
    setrlimit(Resource::As, Rlimit { current: Some(size * 1024 + LEFT), maximum }).unwrap();

    let start = Instant::now();
    is_refused(nifti::read_volume(&volume), &volume);
    is_refused(nifti::read_labels(&volume), &volume);
    is_refused(itk::read_warp(&warp), &warp);
    is_refused(nifti::read_series(&series), &series);
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    assert!(memory::room_for::<u8>(LEFT).is_err());
    assert_eq!(nifti::read_grid(&volume).unwrap().shape, [500, 400, 225]);

    // Each image of the test series takes 4 MB of memory.
    let mut reader = SeriesReader::open(&series).unwrap();
    let (grid, count, timing) = (reader.grid().clone(), reader.count(), Timing { start: 0.0, step: 2.0, unit: 8 });
    let copy = at("copy.nii.gz");
    nifti::write_series_by_volume(&copy, &grid, count, timing, |index| -> Result<Volume, Error> {
        let mut volume = reader.next_volume()?.expect("as many as announced");
        volume.voxels.iter_mut().enumerate().for_each(|(at, voxel)| *voxel = (index * 7 + at % 1000) as f32);
        Ok(volume)
    })
    .unwrap();
    assert!(reader.next_volume().unwrap().is_none());
    let mut reader = SeriesReader::open(&copy).unwrap();
    assert_eq!((reader.count(), reader.grid(), reader.timing()), (45, &grid, timing));
    let mut read = 0;
    while let Some(volume) = reader.next_volume().unwrap() {
        assert!(
            volume.voxels.iter().enumerate().all(|(at, voxel)| *voxel == (read * 7 + at % 1000) as f32),
            "{read}"
        );
        read += 1;
    }
    assert_eq!(read, 45);
    setrlimit(Resource::As, Rlimit { current, maximum }).unwrap();

    // If a volume has a wrong size, or the function that makes volumes returns an error, no file is written.
    let path = at("none.nii");
    let short = |_| Ok::<Volume, Error>(Volume::filled(Grid::axis_aligned([2, 2, 2], [1.0; 3]), 0.0));
    let error = nifti::write_series_by_volume(&path, &grid, 3, timing, short).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Count { expected: 1_000_000, found: 8, .. }), "{error}");
    let stopped = |_| Err(Error { path: "elsewhere".into(), kind: ErrorKind::Empty });
    let error = nifti::write_series_by_volume(&path, &grid, 3, timing, stopped).unwrap_err();
    assert_eq!(error.to_string(), "elsewhere: the file is empty");
    assert!(!path.exists());
}
