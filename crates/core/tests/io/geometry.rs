//! Files of points, surfaces and tracts: points are moved in the world, and everything else stays.

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

#[test]
fn tables_are_lps_unless_the_caller_says_otherwise() {
    let table = "name,x,y,z\na,-1,-2,4\n";
    assert_eq!(text("p.csv", table, None), "name,x,y,z\na,-3,-4,-1\n");
    assert_eq!(text("p.csv", table, Some(World::Ras)), "name,x,y,z\na,-1,0,-1\n");
    let done = carried("p.csv", table.as_bytes(), None).unwrap().1;
    assert_eq!(done, Moved { points: 1, coordinates: "LPS, the default" });
}

#[test]
fn fiducials_of_slicer_name_their_world_and_keep_their_cells() {
    let file = |world: &str| {
        format!(
            "# Markups fiducial file version = 4.11\n# CoordinateSystem = {world}\n\
             # columns = id,x,y,z,ow,label\n1,1,2,4,0,\"a, b\"\n# between\n2,-1,0,0,1\r\n"
        )
    };
    let expected = |points: [&str; 2], world: &str| {
        file(world)
            .replace("1,1,2,4,", &format!("1,{},", points[0]))
            .replace("2,-1,0,0,", &format!("2,{},", points[1]))
    };
    for (world, points) in [
        ("RAS", ["3,4,-1", "-1,2,-3"]),
        ("0", ["3,4,-1", "-1,2,-3"]),
        ("LPS", ["1,0,-1", "-3,-2,-3"]),
        ("1", ["1,0,-1", "-3,-2,-3"]),
    ] {
        assert_eq!(text("f.fcsv", &file(world), None), expected(points, world), "{world}");
    }
    assert!(message("f.fcsv", file("2").as_bytes()).contains("expected RAS or LPS, found \"2\""));
    let without = file("RAS").replace("CoordinateSystem", "Coordinates");
    assert!(matches!(carried("f.fcsv", without.as_bytes(), None).unwrap_err().kind, ErrorKind::WorldUnknown));
    assert!(text("f.fcsv", &without, Some(World::Ras)).contains("1,3,4,-1,"));
    assert!(message("f.fcsv", b"# CoordinateSystem = RAS\n1,2,nan,3\n").contains("a finite number"));
}

#[test]
fn markups_of_slicer_keep_what_is_not_a_position() {
    let file = r#"{"@schema": "s", "markups": [{"type": "Curve", "coordinateSystem": "RAS", "controlPoints": [
        {"id": "1", "label": "a", "position": [1, 2, 4], "orientation": [1.0, 0.0]},
        {"id": "2", "position": null}]}, {"type": "Fiducial", "controlPoints": [{"position": [-1.0, -2.0, 4.0]}]}]}"#;
    let written: serde_json::Value = serde_json::from_str(&text("m.mrk.json", file, None)).unwrap();
    let mut expected: serde_json::Value = serde_json::from_str(file).unwrap();
    expected["markups"][0]["controlPoints"][0]["position"] = [3.0, 4.0, -1.0].into();
    // LPS is the default of the schema.
    expected["markups"][1]["controlPoints"][0]["position"] = [-3.0, -4.0, -1.0].into();
    assert_eq!(written, expected);
    assert!(message("m.mrk.json", file.replace("Curve", "ROI").as_bytes()).contains("the type of a markup"));
    assert!(message("m.mrk.json", file.replace("RAS", "IJK").as_bytes()).contains("RAS or LPS"));
}

#[test]
fn lists_of_points_have_three_forms() {
    for (given, expected) in [
        ("[[-1, -2, 4]]", "[[-3.0, -4.0, -1.0]]"),
        (r#"{"points": [[-1, -2, 4]], "k": 7}"#, r#"{"points": [[-3.0, -4.0, -1.0]], "k": 7}"#),
        (r#"[{"x": -1, "y": -2, "z": 4, "n": "a"}]"#, r#"[{"x": -3.0, "y": -4.0, "z": -1.0, "n": "a"}]"#),
    ] {
        let parsed = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(parsed(&text("l.json", given, None)), parsed(expected));
    }
    for (given, expected) in
        [("{}", "a list of points"), ("[[1, 2]]", "three numbers"), ("[[1, 2, \"a\"]]", "a number"), ("[", "JSON")]
    {
        assert!(message("l.json", given.as_bytes()).contains(expected), "{given}");
    }
}

/// A tract of MRtrix of two streamlines.
fn tck(kind: &str, number: impl Fn(f64) -> Vec<u8>) -> Vec<u8> {
    let header = format!("mrtrix tracks\ncount: 2\ndatatype: {kind}\nfile: . 80\nroi: a:b\nEND\n");
    let mut bytes = header.into_bytes();
    bytes.resize(80, b' ');
    let (gap, end) = ([f64::NAN; 3], [f64::INFINITY; 3]);
    for triple in [[1.0, 2.0, 4.0], [0.0; 3], gap, [-1.0, 0.0, 0.0], gap, end] {
        bytes.extend(triple.into_iter().flat_map(&number));
    }
    bytes
}

#[test]
fn tracts_of_mrtrix_have_four_types_of_numbers() {
    let f32_le = |value: f64| (value as f32).to_le_bytes().to_vec();
    let check = |kind: &str, number: &dyn Fn(f64) -> Vec<u8>| {
        let given = tck(kind, number);
        let (copy, done) = carried("t.tck", &given, None).unwrap();
        let mut expected = given.clone();
        let size = number(0.0).len();
        for (n, point) in [(0, [1.0, 2.0, 4.0]), (1, [0.0; 3]), (3, [-1.0, 0.0, 0.0])] {
            let point: Vec<u8> = moved(point).into_iter().flat_map(number).collect();
            expected[80 + 3 * n * size..][..3 * size].copy_from_slice(&point);
        }
        assert!(copy == expected, "{kind}");
        assert_eq!(done.points, 3);
    };
    check("Float32LE", &f32_le);
    check("Float32BE", &|value| (value as f32).to_be_bytes().to_vec());
    check("Float64LE", &|value| value.to_le_bytes().to_vec());
    check("Float64BE", &|value| value.to_be_bytes().to_vec());
    let good = tck("Float32LE", f32_le);
    assert!(message("t.tck", &good[..good.len() - 12]).contains("truncated: expected 152 bytes"));
    assert!(message("t.tck", &good[..good.len() - 13]).contains("truncated"));
    assert!(message("t.tck", &good[..30]).contains("header has no end"));
    assert!(message("t.tck", &tck("Float16LE", f32_le)).contains("datatype"));
    assert!(message("t.tck", b"something\n").contains("mrtrix tracks"));
}

#[test]
fn a_long_tract_is_moved_block_by_block() {
    let number = |value: f64| (value as f32).to_le_bytes();
    let mut given = b"mrtrix tracks\ndatatype: Float32LE\nfile: . 49\nEND\n".to_vec();
    let count = 100_000;
    for n in 0..count {
        let point = if n % 1000 == 999 { [f64::NAN; 3] } else { [f64::from(n) * 0.001, 1.0, -2.0] };
        given.extend(point.into_iter().flat_map(number));
    }
    given.extend([f64::INFINITY; 3].into_iter().flat_map(number));
    let (copy, done) = carried("t.tck", &given, None).unwrap();
    assert_eq!((copy.len(), done.points), (given.len(), 99_900));
    for n in [0, 32_767, 32_768, 99_998] {
        let expected: Vec<u8> =
            moved([f64::from(n as f32 * 0.001), 1.0, -2.0]).into_iter().flat_map(number).collect();
        let found = &copy[49 + 12 * n as usize..][..12];
        let value = f32::from_le_bytes(found[..4].try_into().unwrap());
        assert!((value - f32::from_le_bytes(expected[..4].try_into().unwrap())).abs() < 1e-4, "{n}");
        assert_eq!(&found[4..], &expected[4..]);
    }
}

/// A tract of TrackVis with two streamlines, a scalar of each point and a property of each streamline. Its voxels of 2 × 1 ×
/// 4 mm run to the left, to the front and up.
fn trk(big_endian: bool, order: &[u8; 3], version_without_matrix: bool) -> Vec<u8> {
    let mut header = vec![0; 1000];
    let short = |value: i16| if big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
    let int = |value: i32| if big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
    header[..5].copy_from_slice(b"TRACK");
    for (at, value) in [(6, 10), (8, 20), (10, 30), (36, 1), (238, 1)] {
        header[at..at + 2].copy_from_slice(&short(value));
    }
    header[12..24].copy_from_slice(&floats(&[2.0, 1.0, 4.0], big_endian));
    let last = if version_without_matrix { 0.0 } else { 1.0 };
    let rows = [-2.0, 0.0, 0.0, 7.0, 0.0, 1.0, 0.0, -5.0, 0.0, 0.0, 4.0, 6.0, 0.0, 0.0, 0.0, last];
    header[440..504].copy_from_slice(&floats(&rows, big_endian));
    header[948..951].copy_from_slice(order);
    for (at, value) in [(988, 2), (992, 2), (996, 1000)] {
        header[at..at + 4].copy_from_slice(&int(value));
    }
    for (points, property) in [(&[[3.0, 1.5, 6.0, 0.25], [1.0, 0.5, 2.0, 0.75]][..], 9.0), (&[], 8.0)] {
        header.extend(int(points.len() as i32));
        points.iter().for_each(|point| header.extend(floats(point, big_endian)));
        header.extend(floats(&[property], big_endian));
    }
    header
}

/// RAS mm of a point of [`trk`] in the order LAS, by hand: the voxel index is point/size - 1/2.
fn trk_to_ras([x, y, z]: [f64; 3]) -> [f64; 3] {
    [-2.0 * (x / 2.0 - 0.5) + 7.0, (y - 0.5) - 5.0, 4.0 * (z / 4.0 - 0.5) + 6.0]
}

#[test]
fn tracts_of_trackvis_lie_as_their_header_says() {
    for big_endian in [false, true] {
        let given = trk(big_endian, b"LAS", false);
        let (copy, done) = carried("t.trk", &given, None).unwrap();
        assert_eq!((copy.len(), done.points), (given.len(), 2));
        let mut expected = given.clone();
        for (at, point) in [(1004, [3.0, 1.5, 6.0]), (1020, [1.0, 0.5, 2.0])] {
            let [x, y, z] = moved(trk_to_ras(point));
            let back = [((7.0 - x) / 2.0 + 0.5) * 2.0, y + 5.5, ((z - 6.0) / 4.0 + 0.5) * 4.0];
            expected[at..at + 12].copy_from_slice(&floats(&back.map(|value| value as f32), big_endian));
        }
        assert_eq!(copy, expected);
    }
    // In the order RAS, indices along x count from the other end: 9 - i for 10 voxels.
    let (copy, _) = carried("t.trk", &trk(false, b"RAS", false), None).unwrap();
    let [x, ..] = moved(trk_to_ras([(9.0 - 1.0 + 0.5) * 2.0, 1.5, 6.0]));
    let index = 9.0 - (7.0 - x) / 2.0;
    assert_eq!(copy[1004..1008], floats(&[((index + 0.5) * 2.0) as f32], false));
}

#[test]
fn a_tract_of_trackvis_gets_the_grid_of_the_reference() {
    let mut grid = Grid::axis_aligned([11, 12, 13], [1.5, 2.5, 3.0]);
    grid.origin = [-4.0, 3.0, 8.0].into();
    let (copy, _) = carried_onto("t.trk", &trk(false, b"LAS", false), None, Some(&grid)).unwrap();
    let [x, y, z] = moved(trk_to_ras([3.0, 1.5, 6.0]));
    let expected = [x + 4.0 + 0.75, y - 3.0 + 1.25, z - 8.0 + 1.5];
    assert_eq!(copy[1004..1016], floats(&expected.map(|value| value as f32), false));
    assert_eq!(copy[6..12], [11, 0, 12, 0, 13, 0]);
    assert_eq!(copy[12..24], floats(&[1.5, 2.5, 3.0], false));
    assert_eq!(copy[440..456], floats(&[1.5, 0.0, 0.0, -4.0], false));
    assert_eq!(&copy[948..952], b"RAS\0");
    // The scalars and properties stay.
    assert_eq!(copy[1016..1020], floats(&[0.25], false));
}

#[test]
fn damaged_tracts_of_trackvis_are_refused() {
    let good = trk(false, b"LAS", false);
    for cut in [1010, good.len() - 2, 1002, 999] {
        assert!(message("t.trk", &good[..cut]).contains("truncated"), "{cut}");
    }
    assert!(message("t.trk", &good[..good.len() - 8]).contains("the number of streamlines: expected 2, found \"1\""));
    assert!(message("t.trk", &trk(false, b"LAS", true)).contains("vox_to_ras"));
    assert!(message("t.trk", &trk(false, b"LLS", false)).contains("voxel_order"));
    let mut far = good.clone();
    far[1004..1008].copy_from_slice(&f32::NAN.to_le_bytes());
    assert!(message("t.trk", &far).contains("point 1 has the coordinate NaN"));
}

/// A surface of FreeSurfer of two vertices and one face, with this text about its volume.
fn surface(footer: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0xff, 0xff, 0xfe];
    bytes.extend(b"created by a test\n\n");
    bytes.extend([2, 1].into_iter().flat_map(i32::to_be_bytes));
    bytes.extend(floats(&[1.0, 2.0, 4.0, -1.0, 0.0, 0.0], true));
    bytes.extend([0, 1, 0].into_iter().flat_map(i32::to_be_bytes));
    bytes.extend(footer);
    bytes
}

/// The part of a surface about its volume.
fn volume(real_ras: Option<i32>, valid: u8, axes: [&str; 3]) -> Vec<u8> {
    let mut bytes: Vec<u8> =
        real_ras.into_iter().flat_map(|value| [2_i32, value]).flat_map(i32::to_be_bytes).collect();
    bytes.extend(20_i32.to_be_bytes());
    let [x, y, z] = axes;
    let text = format!(
        "valid = {valid}  # volume info valid\nfilename = ../mri/filled.mgz\nvolume = 256 256 256\nvoxelsize = 1 1 1\n\
         xras   = {x}\nyras   = {y}\nzras   = {z}\ncras   = 10 20 30\n"
    );
    bytes.extend(text.into_bytes());
    bytes
}

#[test]
fn surfaces_of_freesurfer_lie_in_their_volume() {
    let usual = ["-1 0 0", "0 0 -1", "0 1 0"];
    let vertices = |bytes: &[u8]| bytes[30..54].to_vec();
    let check = |footer: Vec<u8>, undeclared, expected: [f32; 6]| {
        let given = surface(&footer);
        let (copy, done) = carried("lh.white", &given, undeclared).unwrap();
        assert_eq!(vertices(&copy), floats(&expected, true), "{}", done.coordinates);
        assert_eq!((&copy[..30], &copy[54..]), (&given[..30], &given[54..]));
        assert_eq!(done.points, 2);
    };
    // (1, 2, 4) of the surface is (11, 22, 34) of the scanner, which becomes (23, 24, 14).
    let moved_in_volume = [13.0, 4.0, -16.0, 9.0, 2.0, -18.0];
    check(volume(None, 1, usual), None, moved_in_volume);
    check(volume(Some(0), 1, usual), None, moved_in_volume);
    // Coordinates of the scanner already.
    check(volume(Some(1), 1, usual), None, [3.0, 4.0, -1.0, -1.0, 2.0, -3.0]);
    // The surface's x runs against the scanner's: the volume runs to the right.
    let turned = volume(None, 1, ["1 0 0", "0 0 -1", "0 1 0"]);
    check(turned, None, [-9.0, 4.0, -16.0, -13.0, 2.0, -18.0]);
    let without = [Vec::new(), volume(None, 0, usual)];
    for footer in without {
        assert!(matches!(carried("lh.white", &surface(&footer), None).unwrap_err().kind, ErrorKind::WorldUnknown));
        check(footer, Some(World::Ras), [3.0, 4.0, -1.0, -1.0, 2.0, -3.0]);
    }
    assert!(message("lh.white", &surface(&[])[..50]).contains("truncated: expected 66 bytes"));
    assert!(message("lh.white", &surface(&volume(None, 1, ["1 0", "0 0 -1", "0 1 0"]))).contains("xras"));
    // An image and other files are no surfaces.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lh.thickness");
    std::fs::write(&path, [0xff, 0xff, 0xff, 0, 0]).unwrap();
    assert_eq!(GeometryFormat::of_file(&path), None);
    assert!(GeometryFormat::FreeSurfer.fits(Path::new("lh.moved")));
    assert!(
        !GeometryFormat::FreeSurfer.fits(Path::new("lh.mgz"))
            && !GeometryFormat::FreeSurfer.fits(Path::new("lh.vtk"))
    );
}

#[test]
fn geometry_of_vtk_is_moved_as_text_and_binary() {
    let head = |title: &str, form: &str, kind: &str| {
        format!("# vtk DataFile Version 4.2\n{title}\n{form}\nDATASET POLYDATA\nPOINTS 2 {kind}\n")
    };
    let rest = "POLYGONS 1 4\n3 0 1 0\n\nPOINT_DATA 2\nSCALARS s float\nLOOKUP_TABLE default\n5 6\n";
    let given = head("Slicer. SPACE=RAS", "ASCII", "float") + "1 2 4 -1\n 0 0 \n" + rest;
    assert_eq!(text("s.vtk", &given, None), head("Slicer. SPACE=RAS", "ASCII", "float") + "3 4 -1\n-1 2 -3\n" + rest);
    let lps = given.replace("RAS", "LPS");
    assert!(text("s.vtk", &lps, None).contains("\n1 0 -1\n-3 -2 -3\n"), "{}", text("s.vtk", &lps, None));
    let unknown = given.replace("SPACE", "PLACE");
    assert!(matches!(carried("s.vtk", unknown.as_bytes(), None).unwrap_err().kind, ErrorKind::WorldUnknown));
    assert!(text("s.vtk", &unknown, Some(World::Ras)).contains("\n3 4 -1\n"));
    let mut binary = head("SPACE=RAS", "BINARY", "double").into_bytes();
    let doubles = |values: [f64; 6]| values.into_iter().flat_map(f64::to_be_bytes).collect::<Vec<u8>>();
    let expected = [&binary[..], &doubles([3.0, 4.0, -1.0, -1.0, 2.0, -3.0]), b"\nLINES 1 3\n\0\0\0\x02"].concat();
    binary.extend(doubles([1.0, 2.0, 4.0, -1.0, 0.0, 0.0]));
    binary.extend(b"\nLINES 1 3\n\0\0\0\x02");
    assert_eq!(carried("s.vtk", &binary, None).unwrap().0, expected);
    assert!(message("s.vtk", &binary[..binary.len() - 30]).contains("truncated"));
    for (given, expected) in [
        (given.replace("POLYDATA", "STRUCTURED_POINTS"), "POLYDATA, UNSTRUCTURED_GRID"),
        (given.replace("POINTS 2 float", "POINTS 2 int"), "float or double"),
        (given.replace("POINTS 2", "NOTHING 2"), "a line POINTS"),
        (given.replace("1 2 4 -1", "1 2 four -1"), "a finite number"),
    ] {
        assert!(message("s.vtk", given.as_bytes()).contains(expected), "{expected}");
    }
}

#[test]
fn surfaces_of_ply_keep_the_other_properties() {
    let head = |form: &str, comment: &str| {
        format!(
            "ply\nformat {form} 1.0\ncomment {comment}\nelement vertex 2\nproperty uchar red\nproperty float x\n\
             property double y\nproperty float32 z\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n"
        )
    };
    let given = head("ascii", "SPACE=RAS") + "7 1 2 4\n8 -1 0 0\n3 0 1 0\n";
    assert_eq!(text("s.ply", &given, None), head("ascii", "SPACE=RAS") + "7 3 4 -1\n8 -1 2 -3\n3 0 1 0\n");
    let unknown = head("ascii", "nothing") + "7 1 2 4\n8 -1 0 0\n3 0 1 0\n";
    assert!(matches!(carried("s.ply", unknown.as_bytes(), None).unwrap_err().kind, ErrorKind::WorldUnknown));
    assert!(text("s.ply", &unknown, Some(World::Lps)).contains("7 1 0 -1\n"));
    for big_endian in [false, true] {
        let form = if big_endian { "binary_big_endian" } else { "binary_little_endian" };
        let record = |red: u8, [x, y, z]: [f64; 3]| {
            let double = if big_endian { y.to_be_bytes() } else { y.to_le_bytes() };
            [&[red][..], &floats(&[x as f32], big_endian), &double, &floats(&[z as f32], big_endian)].concat()
        };
        let file = |points: [[f64; 3]; 2]| {
            [head(form, "SPACE=RAS").into_bytes(), record(7, points[0]), record(8, points[1]), vec![3, 1, 2, 3]]
                .concat()
        };
        let points = [[1.0, 2.0, 4.0], [-1.0, 0.0, 0.0]];
        let given = file(points);
        assert_eq!(carried("s.ply", &given, None).unwrap().0, file(points.map(moved)));
        assert!(message("s.ply", &given[..given.len() - 5]).contains("truncated"));
    }
    for (given, expected) in [
        (given.replace("float x", "int x"), "float or double"),
        (given.replace("float x", "float w"), "x, y and z"),
        (given.replace("element vertex 2", "element vertex 9"), "expected 9, found"),
        (given.replace("element vertex", "element edge"), "the first element"),
        (given.replace("end_header\n", ""), "header has no end"),
    ] {
        let message = message("s.ply", given.as_bytes());
        assert!(message.contains(expected) || message.contains("finite number"), "{expected}: {message}");
    }
}

/// A surface in GIfTI of two points, and one triangle that stays.
fn gifti(encoding: &str, data: &str, more: &str) -> String {
    let array = |intent: &str, kind: &str, dim: &str, encoding: &str, more: &str, data: &str| {
        format!(
            "<DataArray Intent=\"{intent}\" DataType=\"{kind}\" ArrayIndexingOrder=\"RowMajorOrder\" \
             Dimensionality=\"2\" Dim0=\"{dim}\" Dim1=\"3\" Encoding=\"{encoding}\" Endian=\"LittleEndian\" \
             ExternalFileName=\"\" ExternalFileOffset=\"\">\n{more}<Data>{data}</Data>\n</DataArray>\n"
        )
    };
    let points = array("NIFTI_INTENT_POINTSET", "NIFTI_TYPE_FLOAT32", "2", encoding, more, data);
    let faces = array("NIFTI_INTENT_TRIANGLE", "NIFTI_TYPE_INT32", "1", "ASCII", "", "0 1 0");
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE GIFTI SYSTEM \"http://www.nitrc.org/frs/download.php/115/gifti.dtd\">\n\
         <GIFTI Version=\"1.0\" NumberOfDataArrays=\"2\">\n<MetaData><MD><Name>a</Name><Value>b &amp; c</Value></MD></MetaData>\n\
         <LabelTable/>\n{points}{faces}</GIFTI>\n"
    )
}

fn space(data: &str, other: &str, matrix: &str) -> String {
    format!(
        "<CoordinateSystemTransformMatrix><DataSpace><![CDATA[{data}]]></DataSpace>\
         <TransformedSpace><![CDATA[{other}]]></TransformedSpace><MatrixData>{matrix}</MatrixData>\
         </CoordinateSystemTransformMatrix>\n"
    )
}

#[test]
fn surfaces_in_gifti_lie_as_their_metadata_say() {
    const GIVEN: &str = "1 2 4 -1 0 0";
    let check = |more: &str, expected: &str| {
        let found = text("s.surf.gii", &gifti("ASCII", GIVEN, more), None);
        assert_eq!(found, gifti("ASCII", &format!("{expected}\n"), more), "{more}");
    };
    let [scanner, unknown, talairach] = ["NIFTI_XFORM_SCANNER_ANAT", "NIFTI_XFORM_UNKNOWN", "NIFTI_XFORM_TALAIRACH"];
    let shift = "1 0 0 10  0 1 0 20  0 0 1 30  0 0 0 1";
    let as_they_are = "3 4 -1\n-1 2 -3";
    let in_volume = "13 4 -16\n9 2 -18";
    check("", as_they_are);
    check(&space(scanner, talairach, shift), as_they_are);
    check(&space(unknown, talairach, shift), as_they_are);
    check(&space(unknown, scanner, shift), in_volume);
    let entry = |name: &str, value: f64| {
        format!("<MD><Name><![CDATA[VolGeom{name}]]></Name><Value><![CDATA[{value}]]></Value></MD>\n")
    };
    let centre: String =
        [("C_R", 10.0), ("C_A", 20.0), ("C_S", 30.0)].map(|(name, value)| entry(name, value)).concat();
    let axes = |x: f64| {
        let rows = [("X", [x, 0.0, 0.0]), ("Y", [0.0, 0.0, -1.0]), ("Z", [0.0, 1.0, 0.0])];
        let cell = |axis: &str, row: [f64; 3]| {
            ["R", "A", "S"]
                .iter()
                .zip(row)
                .map(|(end, value)| entry(&format!("{axis}_{end}"), value))
                .collect::<String>()
        };
        rows.map(|(axis, row)| cell(axis, row)).concat()
    };
    let metadata = |entries: String| format!("<MetaData>\n{entries}</MetaData>\n");
    check(&metadata(centre.clone()), in_volume);
    check(&(metadata(centre.clone() + &axes(-1.0)) + &space(unknown, talairach, shift)), in_volume);
    check(&metadata(centre.clone() + &axes(1.0)), "-9 4 -16\n-13 2 -18");
    // The file says that the coordinates are those of the scanner already.
    check(&(metadata(centre) + &space(scanner, scanner, shift)), as_they_are);
}

#[test]
fn surfaces_in_gifti_have_three_encodings() {
    use base64::Engine;
    use std::io::{Read, Write};
    let encode = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
    let decode = |text: &str| base64::engine::general_purpose::STANDARD.decode(text).unwrap();
    let deflate = |bytes: &[u8]| {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let data_of = |text: &str| {
        let start = text.find("<Data>").unwrap() + 6;
        text[start..start + text[start..].find('<').unwrap()].to_owned()
    };
    let given = floats(&[1.0, 2.0, 4.0, -1.0, 0.0, 0.0], false);
    let expected = floats(&[3.0, 4.0, -1.0, -1.0, 2.0, -3.0], false);
    let plain = text("s.gii", &gifti("Base64Binary", &encode(&given), ""), None);
    assert_eq!(plain, gifti("Base64Binary", &encode(&expected), ""));
    let packed = text("s.gii", &gifti("GZipBase64Binary", &encode(&deflate(&given)), ""), None);
    let mut unpacked = Vec::new();
    flate2::read::ZlibDecoder::new(&decode(&data_of(&packed))[..]).read_to_end(&mut unpacked).unwrap();
    assert_eq!(unpacked, expected);
    // Columns, big-endian: all x come first.
    let columns = |values: &[f32]| {
        gifti("Base64Binary", &encode(&floats(values, true)), "")
            .replacen("RowMajorOrder", "ColumnMajorOrder", 1)
            .replacen("LittleEndian", "BigEndian", 1)
    };
    let found = text("s.gii", &columns(&[1.0, -1.0, 2.0, 0.0, 4.0, 0.0]), None);
    assert_eq!(found, columns(&[3.0, -1.0, 4.0, 2.0, -1.0, -3.0]));
    for (file, expected) in [
        (gifti("ASCII", "1 2 4", ""), "Data: expected 6 numbers, found 3"),
        (gifti("ASCII", "1 2 4 5 6 x", ""), "finite number"),
        (gifti("Base64Binary", "AAAA!", ""), "base64"),
        (gifti("GZipBase64Binary", &encode(&given), ""), "zlib"),
        (gifti("GZipBase64Binary", &encode(&deflate(&[0; 99])), ""), "Data: expected 6 numbers"),
        (gifti("ExternalFileBinary", "", ""), "an array"),
        (gifti("ASCII", "1", "").replace("POINTSET", "SHAPE"), "an array NIFTI_INTENT_POINTSET"),
        (gifti("ASCII", "1", "").replace("FLOAT32", "INT32"), "DataType"),
        (gifti("ASCII", "1", "").replace("Dim1=\"3\"", "Dim1=\"2\""), "the dimensions of the points"),
        (gifti("ASCII", "1", "").replace("</DataArray>", "</Array>"), "XML"),
    ] {
        assert!(
            message("s.gii", file.as_bytes()).contains(expected),
            "{expected}: {}",
            message("s.gii", file.as_bytes())
        );
    }
}

/// A tract in TRX of two streamlines and three positions, with a number for each position.
fn trx(positions: &str, bytes: &[u8], method: zip::CompressionMethod, count: usize) -> Vec<u8> {
    use std::io::Write;
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(method);
    let header = format!(
        "{{\"DIMENSIONS\": [2, 3, 4], \"VOXEL_TO_RASMM\": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], \
         \"NB_VERTICES\": {count}, \"NB_STREAMLINES\": 2}}"
    );
    for (name, contents) in [
        ("header.json", header.as_bytes()),
        (positions, bytes),
        ("offsets.uint32", &[0, 0, 0, 0, 2, 0, 0, 0]),
        ("dpv/fa.float32", &floats(&[0.1, 0.2, 0.3], false)),
    ] {
        writer.start_file(name, options).unwrap();
        writer.write_all(contents).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

type Encode<'a> = &'a dyn Fn(&[f64]) -> Vec<u8>;

/// The files of an archive.
fn entries(bytes: &[u8]) -> Vec<(String, zip::CompressionMethod, Vec<u8>)> {
    use std::io::Read;
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
    let entry = |index| {
        let mut file = archive.by_index(index).unwrap();
        let mut contents = Vec::new();
        file.read_to_end(&mut contents).unwrap();
        (file.name().unwrap().into_owned(), file.compression(), contents)
    };
    (0..4).map(entry).collect()
}

#[test]
fn tracts_in_trx_keep_their_other_files() {
    let points = [[1.0, 2.0, 4.0], [-1.0, 0.0, 0.0], [8.0, 16.0, 32.0]];
    let flat: Vec<f64> = points.iter().flatten().copied().collect();
    let after: Vec<f64> = points.into_iter().flat_map(moved).collect();
    let half = |values: &[f64]| values.iter().flat_map(|value| half::f16::from_f64(*value).to_le_bytes()).collect();
    let single = |values: &[f64]| values.iter().flat_map(|value| (*value as f32).to_le_bytes()).collect();
    let double = |values: &[f64]| values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let kinds: [(&str, Encode); 3] =
        [("positions.3.float16", &half), ("positions.3.float32", &single), ("positions.3.float64", &double)];
    for method in [zip::CompressionMethod::Stored, zip::CompressionMethod::Deflated] {
        for (name, bytes) in kinds {
            let (copy, done) = carried("t.trx", &trx(name, &bytes(&flat), method, 3), None).unwrap();
            assert_eq!(entries(&copy), entries(&trx(name, &bytes(&after), method, 3)), "{name}");
            assert_eq!(done.points, 3);
        }
    }
    let stored = zip::CompressionMethod::Stored;
    let good = trx("positions.3.float32", &single(&flat), stored, 3);
    let grid = Grid::axis_aligned([5, 6, 7], [2.0, 2.0, 2.0]);
    let (copy, _) = carried_onto("t.trx", &good, None, Some(&grid)).unwrap();
    let header: serde_json::Value = serde_json::from_slice(&entries(&copy)[0].2).unwrap();
    assert_eq!((&header["DIMENSIONS"], &header["VOXEL_TO_RASMM"][1][1]), (&[5, 6, 7].into(), &2.0.into()));
    for (file, expected) in [
        (trx("positions.3.float32", &single(&flat), stored, 4), "the number of positions: expected 4, found"),
        (trx("positions.2.float32", &single(&flat), stored, 3), "the file of positions"),
        (trx("places.3.float32", &single(&flat), stored, 3), "one file of positions"),
        (trx("positions.3.float32", &single(&flat)[1..], stored, 3), "a multiple of 12"),
        (good[..good.len() - 30].to_vec(), "a zip archive"),
        (b"nothing".to_vec(), "a zip archive"),
    ] {
        assert!(message("t.trx", &file).contains(expected), "{expected}: {}", message("t.trx", &file));
    }
    // A byte of the positions is damaged, which the checksum of the archive tells.
    let place = good.windows(4).position(|window| window == 16_f32.to_le_bytes()).unwrap();
    let mut damaged = good;
    damaged[place] ^= 1;
    assert!(message("t.trx", &damaged).contains("a file of the archive"), "{}", message("t.trx", &damaged));
}
