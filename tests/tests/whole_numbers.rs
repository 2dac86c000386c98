//! Label maps of every integer type keep their values exactly when they are resampled.

use antsreg_tests::Workplace;

/// Shape of the label maps, voxels of 1 mm.
const SHAPE: [i16; 3] = [4, 3, 2];

/// An integer type of NIfTI: its name, code and size in bytes, and the smallest and the largest value.
const TYPES: &[(&str, i16, usize, i128, i128)] = &[
    ("u8", 2, 1, 0, u8::MAX as i128),
    ("i8", 256, 1, i8::MIN as i128, i8::MAX as i128),
    ("u16", 512, 2, 0, u16::MAX as i128),
    ("i16", 4, 2, i16::MIN as i128, i16::MAX as i128),
    ("u32", 768, 4, 0, u32::MAX as i128),
    ("i32", 8, 4, i32::MIN as i128, i32::MAX as i128),
    ("u64", 1280, 8, 0, u64::MAX as i128),
    ("i64", 1024, 8, i64::MIN as i128, i64::MAX as i128),
];

/// A NIfTI-1 file of integers of one type.
fn file(code: i16, size: usize, values: &[i128]) -> Vec<u8> {
    let mut bytes = vec![0; 352];
    let mut put = |at: usize, piece: &[u8]| bytes[at..at + piece.len()].copy_from_slice(piece);
    put(0, &348i32.to_le_bytes());
    for (n, dim) in [3, SHAPE[0], SHAPE[1], SHAPE[2], 1, 1, 1, 1].into_iter().enumerate() {
        put(40 + 2 * n, &dim.to_le_bytes());
        put(76 + 4 * n, &1f32.to_le_bytes());
    }
    put(70, &code.to_le_bytes());
    put(72, &(8 * size as i16).to_le_bytes());
    put(108, &352f32.to_le_bytes());
    put(254, &1i16.to_le_bytes());
    for row in 0..3 {
        put(280 + 16 * row + 4 * row, &1f32.to_le_bytes());
    }
    put(344, b"n+1\0");
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()[..size].to_vec()));
    bytes
}

/// The values of a file, and the code of their type.
fn values(bytes: &[u8]) -> (i16, Vec<i128>) {
    let code = i16::from_le_bytes([bytes[70], bytes[71]]);
    let size = usize::from(bytes[72]) / 8;
    let value = |piece: &[u8]| {
        let mut bits = [0; 8];
        bits[..size].copy_from_slice(piece);
        let bits = u64::from_le_bytes(bits);
        match code {
            16 => f32::from_bits(bits as u32) as i128,
            64 => f64::from_bits(bits) as i128,
            2 | 512 | 768 | 1280 => i128::from(bits),
            _ => i128::from((bits << (64 - 8 * size)).cast_signed() >> (64 - 8 * size)),
        }
    };
    (code, bytes[352..].chunks(size).map(value).collect())
}

/// Values of a type that include its extremes and neighbours of powers of 2.
fn labels(least: i128, most: i128) -> Vec<i128> {
    let wanted =
        [least, most, 0, 1, most - 1, least + 1, (1 << 24) + 1, (1 << 31) + 1, (1 << 53) + 1, 1 << 24, -5, 997];
    let fits: Vec<i128> = wanted.into_iter().filter(|value| (least..=most).contains(value)).collect();
    fits.iter().copied().cycle().take(24).collect()
}

/// The values, moved by one voxel along the first axis; 0 where they come from outside.
fn moved(values: &[i128]) -> Vec<i128> {
    (0..24).map(|voxel| if voxel % 4 == 3 { 0 } else { values[voxel + 1] }).collect()
}

fn place() -> Workplace {
    let place = Workplace::new();
    // One voxel along the first axis of RAS is minus one along the first axis of ITK.
    place.file(
        "shift.txt",
        b"#Insight Transform File V1.0\n#Transform 0\nTransform: AffineTransform_double_3_3\n\
          Parameters: 1 0 0 0 1 0 0 0 1 -1 0 0\nFixedParameters: 0 0 0\n",
    );
    for (name, code, size, least, most) in TYPES {
        std::fs::write(place.path(&format!("{name}.nii")), file(*code, *size, &labels(*least, *most)))
            .expect("written");
    }
    place
}

#[test]
fn each_integer_type_is_exact_or_refused() {
    let place = place();
    for (name, code, _, least, most) in TYPES {
        let expected = labels(*least, *most);
        for how in ["NearestNeighbor", "GenericLabel", "MultiLabel[0.1]", "GenericLabel[NearestNeighbor]"] {
            for float in ["", "--float 1"] {
                let words = format!("as antsApplyTransforms -d 3 -i {name}.nii -r {name}.nii -n {how} {float}");
                place.succeed(&format!("{words} -o o.nii"));
                let (found_code, found) = values(&place.read("o.nii"));
                assert_eq!(found, expected, "{words}");
                assert!([16, 64, *code].contains(&found_code), "{words}: {found_code}");
                place.succeed(&format!("{words} -t shift.txt -o o.nii"));
                assert_eq!(values(&place.read("o.nii")).1, moved(&expected), "{words}, moved");
            }
        }
        for how in ["nearest", "generic-label"] {
            let words = format!("apply -i {name}.nii -r {name}.nii -t shift.txt -n {how} -o o.nii");
            place.succeed(&words);
            assert_eq!(values(&place.read("o.nii")).1, moved(&expected), "{words}");
        }
        let narrow = place.run(&format!(
            "as antsApplyTransforms -d 3 -i {name}.nii -r {name}.nii -n NearestNeighbor -u char -o {name}_narrow.nii"
        ));
        if *name == "i8" {
            assert_eq!(narrow.code, Some(0), "{}", narrow.stderr);
        } else {
            assert_eq!(narrow.code, Some(2), "{name}: {}", narrow.stderr);
            assert!(narrow.stderr.contains("cannot be stored exactly as int8"), "{}", narrow.stderr);
            assert!(!place.path(&format!("{name}_narrow.nii")).exists());
        }
    }
}
