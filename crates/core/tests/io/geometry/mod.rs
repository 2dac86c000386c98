//! Files of points, surfaces and tracts: points are moved in the world, and everything else stays.

mod points;
mod surfaces;
mod tracts;

use std::path::{Path, PathBuf};

use antsreg_core::Grid;
use antsreg_core::io::geometry::{GeometryFormat, Moved, Moving, World, carry_file};
use antsreg_core::io::{Error, ErrorKind};

/// The map of the tests, RAS mm. It has no symmetry, so that no mistake in a coordinate system goes unseen.
fn moved([x, y, z]: [f64; 3]) -> [f64; 3] {
    [2.0 * x + 1.0, y + 2.0, 0.5 * z - 3.0]
}

/// Moves the points of a file with these bytes, and returns the bytes of the copy.
fn carried_onto(
    name: &str,
    bytes: &[u8],
    undeclared: Option<World>,
    onto: Option<&Grid>,
) -> Result<(Vec<u8>, Moved), Error> {
    let folder = tempfile::tempdir().unwrap();
    let from: PathBuf = folder.path().join(name);
    let to = folder.path().join(format!("moved_{name}"));
    std::fs::write(&from, bytes).unwrap();
    let mut map = |points: &mut [[f64; 3]]| points.iter_mut().for_each(|point| *point = moved(*point));
    let format = GeometryFormat::of_file(&from).expect("a known format");
    let done = carry_file(format, &from, &to, Moving { map: &mut map, undeclared, onto });
    assert_eq!(done.is_ok(), to.exists(), "a copy appears only when it is complete");
    done.map(|done| (std::fs::read(&to).unwrap(), done))
}

fn carried(name: &str, bytes: &[u8], undeclared: Option<World>) -> Result<(Vec<u8>, Moved), Error> {
    carried_onto(name, bytes, undeclared, None)
}

fn text(name: &str, given: &str, undeclared: Option<World>) -> String {
    String::from_utf8(carried(name, given.as_bytes(), undeclared).unwrap().0).unwrap()
}

fn message(name: &str, bytes: &[u8]) -> String {
    let error = carried(name, bytes, None).unwrap_err();
    assert!(error.path.ends_with(name), "{error}");
    error.kind.to_string()
}

fn floats(values: &[f32], big_endian: bool) -> Vec<u8> {
    values.iter().flat_map(|value| if big_endian { value.to_be_bytes() } else { value.to_le_bytes() }).collect()
}
