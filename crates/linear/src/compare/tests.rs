//! Neighbours of a candidate.

use super::*;

#[test]
fn neighbours_are_turned_and_unless_rigid_scaled() {
    let affine = neighbours(&IDENTITY, Dof::Affine12);
    assert_eq!(affine.len(), 10);
    assert_eq!(affine[9][SCALE..SKEW], [1.2; 3]);
    let rigid = neighbours(&IDENTITY, Dof::Rigid6);
    assert_eq!(rigid.len(), 6);
    assert!(rigid.iter().all(|neighbour| neighbour[SCALE..] == IDENTITY[SCALE..]));
}
