//! Tests of the list of resolution levels that a search runs through.

use super::*;

#[test]
fn levels_end_at_the_voxels_or_where_the_options_end_them() {
    assert_eq!(levels(1.0, 1.0), [8.0, 4.0, 2.0, 1.0]);
    assert_eq!(levels(1.0001, 1.0), [8.0, 4.0, 2.0, 1.0]);
    assert_eq!(levels(0.5, 1.0), [8.0, 4.0, 2.0, 1.0]);
    assert_eq!(levels(1.0, 2.0), [8.0, 4.0, 2.0]);
    assert_eq!(levels(1.2, 1.0), [8.0, 4.0, 2.0]);
    assert_eq!(levels(3.0, 1.0), [8.0, 4.0]);
    assert_eq!(levels(9.5, 1.0), [10.0]);
}
