//! Records of MATLAB 4 files, in which ITK stores binary transforms.

use super::super::{ErrorKind, foreign};
use super::stored::Stored;

/// Parses the two records (named matrices of MATLAB 4) of a transform file of ITK. The first record has the name of the
/// kind of transform and holds the parameters; the second record holds the fixed parameters.
pub(super) fn parse(bytes: &[u8]) -> Result<Stored, ErrorKind> {
    let mut rest = bytes;
    let (name, parameters) = record(&mut rest, bytes)?;
    let (_, fixed_parameters) = if rest.is_empty() { (String::new(), Vec::new()) } else { record(&mut rest, bytes)? };
    Ok(Stored { name, parameters, fixed_parameters })
}

/// Formats the transform as two records (named matrices) of MATLAB 4, little-endian and in double precision: the
/// parameters, then the fixed parameters.
pub(super) fn format(stored: &Stored) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, numbers) in [(stored.name.as_str(), &stored.parameters), ("fixed", &stored.fixed_parameters)] {
        for value in [0, numbers.len(), 1, 0, name.len() + 1] {
            bytes.extend_from_slice(&(value as i32).to_le_bytes());
        }
        bytes.extend_from_slice(name.as_bytes());
        bytes.push(0);
        bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    }
    bytes
}

fn record(rest: &mut &[u8], whole: &[u8]) -> Result<(String, Vec<f64>), ErrorKind> {
    let mut take = |count: usize| match rest.split_at_checked(count) {
        Some((taken, left)) => {
            *rest = left;
            Ok(taken)
        }
        None => Err(ErrorKind::Truncated {
            expected: (whole.len() - rest.len()).saturating_add(count) as u64,
            found: whole.len() as u64,
            unpacked: false,
        }),
    };
    let unknown = |found: String| ErrorKind::Format {
        expected: "an ITK transform (MATLAB 4 or text)",
        found: foreign::name(whole).map_or(found, String::from),
    };
    let head = take(20)?;
    let number = |big: bool, index: usize| {
        let bytes = std::array::from_fn(|byte| head[4 * index + byte]);
        if big { i32::from_be_bytes(bytes) } else { i32::from_le_bytes(bytes) }
    };
    // The type number of a record is 0 or 10 in little-endian files, 1000 or 1010 in big-endian files. A number that is
    // read in the wrong byte order has none of these values.
    let (big, single) = match (number(false, 0), number(true, 0)) {
        (0, _) => (false, false),
        (10, _) => (false, true),
        (_, 1000) => (true, false),
        (_, 1010) => (true, true),
        _ => return Err(unknown(format!("first bytes \"{}\"", head.escape_ascii()))),
    };
    let [rows, columns, imaginary, name_length] = [1, 2, 3, 4].map(|index| i64::from(number(big, index)));
    let count = match (rows, columns, imaginary) {
        (0..=0xffff, 0..=0xffff, 0) => (rows * columns) as usize,
        _ => return Err(unknown(format!("a record of {rows} × {columns} numbers"))),
    };
    if !(1..=256).contains(&name_length) {
        return Err(unknown(format!("a name of {name_length} bytes")));
    }
    let name = take(name_length as usize)?;
    let name = String::from_utf8_lossy(name).trim_end_matches('\0').to_string();
    let size = if single { 4 } else { 8 };
    let data = take(count * size)?;
    let numbers = data
        .chunks_exact(size)
        .map(|bytes| {
            if single {
                let bytes = std::array::from_fn(|index| bytes[index]);
                f64::from(if big { f32::from_be_bytes(bytes) } else { f32::from_le_bytes(bytes) })
            } else {
                let bytes = std::array::from_fn(|index| bytes[index]);
                if big { f64::from_be_bytes(bytes) } else { f64::from_le_bytes(bytes) }
            }
        })
        .collect();
    Ok((name, numbers))
}
