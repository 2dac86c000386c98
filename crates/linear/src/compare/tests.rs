//! Neighbours of a candidate.

use antsreg_core::AffineTransform;
use nalgebra::{Matrix3, Point3};

use super::*;
use crate::parameters::{SCALE, SKEW};

fn frame(slices: bool) -> Frame {
    Frame::new(&AffineTransform::identity(), Matrix3::identity(), Point3::origin(), slices).expect("a frame")
}

#[test]
fn neighbours_are_turned_and_unless_rigid_scaled() {
    let affine = neighbours(&frame(false), &IDENTITY, Dof::Affine12);
    assert_eq!(affine.len(), 10);
    assert_eq!(affine[9][SCALE..SKEW], [1.2; 3]);
    let rigid = neighbours(&frame(false), &IDENTITY, Dof::Rigid6);
    assert_eq!(rigid.len(), 6);
    assert!(rigid.iter().all(|neighbour| neighbour[SCALE..] == IDENTITY[SCALE..]));
}

#[test]
fn slices_have_neighbours_in_their_plane() {
    let affine = neighbours(&frame(true), &IDENTITY, Dof::Affine12);
    assert_eq!(affine.len(), 6);
    assert!(affine.iter().all(|neighbour| neighbour[..2] == [0.0; 2] && neighbour[8] == 1.0));
    assert_eq!(affine[5][SCALE..SKEW], [1.2, 1.2, 1.0]);
}
