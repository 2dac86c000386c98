//! Compares intensities matched by this crate with those matched by ITK.

use antsreg_core::histogram_matching::Landmarks;

/// Two sets of intensities with different distributions. The first set includes negative values.
fn intensities() -> [Vec<f32>; 2] {
    let first = (0..1000).map(|n| ((n * 7919 % 1000) as f32).powf(1.5) / 100.0 - 20.0);
    let second = (0..1000).map(|n| ((n * 104_729 % 997) as f32).sqrt() * 3.0 + 5.0);
    [first.collect(), second.collect()]
}

/// Expected values by SimpleITK 2.5: `HistogramMatchingImageFilter` with 256 levels, 12 match points and
/// `ThresholdAtMeanIntensityOn`.
const OF_ITK: [(usize, f32); 15] = [
    (0, 5.0),
    (1, 94.943_37),
    (2, 89.841_2),
    (3, 84.450_41),
    (10, 18.052_286),
    (57, 42.355_488),
    (100, 93.769_17),
    (123, 6.121_653_6),
    (321, 99.678_406),
    (500, 60.720_016),
    (507, 95.800_11),
    (640, 15.086_4),
    (777, 7.492_109_3),
    (909, 40.613_7),
    (999, 8.633_154),
];
/// Sum of all intensities after histogram matching, computed with ITK's `HistogramMatchingImageFilter`.
const SUM_OF_ITK: f64 = 55_173.616_338_729_86;

#[test]
fn matched_intensities_are_those_of_itk() {
    let [mut moving, fixed] = intensities();
    let [from, to] = [&moving, &fixed].map(|voxels| Landmarks::of(voxels).expect("voxels"));
    from.match_to(&to, &mut moving);
    // Tolerance: intensities are stored in single precision after two linear maps.
    for (place, expected) in OF_ITK {
        assert!((moving[place] - expected).abs() < 1e-4 * expected, "{place}: {} for {expected}", moving[place]);
    }
    let sum: f64 = moving.iter().map(|value| f64::from(*value)).sum();
    assert!((sum - SUM_OF_ITK).abs() < 0.05, "{sum}");
}

#[test]
fn intensities_matched_to_themselves_stay() {
    let [mut voxels, _] = intensities();
    let before = voxels.clone();
    let own = Landmarks::of(&voxels).expect("voxels");
    own.match_to(&own, &mut voxels);
    for (after, before) in voxels.iter().zip(&before) {
        assert!((after - before).abs() < 1e-3, "{after} for {before}");
    }
}

#[test]
fn constant_and_missing_intensities_are_no_division_by_zero() {
    assert_eq!(Landmarks::of(&[]), None);
    let flat = Landmarks::of(&[3.0; 10]).expect("voxels");
    let [mut voxels, _] = intensities();
    Landmarks::of(&voxels).expect("voxels").match_to(&flat, &mut voxels);
    assert_eq!(voxels, [3.0; 1000]);
    let mut same = [3.0; 4];
    let other = &intensities()[1];
    flat.match_to(&Landmarks::of(other).expect("voxels"), &mut same);
    // In ITK's filter, values below a landmark are mapped by the line below it. No value is below a landmark here, so
    // all become the maximum of the other image.
    assert_eq!(same, [other.iter().copied().fold(f32::MIN, f32::max); 4]);
}
