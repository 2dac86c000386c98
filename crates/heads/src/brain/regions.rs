//! Connected regions of a set of voxels.

/// Leaves the largest region that is connected through faces.
pub fn keep_largest(shape: [usize; 3], set: &mut [bool]) {
    let mut region = vec![0_u32; set.len()];
    let (mut number, mut best) = (0, (0, 0));
    let mut stack = Vec::new();
    for first in 0..set.len() {
        if !set[first] || region[first] != 0 {
            continue;
        }
        number += 1;
        let mut size = 0;
        region[first] = number;
        stack.push(first);
        while let Some(at) = stack.pop() {
            size += 1;
            neighbours(shape, at, |next| {
                if set[next] && region[next] == 0 {
                    region[next] = number;
                    stack.push(next);
                }
            });
        }
        if size > best.0 {
            best = (size, number);
        }
    }
    set.iter_mut().zip(region).for_each(|(inside, region)| *inside = region == best.1 && best.0 > 0);
}

/// Adds what is not connected to the border of the volume through faces.
pub fn fill_holes(shape: [usize; 3], set: &mut [bool]) {
    let mut outside = vec![false; set.len()];
    let mut stack = Vec::new();
    for at in 0..set.len() {
        let place = [at % shape[0], at / shape[0] % shape[1], at / shape[0] / shape[1]];
        if !set[at] && place.iter().zip(shape).any(|(n, size)| *n == 0 || n + 1 == size) {
            outside[at] = true;
            stack.push(at);
        }
    }
    while let Some(at) = stack.pop() {
        neighbours(shape, at, |next| {
            if !set[next] && !outside[next] {
                outside[next] = true;
                stack.push(next);
            }
        });
    }
    set.iter_mut().zip(outside).for_each(|(inside, outside)| *inside = !outside);
}

fn neighbours(shape: [usize; 3], at: usize, mut visit: impl FnMut(usize)) {
    let place = [at % shape[0], at / shape[0] % shape[1], at / shape[0] / shape[1]];
    let strides = [1, shape[0], shape[0] * shape[1]];
    for axis in 0..3 {
        if place[axis] > 0 {
            visit(at - strides[axis]);
        }
        if place[axis] + 1 < shape[axis] {
            visit(at + strides[axis]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_region_stays_and_its_holes_are_filled() {
        let shape = [9, 7, 7];
        let at = |x: usize, y: usize, z: usize| (z * 7 + y) * 9 + x;
        let mut set = vec![false; 9 * 7 * 7];
        for (z, y, x) in (1..6).flat_map(|z| (1..6).flat_map(move |y| (1..6).map(move |x| (z, y, x)))) {
            set[at(x, y, z)] = true;
        }
        set[at(3, 3, 3)] = false;
        // A voxel that touches at an edge alone.
        set[at(6, 6, 3)] = true;
        let mut found = set.clone();
        keep_largest(shape, &mut found);
        assert_eq!(found.iter().filter(|inside| **inside).count(), 124);
        assert!(!found[at(6, 6, 3)] && !found[at(3, 3, 3)]);
        fill_holes(shape, &mut found);
        assert_eq!(found.iter().filter(|inside| **inside).count(), 125);
        let mut none = vec![false; 9 * 7 * 7];
        keep_largest(shape, &mut none);
        assert!(none.iter().all(|inside| !inside));
    }
}
