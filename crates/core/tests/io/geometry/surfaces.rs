//! Surfaces of FreeSurfer, VTK, PLY and GIfTI.

use super::*;

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
