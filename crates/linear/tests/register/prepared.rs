//! Tests of a prepared fixed image that is used for many registrations.

use antsreg_core::Volume;
use antsreg_kernels::Cpu;
use antsreg_linear::{AngleSearch, Dof, Fixed, Options, Search, Start, register};

use crate::object::{affine, fixed, fixed_grid, sampled};

#[test]
fn gives_the_same_bits_as_registrations_of_their_own() {
    let angles = AngleSearch { range_degrees: [20.0; 3], ..AngleSearch::default() };
    let options = Options { dof: Dof::Rigid6, search: Search::Angles(angles), ..Options::default() };
    let fixed = fixed();
    let weight =
        Volume { voxels: fixed.voxels.iter().map(|value| (value / 1000.0).min(1.0)).collect(), ..fixed.clone() };
    let prepared = Fixed::new(&Cpu, &fixed, Some(&weight), &options).expect("it is prepared");
    let truth = affine([7.0, -5.0, 9.0], [1.0; 3], [31.0, -42.0, 17.0]);
    let turned = sampled(fixed_grid(), &affine([3.0, 11.0, 0.0], [1.1, 1.0, 0.9], [4.0, 2.0, 1.0]));
    // A second moving image, with larger voxels than the first, needs other resolution levels.
    let thick = sampled(antsreg_core::Grid { shape: [17, 23, 18], spacing: [9.0; 3].into(), ..fixed_grid() }, &truth);
    for (moving, start) in [(&turned, Start::CentreOfMass), (&thick, Start::Headers), (&turned, Start::CentreOfMass)]
    {
        let found = prepared.register(&Cpu, moving, None, start, &mut ()).expect("a registration");
        let alone =
            register(&Cpu, &fixed, moving, Some(&weight), None, &options, start, &mut ()).expect("a registration");
        assert_eq!(found, alone);
    }
}

#[test]
fn keeps_its_options() {
    let options = Options { dof: Dof::Similarity7, bins: 77, ..Options::default() };
    assert_eq!(Fixed::new(&Cpu, &fixed(), None, &options).expect("it is prepared").options(), &options);
}
