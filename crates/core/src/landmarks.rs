//! Distances of landmarks: the target registration error.

use nalgebra::Point3;

use crate::io::points::PointTable;

/// Distances of landmarks of two tables from each other.
#[derive(Debug, Clone, PartialEq)]
pub struct LandmarkErrors {
    /// Name of each compared landmark, or its row from 1 if the tables have no names; with its distance, mm.
    pub each: Vec<(String, f64)>,
    /// Mean distance, mm: the target registration error (TRE).
    pub mean: f64,
    /// Median distance, mm.
    pub median: f64,
    /// Largest distance, mm.
    pub largest: f64,
}

/// Why landmarks of two tables cannot be compared.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LandmarkError {
    /// Tables without names have different numbers of points.
    #[error("the tables have no column of names, and {} and {} points: expected as many", .0[0], .0[1])]
    Counts([usize; 2]),
    /// A name stands twice in one table.
    #[error("the landmark {0:?} stands twice in one table")]
    Twice(String),
    /// The tables share no landmark.
    #[error("the tables have no landmark in common")]
    Nothing,
}

impl LandmarkErrors {
    /// Distances of the points of `found` from those of `expected`, both in one space, RAS mm. Points are compared by
    /// name if both tables have names, in the order of `found`; points whose name only one table has are left out.
    /// Without names, they are compared row by row.
    ///
    /// # Errors
    /// Names that stand twice; different numbers of points without names; no common point.
    pub fn between(found: &PointTable, expected: &PointTable) -> Result<LandmarkErrors, LandmarkError> {
        let pairs: Vec<(String, [Point3<f64>; 2])> = match (found.names(), expected.names()) {
            (Some(first), Some(second)) => {
                for names in [&first, &second] {
                    let twice = |(n, name): &(usize, &&str)| names[..*n].contains(name);
                    if let Some((_, name)) = names.iter().enumerate().find(twice) {
                        return Err(LandmarkError::Twice((*name).into()));
                    }
                }
                let of = |(n, name): (usize, &&str)| {
                    let other = second.iter().position(|other| other == name)?;
                    Some(((*name).to_owned(), [found.points()[n], expected.points()[other]]))
                };
                first.iter().enumerate().filter_map(of).collect()
            }
            _ => {
                let counts = [found, expected].map(|table| table.points().len());
                if counts[0] != counts[1] {
                    return Err(LandmarkError::Counts(counts));
                }
                let both = found.points().iter().zip(expected.points());
                both.enumerate().map(|(n, (a, b))| ((n + 1).to_string(), [*a, *b])).collect()
            }
        };
        let each: Vec<(String, f64)> = pairs.into_iter().map(|(name, [a, b])| (name, (a - b).norm())).collect();
        let mut sorted: Vec<f64> = each.iter().map(|(_, distance)| *distance).collect();
        sorted.sort_by(f64::total_cmp);
        let (Some(largest), count) = (sorted.last().copied(), sorted.len()) else {
            return Err(LandmarkError::Nothing);
        };
        let median = 0.5 * (sorted[(count - 1) / 2] + sorted[count / 2]);
        Ok(LandmarkErrors { mean: sorted.iter().sum::<f64>() / count as f64, median, largest, each })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> PointTable {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("points.csv");
        std::fs::write(&path, text).expect("a file");
        PointTable::read(&path).expect("a table")
    }

    #[test]
    fn landmarks_are_compared_by_name_or_by_row() {
        let first = table("x,y,z,label\n0,0,0,a\n1,2,3,b\n9,9,9,only\n");
        let second = table("label,x,y,z\nb,1,2,7\na,3,0,0\n");
        let found = LandmarkErrors::between(&first, &second).expect("landmarks");
        assert_eq!(found.each, [("a".into(), 3.0), ("b".into(), 4.0)]);
        assert_eq!((found.mean, found.median, found.largest), (3.5, 3.5, 4.0));
        let rows = table("x,y,z\n1,0,0\n0,2,0\n");
        let found = LandmarkErrors::between(&rows, &table("x,y,z\n0,0,0\n0,0,0\n")).expect("landmarks");
        assert_eq!(found.each, [("1".into(), 1.0), ("2".into(), 2.0)]);
        let one = table("x,y,z\n0,0,0\n");
        assert_eq!(LandmarkErrors::between(&rows, &one), Err(LandmarkError::Counts([2, 1])));
        let twice = table("x,y,z,name\n0,0,0,a\n0,0,0,a\n");
        assert_eq!(LandmarkErrors::between(&first, &twice), Err(LandmarkError::Twice("a".into())));
        let other = table("x,y,z,name\n0,0,0,c\n");
        assert_eq!(LandmarkErrors::between(&first, &other), Err(LandmarkError::Nothing));
    }
}
