//! Tracts of MRtrix, TrackVis and TRX.

use super::*;

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
