//! Linear maps along one axis of a field.

use crate::Error;

/// A linear map along one axis: each result is a weighted sum of successive values.
#[derive(Debug, Clone, PartialEq)]
pub struct AxisMap {
    first: Vec<u32>,
    weights: Vec<f32>,
    length: usize,
    width: usize,
}

impl AxisMap {
    /// Makes a map from `length` values. Each row has the number of its first value, and the weights of the values from
    /// there on.
    ///
    /// # Errors
    /// [`Error::AxisMap`]: no value or no row, or a row beyond the values.
    pub fn new(length: usize, rows: &[(usize, Vec<f64>)]) -> Result<AxisMap, Error> {
        let width = rows.iter().map(|(_, weights)| weights.len()).max().unwrap_or(0);
        if rows.is_empty() || length == 0 || rows.iter().any(|(first, weights)| first + weights.len() > length) {
            return Err(Error::AxisMap { rows: rows.len(), length });
        }
        // All rows have the same number of weights. A row near the end begins earlier instead.
        let mut map = AxisMap { first: Vec::new(), weights: vec![0.0; rows.len() * width], length, width };
        for ((first, weights), padded) in rows.iter().zip(map.weights.chunks_mut(width.max(1))) {
            let begin = (*first).min(length - width);
            map.first.push(begin as u32);
            for (padded, weight) in padded[first - begin..].iter_mut().zip(weights) {
                *padded = *weight as f32;
            }
        }
        Ok(map)
    }

    /// Number of values along the axis before the map.
    pub fn values(&self) -> usize {
        self.length
    }

    /// Number of values along the axis after the map.
    pub fn results(&self) -> usize {
        self.first.len()
    }

    /// Number of weights of each result.
    pub fn width(&self) -> usize {
        self.width
    }

    /// For each result, the number of its first value.
    pub(crate) fn first(&self) -> &[u32] {
        &self.first
    }

    /// The weights of all results, one result after the other.
    pub(crate) fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// The shape of a field after the map along an axis.
    pub fn mapped(&self, mut shape: [usize; 3], axis: usize) -> [usize; 3] {
        shape[axis] = self.results();
        shape
    }

    /// Checks that the map fits a field and the field for the results.
    pub(crate) fn check(&self, axis: usize, field: [usize; 3], out: [usize; 3]) -> Result<(), Error> {
        match field.get(axis) {
            Some(values) if *values == self.length => Error::check_shape("map_axis", self.mapped(field, axis), out),
            _ => Err(Error::AxisMap { rows: self.results(), length: self.length }),
        }
    }
}
