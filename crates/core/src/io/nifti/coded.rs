//! Volumes of whole numbers of up to 64 bits as indices into a table of their distinct values. Indices are exact in
//! single precision, so code for images in single precision can move them without a change.

use std::collections::HashMap;

use super::super::ErrorKind;
use crate::{Grid, Volume};

/// Largest number of distinct values: single precision represents all whole numbers below.
const MOST: usize = 1 << 24;
/// The bit of a key that orders negative numbers before positive numbers.
const SIGN: u64 = 1 << 63;

/// A volume of whole numbers. The table is sorted, so that indices compare as the values do.
#[derive(Debug, Clone, PartialEq)]
pub struct Coded {
    /// For each voxel the index of its value in `table`.
    pub indices: Volume,
    /// The distinct values in increasing order.
    pub table: Vec<i128>,
}

/// The voxels of a volume, exact where they are whole numbers.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// All voxels are whole numbers of up to 64 bits.
    Whole(Coded),
    /// Some voxels are not whole numbers.
    Real(Volume),
}

/// Whole numbers of one sign convention as unsigned keys in the same order.
pub(super) struct Keys {
    pub keys: Vec<u64>,
    pub signed: bool,
}

impl Keys {
    /// The key of a signed number.
    pub fn of_signed(value: i64) -> u64 {
        value.cast_unsigned() ^ SIGN
    }

    fn value(&self, key: u64) -> i128 {
        if self.signed { i128::from((key ^ SIGN).cast_signed()) } else { i128::from(key) }
    }

    /// Makes the volume. The table also gets the value `also`, which no voxel must have.
    pub fn coded(self, grid: Grid, also: i128) -> Result<Coded, ErrorKind> {
        let mut places: HashMap<u64, f32> = HashMap::new();
        let mut last = None;
        for &key in &self.keys {
            if last != Some(key) && places.len() <= MOST {
                places.insert(key, 0.0);
                last = Some(key);
            }
        }
        let mut table: Vec<i128> = places.keys().map(|key| self.value(*key)).chain([also]).collect();
        table.sort_unstable();
        table.dedup();
        if table.len() > MOST {
            return Err(ErrorKind::ManyValues { most: MOST });
        }
        for (key, place) in &mut places {
            // The search finds the value, since the table was made from the keys.
            *place = table.binary_search(&self.value(*key)).unwrap_or(0) as f32;
        }
        let mut last = (None, 0.0);
        let index = |key: &u64| {
            if last.0 != Some(*key) {
                last = (Some(*key), places.get(key).copied().unwrap_or(0.0));
            }
            last.1
        };
        let voxels = self.keys.iter().map(index).collect();
        Ok(Coded { indices: Volume { grid, voxels }, table })
    }
}

impl Coded {
    /// The index of a value in the table; 0 if the table lacks the value.
    pub fn index(&self, value: i128) -> f32 {
        self.table.binary_search(&value).unwrap_or(0) as f32
    }
}

/// The keys of real numbers; `None` if a number is not whole or has more than 64 bits with its sign.
pub(super) fn keys_of_real(values: &[f64]) -> Option<Keys> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    let key = |value: &f64| {
        (value.fract() == 0.0 && (-LIMIT..LIMIT).contains(value)).then(|| Keys::of_signed(*value as i64))
    };
    Some(Keys { keys: values.iter().map(key).collect::<Option<_>>()?, signed: true })
}
