//! Tests of every operation of the CPU backend against naive implementations. The test data include odd shapes, masks
//! and points outside the volume.

mod bias;
mod calls;
mod contrast;
mod fields;
mod fit_sums;
mod fusion;
mod images;
mod information;
mod joint;
mod metric;
mod moments;
mod naive;
mod relax;
mod scene;
mod scores;
mod sinc;
mod slices;
mod spline;
mod threads;
mod warped;

/// The largest difference between found and expected values.
fn worst<'a>(found: impl IntoIterator<Item = &'a f32>, expected: impl IntoIterator<Item = f64>) -> f64 {
    let mut expected = expected.into_iter();
    let mut worst = 0.0_f64;
    for found in found {
        let expected = expected.next().expect("fewer expected values than found ones");
        worst = worst.max((f64::from(*found) - expected).abs());
    }
    assert!(expected.next().is_none(), "more expected values than found ones");
    worst
}
