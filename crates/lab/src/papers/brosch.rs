//! Brosch & Tam 2009: joint histograms with adaptive bins, by themselves and within a step of a registration.

use std::time::Instant;

use super::context::Context;
use super::shown::{Best, Form, Shown};
use crate::error::Error;
use crate::histograms::Part;
use crate::histograms::subject::How;
use crate::histograms::table::mi_settings;
use crate::schemes::MiScheme;

/// Number of bins of either image in the paper's second test.
const BINS: usize = 240;

/// The methods that the paper compares, then ours.
const METHODS: [(MiScheme, &str); 4] = [
    (MiScheme::WarpShadows, "Shams, method 1"),
    (MiScheme::ThreadShadows, "Shams, method 2"),
    (MiScheme::Adaptive, "adaptive"),
    (MiScheme::Rows, "sorted_rows"),
];

pub fn bins(context: &Context<'_>) -> Result<Option<Vec<Shown>>, Error> {
    let figures = context.figures("brosch-bins", Part::BroschBins)?;
    Ok(figures.map(|all| all.iter().map(|figure| Shown::of_figure(figure, Best::Lowest)).collect()))
}

/// Mutual information of a joint histogram, nats.
fn mutual_information(counts: &[u32], bins: usize) -> f64 {
    let total = counts.iter().map(|count| f64::from(*count)).sum::<f64>().max(1.0);
    let term = |count: f64| if count > 0.0 { -count / total * (count / total).ln() } else { 0.0 };
    let (mut rows, mut columns) = (vec![0.0; bins], vec![0.0; bins]);
    for (n, count) in counts.iter().enumerate() {
        rows[n / bins] += f64::from(*count);
        columns[n % bins] += f64::from(*count);
    }
    let entropy = |sums: &[f64]| sums.iter().copied().map(term).sum::<f64>();
    entropy(&rows) + entropy(&columns) - counts.iter().map(|count| term(f64::from(*count))).sum::<f64>()
}

/// Time of the histogram, of MI (with the entropies on the host), and of a whole step (with sampling).
pub fn steps(context: &Context<'_>) -> Result<Option<Vec<Shown>>, Error> {
    let Some((setup, brain)) = context.gpu.as_ref().and_then(|gpu| Some((&gpu.setup, gpu.setup.brain.as_ref()?)))
    else {
        return Ok(None);
    };
    let title = format!("Histogram, MI and a whole step, {BINS} bins");
    let mut table = Shown::new(&title, "method", "ms", &["histogram", "MI", "whole step"]).drawn(Form::Bars);
    let given = setup.histograms.pair(&brain.fixed, brain.values(How::Given, 0.0), BINS)?;
    let sampled = setup.histograms.pair(&brain.fixed, brain.values(How::Filtered, 0.0), BINS)?;
    for (scheme, name) in METHODS {
        let settings = mi_settings(setup, scheme);
        let histogram = setup.time_joint(&given, scheme, &settings)?;
        let step = setup.time_joint(&sampled, scheme, &settings)?;
        let counts = setup.joint(&given, scheme, &settings)?;
        let start = Instant::now();
        std::hint::black_box(mutual_information(&counts, BINS));
        let entropies = start.elapsed().as_secs_f64();
        let values = [histogram, histogram.map(|s| s + entropies), step.map(|s| s + entropies)];
        table.row(name, values.map(|seconds| seconds.map(|s| 1e3 * s)).into());
    }
    Ok(Some(vec![table]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutual_information_is_that_of_the_definition() {
        assert!((mutual_information(&[5, 0, 0, 5], 2) - 2.0_f64.ln()).abs() < 1e-12);
        assert!(mutual_information(&[5, 5, 5, 5], 2).abs() < 1e-12);
    }
}
