//! Composite transforms, and files of unknown length, that do not fit into memory: the error says how much memory they
//! need.
//!
//! The limit applies to the whole process, so this is a separate test program with one test.

use std::borrow::Cow;
use std::io::Write;

use antsreg_core::io::itk::{self, CompositePart, Dimensions};
use antsreg_core::io::{Error, ErrorKind, read_bytes};
use antsreg_core::memory::Shortage;
use antsreg_core::{DisplacementField, Grid};
use nalgebra::Point3;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Lets the process allocate this many bytes beyond its size at this time, while `work` runs.
fn within<T>(left: u64, work: impl FnOnce() -> T) -> T {
    let Rlimit { current, maximum } = getrlimit(Resource::As);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
    let size: u64 = size.trim().trim_end_matches("kB").trim().parse().unwrap();
    setrlimit(Resource::As, Rlimit { current: Some(size * 1024 + left), maximum }).unwrap();
    let result = work();
    setrlimit(Resource::As, Rlimit { current, maximum }).unwrap();
    result
}

fn shortage(result: Result<impl Sized, Error>) -> Shortage {
    match result {
        Err(Error { kind: ErrorKind::Memory(shortage), .. }) => shortage,
        Err(error) => panic!("refused for another reason: {error}"),
        Ok(_) => panic!("not refused"),
    }
}

#[test]
fn the_memory_that_is_needed_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let (composite, bomb) = (folder.path().join("a.h5"), folder.path().join("b.gz"));
    // The threads are started now, so that their stacks are not counted.
    rayon::broadcast(|_| ());
    let field = DisplacementField::zeros(Grid::axis_aligned([100, 100, 100], [1.0; 3]));
    let parts = [CompositePart::Field(Cow::Owned(field))];
    let write = || itk::write_composite_parts(&composite, &parts, Point3::origin(), Dimensions::Three);
    // The vectors take 12 bytes each, and are in memory three times when they are written.
    assert_eq!(shortage(within(40 << 20, write)).wanted, 36_000_000);
    write().unwrap();
    // The numbers are in memory three times when they are read, at last in double precision.
    assert_eq!(shortage(within(72 << 20, || itk::read_transforms(&composite))).wanted, 72_000_000);
    assert_eq!(itk::read_transforms(&composite).unwrap().len(), 1);

    // The length of a gzip file is not known before it is read. When memory ends, the bytes read so far and a further
    // block are needed, which are more than a quarter of the limit, because a list grows by doubling.
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&vec![0; 64 << 20]).unwrap();
    std::fs::write(&bomb, encoder.finish().unwrap()).unwrap();
    let wanted = shortage(within(40 << 20, || read_bytes(&bomb, "a list", u64::MAX))).wanted;
    assert!((10 << 20..=64 << 20).contains(&wanted), "{wanted}");
}
