use super::*;

fn json(options: &Options) -> String {
    serde_json::to_string(options).expect("JSON")
}

#[test]
fn displacements_are_rounded_to_a_thousandth_of_a_voxel() {
    let halvings =
        |spacing: [f64; 3]| (Options::STEP_MM / Options::step_mm(&Grid::axis_aligned([9; 3], spacing))).log2();
    for (spacing, expected) in [(2.0, -1.0), (0.75, 0.0), (0.7, 1.0), (0.5, 1.0), (0.25, 2.0), (0.001, 10.0)] {
        assert_eq!(halvings([3.0, spacing, 3.0]), expected, "{spacing}");
    }
    let slice = Grid::axis_aligned([9, 9, 1], [1.0, 1.0, 0.1]);
    assert_eq!(Options::step_mm(&slice), Options::STEP_MM, "the third axis of a slice does not count");
}

#[test]
fn options_come_back_from_json() {
    let channel = |metric, weight| Channel { metric, weight };
    let changed = Options {
        channels: vec![channel(Metric::Mattes, 0.3), channel(Metric::Cc, 1.0)],
        derivative: CcDerivative::Centre,
        // A number without a short decimal form. JSON stores the shortest decimal text from which it can be read
        // again, and a parser must round correctly to get the same number.
        noise: 0.1 + 0.2,
        gradient_step: 1.0 / 49.0 * 49.0 / 3.0,
        restrict: [1.0, 0.0, 0.5],
        update_mesh: Some(Mesh::KnotsMm(26.5)),
        total_mesh: Some(Mesh::Elements([7, 8, 1])),
        winsorise: None,
        match_histograms: true,
        sigmas_mm: Some(vec![4.0, 2.0, 1.0, 0.1]),
        ..Options::default()
    };
    for options in [Options::default(), changed] {
        assert_eq!(serde_json::from_str::<Options>(&json(&options)).expect("options"), options);
    }
}

#[test]
fn what_is_not_given_has_its_default_and_what_is_unknown_is_refused() {
    let given = serde_json::from_str::<Options>(r#"{"radius": 4, "channels": [{"metric": "mi"}]}"#);
    let channels = vec![Channel { metric: Metric::Mattes, weight: 1.0 }];
    assert_eq!(given.expect("options"), Options { radius: 4, channels, ..Options::default() });
    for unknown in [r#"{"radios": 4}"#, r#"{"channels": [{"wait": 1}]}"#, r#"{"channels": [{"metric": "ncc"}]}"#] {
        assert!(serde_json::from_str::<Options>(unknown).is_err(), "{unknown}");
    }
}

#[test]
fn sigmas_in_mm_are_divided_by_the_spacing_and_slices_are_not_smoothed_across() {
    let options = Options { sigmas_mm: Some(vec![4.0, 2.0]), ..Options::default() };
    let grid = |depth| Grid::axis_aligned([9, 9, depth], [0.5, 1.0, 4.0]);
    assert_eq!(options.sigma_voxels(0, &grid(9)), [8.0, 4.0, 1.0]);
    assert_eq!(options.sigma_voxels(1, &grid(1)), [4.0, 2.0, 0.0]);
    assert_eq!(Options::default().sigma_voxels(1, &grid(9)), [2.0; 3]);
}

#[test]
fn edges_are_channels_beside_those_of_cross_correlation() {
    let channel = |metric, weight| Channel { metric, weight };
    let channels = vec![channel(Metric::Cc, 3.0), channel(Metric::Mattes, 2.0), channel(Metric::Cc, 0.5)];
    let options = |edge_weight| Options { channels: channels.clone(), edge_weight, ..Options::default() };
    assert_eq!(options(0.0).channels_with_edges(), channels);
    let edged = options(0.25).channels_with_edges();
    assert_eq!(edged[..3], channels);
    assert_eq!(edged[3..], [channel(Metric::Cc, 0.75), channel(Metric::Cc, 0.125)]);
}

/// A test case: a change that makes valid options invalid, and a text that the error must contain. The text is
/// empty if no error is expected.
type Case = (fn(&mut Options), &'static str);

fn options() -> Options {
    let channel = |metric| Channel { metric, weight: 1.0 };
    Options { channels: vec![channel(Metric::Cc), channel(Metric::Mattes)], ..Options::default() }
}

#[test]
fn what_is_within_its_range_is_taken() {
    assert!(Options::default().check().is_ok());
    let least: [fn(&mut Options); 18] = [
        |o| o.channels[1].weight = 1e-3,
        |o| o.gradient_step = 10.0,
        |o| o.update_variance = 0.0,
        |o| o.total_variance = 1e4,
        |o| o.update_mesh = Some(Mesh::KnotsMm(0.1)),
        |o| o.total_mesh = Some(Mesh::Elements([1, 4096, 1])),
        |o| o.radius = 32,
        |o| o.noise = 0.0,
        |o| o.edge_weight = 1e3,
        |o| o.boundary_contrast = 0.0,
        |o| o.boundary_contrast = 1.0,
        |o| o.bins = 256,
        |o| o.largest_residual_voxels = 0.01,
        |o| o.restrict = [0.0, 0.0, 0.1],
        |o| o.levels[0] = Level { shrink: 1, sigma_voxels: 100.0, iterations: 0, reinvert_every: 1 },
        |o| o.convergence = Convergence { window: 2, threshold: 0.0 },
        |o| o.winsorise = None,
        |o| o.winsorise = Some((0.0, 1.0)),
    ];
    for change in least {
        let mut options = options();
        change(&mut options);
        assert!(options.check().is_ok(), "{:?}", options.check());
    }
}

#[test]
fn what_is_beyond_its_range_is_named() {
    let cases: [Case; 43] = [
        (|o| o.channels[1].weight = 0.0, "weight of channel 2: expected a number from 0.001 to 1000, found 0"),
        (|o| o.channels[0].weight = f64::INFINITY, "weight of channel 1"),
        (|o| o.channels.clear(), "channels: expected at least one, found none"),
        (|o| o.gradient_step = 0.0, "gradient step, voxels: expected a number above 0, at most 10, found 0"),
        (|o| o.gradient_step = 10.1, "gradient step"),
        (|o| o.gradient_step = f64::NAN, "gradient step"),
        (|o| o.update_variance = -0.1, "smoothing of updates"),
        (|o| o.update_variance = f64::NAN, "smoothing of updates"),
        (|o| o.total_variance = 10001.0, "smoothing of the whole field"),
        (
            |o| o.update_mesh = Some(Mesh::KnotsMm(f64::NAN)),
            "knots of B-splines, mm: expected a number from 0.1 to 10000",
        ),
        (
            |o| o.total_mesh = Some(Mesh::Elements([7, 0, 7])),
            "mesh elements of B-splines: expected a number from 1 to 4096",
        ),
        (|o| o.radius = 0, "radius of the correlation window, voxels: expected a number from 1 to 32, found 0"),
        (|o| o.radius = 33, "radius"),
        (|o| o.noise = -1.0, "noise"),
        (|o| o.noise = 1e30, "noise, share of the intensity range: expected a number from 0 to 1"),
        (|o| o.edge_weight = -1.0, "weight of the edge images"),
        (|o| o.edge_weight = 1001.0, "weight of the edge images"),
        (|o| o.boundary_contrast = -0.1, "contrast of boundaries"),
        (
            |o| o.boundary_contrast = f64::NAN,
            "contrast of boundaries, share of the intensity range: expected a number",
        ),
        (|o| o.bins = 7, "number of bins of mutual information: expected a number from 8 to 256, found 7"),
        (|o| o.bins = 257, "bins"),
        (
            |o| o.largest_residual_voxels = 0.0,
            "largest residual of warp and inverse, voxels: expected a number from 0.01 to 100",
        ),
        (|o| o.largest_residual_voxels = 1e30, "largest residual of warp and inverse"),
        (|o| o.restrict = [1.0, -0.5, 1.0], "restriction weight"),
        (|o| o.restrict = [f64::NAN, 1.0, 1.0], "restriction weight"),
        (|o| o.restrict = [1.0, 1e30, 1.0], "restriction weight"),
        (|o| o.restrict = [0.0, -0.0, 0.0], "restriction weights: expected at least one weight above 0"),
        (|o| o.levels[1].shrink = 0, "shrink factor of level 2: expected a finite number from 1, found 0"),
        (|o| o.levels[0].sigma_voxels = -1.0, "of level 1"),
        (|o| o.levels[0].sigma_voxels = 100.5, "sigma"),
        (|o| o.levels[0].sigma_voxels = f64::NAN, "sigma"),
        (|o| o.levels[3].reinvert_every = 0, "re-inversion of the fields to the next of level 4"),
        (|o| o.convergence.window = 1, "convergence window"),
        (|o| o.convergence.threshold = -1e-9, "convergence threshold"),
        (|o| o.convergence.threshold = f64::NAN, "convergence threshold"),
        (|o| o.winsorise = Some((0.9, 0.1)), "winsorised shares"),
        (|o| o.winsorise = Some((0.5, 0.5)), "winsorised shares"),
        (|o| o.winsorise = Some((-0.1, 0.5)), "winsorised shares"),
        (|o| o.winsorise = Some((0.1, 1.1)), "winsorised shares"),
        (|o| o.winsorise = Some((f64::NAN, 1.0)), "winsorised shares"),
        (|o| o.levels.clear(), "the options of the registration have no resolution level"),
        (
            |o| o.sigmas_mm = Some(vec![1.0]),
            "smoothing sigmas, mm: expected one standard deviation for each of the 4 levels, found 1",
        ),
        (|o| o.sigmas_mm = Some(vec![4.0, 2.0, -1.0, 0.0]), "smoothing sigma, mm: expected a number from 0 to 100"),
    ];
    for (change, expected) in cases {
        let mut options = options();
        change(&mut options);
        let message = options.check().expect_err(expected).to_string();
        assert!(message.contains(expected), "`{expected}` is missing in: {message}");
    }
}
