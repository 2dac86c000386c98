//! The shifts of the local search, which corrects small errors of the registration.

/// All shifts of at most `radius` voxels along each axis, sorted by length, shortest first. Of shifts with the same
/// length, the one with the smallest component along the third axis comes first, then along the second.
pub fn shifts(radius: usize) -> Vec<[i32; 3]> {
    let radius = radius as i32;
    let range = || -radius..=radius;
    let mut shifts: Vec<[i32; 3]> =
        range().flat_map(|z| range().flat_map(move |y| range().map(move |x| [x, y, z]))).collect();
    shifts.sort_by_key(|shift| shift.iter().map(|along| along * along).sum::<i32>());
    shifts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifts_come_nearest_first_and_each_once() {
        let shifts = shifts(3);
        assert_eq!(shifts.len(), 343);
        assert_eq!(shifts[0], [0; 3]);
        assert!(shifts[1..7].iter().all(|shift| shift.iter().map(|along| along.abs()).sum::<i32>() == 1));
        let mut sorted = shifts.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), 343);
    }
}
