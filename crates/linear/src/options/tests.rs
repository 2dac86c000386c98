//! Tests of the options: reading and writing as JSON, names, and allowed ranges.

use antsreg_core::AffineTransform;
use nalgebra::{Matrix3, Vector3};
use proptest::prelude::*;
use serde::de::DeserializeOwned;

use super::*;
use crate::{BoundaryKind, Outcome, Start};

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("JSON")
}

fn assert_comes_back<T: Serialize + DeserializeOwned + PartialEq + fmt::Debug>(value: &T) {
    let text = json(value);
    assert_eq!(&serde_json::from_str::<T>(&text).expect(&text), value);
}

fn unusual() -> Options {
    Options {
        dof: Dof::Translation3,
        search: Search::Angles(AngleSearch {
            range_degrees: [10.1, 20.2, 33.3],
            coarse_step_degrees: 17.3,
            fine_step_degrees: 1.7,
            principal_axes: false,
        }),
        optimiser: Optimiser::Powell,
        cost: Cost::NormalisedMutualInformation,
        histogram: JointSampling::Trilinear,
        bins: 48,
        finest_mm: 2.0,
        robust_shares: [0.013, 0.987],
        boundary: Some(Boundary {
            kind: BoundaryKind::Unsigned,
            slope: 0.31,
            from_start: true,
            ..Boundary::default()
        }),
    }
}

fn transform() -> AffineTransform {
    AffineTransform {
        matrix: Matrix3::new(1.1, 0.2, 0.1 + 0.2, -0.1, 0.9, 1.0 / 3.0, 0.05, -2e-17, 1.2),
        translation: Vector3::new(0.1 * 3.0, -40.0 / 7.0, 5e-9),
    }
}

#[test]
fn options_come_back_from_json() {
    for options in [Options::default(), unusual(), Options { search: Search::None, ..unusual() }] {
        assert_comes_back(&options);
    }
    for start in [Start::CentreOfMass, Start::Headers, Start::Transform(transform())] {
        assert_comes_back(&start);
    }
    let levels = vec![(8.0, 0.25), (4.0, 1.0 / 3.0)];
    assert_comes_back(&Outcome {
        transform: transform(),
        start: transform(),
        cost: 1.0 / 3.0,
        levels,
        exchanged: true,
        boundary: None,
    });
}

#[test]
fn fields_left_out_have_their_defaults() {
    assert_eq!(serde_json::from_str::<Options>("{}").expect("options"), Options::default());
    let some = r#"{"dof": "rigid", "search": {"angles": {"fine_step_degrees": 9.0}}, "cost": "mi"}"#;
    let angles = AngleSearch { fine_step_degrees: 9.0, ..AngleSearch::default() };
    let expected = Options {
        dof: Dof::Rigid6,
        search: Search::Angles(angles),
        cost: Cost::MutualInformation,
        ..Options::default()
    };
    assert_eq!(serde_json::from_str::<Options>(some).expect("options"), expected);
}

#[test]
fn unknown_fields_are_refused() {
    for text in [r#"{"start": "headers"}"#, r#"{"search": {"angles": {"step": 9.0}}}"#, r#"{"cost": "xyz"}"#] {
        let refused = serde_json::from_str::<Options>(text);
        assert!(refused.is_err(), "{text} gave {refused:?}");
    }
    let error = serde_json::from_str::<Options>(r#"{"bin": 3}"#).expect_err("a refusal").to_string();
    assert!(error.contains("unknown field `bin`"), "{error}");
}

#[test]
fn choices_have_one_name() {
    assert_eq!(json(&Dof::ALL), r#"["translation","rigid","similarity","scales","affine"]"#);
    assert_eq!(json(&Cost::ALL), r#"["cr","mi","nmi","ncc","lsq"]"#);
    let optimisers = [Optimiser::Flirt, Optimiser::Powell, Optimiser::Descent];
    assert_eq!(json(&optimisers), r#"["flirt","powell","descent"]"#);
    assert_eq!(optimisers.map(|optimiser| optimiser.to_string()), ["flirt", "powell", "descent"]);
    assert_eq!(Cost::ALL.map(|cost| cost.to_string()), ["cr", "mi", "nmi", "ncc", "lsq"]);
    let kinds = [BoundaryKind::Signed, BoundaryKind::Unsigned, BoundaryKind::Absolute];
    assert_eq!(kinds.map(|kind| kind.to_string()), ["signed", "unsigned", "absolute"]);
    assert_eq!(json(&[Start::CentreOfMass, Start::Headers]), r#"["centre-of-mass","headers"]"#);
}

#[cfg(feature = "clap")]
#[test]
fn choices_are_typed_by_that_name() {
    use clap::ValueEnum;

    fn assert_typed<T: ValueEnum + fmt::Display + PartialEq + fmt::Debug>(help: &[&str]) {
        assert_eq!(T::value_variants().len(), help.len());
        for (choice, help) in T::value_variants().iter().zip(help) {
            assert_eq!(T::from_str(&choice.to_string(), false).as_ref(), Ok(choice));
            let value = choice.to_possible_value().expect("a visible choice");
            assert_eq!(value.get_help().expect("a help text").to_string(), *help);
        }
    }

    assert_typed::<Optimiser>(&[
        "Line searches along one parameter after the other, then Newton steps",
        "Powell's method with a limited resolution of the parameters",
        "Steepest descent",
    ]);
    assert_typed::<Cost>(&[
        "Correlation ratio, for images of one modality or of two",
        "Mutual information: any two modalities",
        "Normalised mutual information: any two modalities; fields of view may differ",
        "Normalised correlation: one modality",
        "Least squares: one modality, one scale of intensity",
    ]);
}

#[test]
fn each_value_is_checked_against_its_range() {
    let angles = |change: fn(&mut AngleSearch)| {
        let mut angles = AngleSearch::default();
        change(&mut angles);
        Options { search: Search::Angles(angles), ..Options::default() }
    };
    let options = |change: fn(&mut Options)| {
        let mut options = Options::default();
        change(&mut options);
        options
    };
    let refused = |options: Options| options.check().expect_err("a refusal").to_string();
    assert_eq!(refused(options(|options| options.bins = 1)), "number of intensity bins: 1, expected 2 to 1024");
    assert_eq!(refused(options(|options| options.bins = 1025)), "number of intensity bins: 1025, expected 2 to 1024");
    assert_eq!(
        refused(options(|options| options.finest_mm = 3.0)),
        "finest resolution level: 3 mm, expected 8, 4, 2 or 1 mm"
    );
    assert_eq!(
        refused(angles(|angles| angles.coarse_step_degrees = 0.5)),
        "step between the rotation angles of the search: 0.5°, expected 1 to 180"
    );
    assert_eq!(
        refused(angles(|angles| angles.fine_step_degrees = f64::NAN)),
        "step between the rotation angles of the search: NaN°, expected 1 to 180"
    );
    assert_eq!(
        refused(angles(|angles| angles.range_degrees[1] = 181.0)),
        "largest rotation angles of the search: [90.0, 181.0, 90.0]°, expected 0 to 180 for each axis"
    );
    assert_eq!(
        refused(options(|options| options.robust_shares = [0.5, 0.5])),
        "robust range of intensities: [0.5, 0.5], expected two shares of the voxels with 0 ≤ low < high ≤ 1"
    );
    for shares in [[-0.1, 0.9], [0.0, 1.1], [f64::NAN, 1.0], [0.0, f64::NAN], [0.9, 0.1]] {
        let options = Options { robust_shares: shares, ..Options::default() };
        assert!(matches!(options.check(), Err(Error::RobustShares(_))), "{shares:?}");
    }
    for allowed in [
        Options::default(),
        unusual(),
        options(|options| (options.bins, options.finest_mm) = (2, 8.0)),
        options(|options| (options.bins, options.robust_shares) = (1024, [0.0, 1.0])),
        angles(|angles| (angles.range_degrees, angles.fine_step_degrees) = ([0.0, 180.0, 90.0], 180.0)),
    ] {
        allowed.check().expect("allowed options");
    }
}

#[test]
fn models_have_their_degrees_of_freedom() {
    assert_eq!(Dof::ALL.map(|dof| dof.number(false)), [3, 6, 7, 9, 12]);
    assert_eq!(Dof::ALL.map(|dof| dof.number(true)), [2, 3, 4, 5, 6]);
}

#[test]
fn another_cost_comes_with_its_own_number_of_bins() {
    let options = Options { bins: 100, finest_mm: 2.0, ..Options::default() };
    assert_eq!(options.clone().with_cost(Cost::CorrelationRatio), options);
    let other = options.clone().with_cost(Cost::MutualInformation);
    assert_eq!(other, Options { cost: Cost::MutualInformation, bins: 64, ..options });
    assert_eq!(
        Options::of(Cost::MutualInformation),
        Options { cost: Cost::MutualInformation, bins: 64, ..Options::default() }
    );
    assert_eq!(AngleSearch::of_slices().range_degrees, [0.0, 0.0, 180.0]);
}

proptest! {
    #[test]
    fn transforms_keep_their_bits(numbers in prop::array::uniform12(-300.0..300.0f64)) {
        let transform = AffineTransform {
            matrix: Matrix3::from_column_slice(&numbers[..9]),
            translation: Vector3::from_column_slice(&numbers[9..]),
        };
        assert_comes_back(&transform);
    }
}
