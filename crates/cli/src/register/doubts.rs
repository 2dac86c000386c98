//! What there is to doubt about a result that was found all the same: told on standard error, kept in the record.

use antsreg_syn as syn;

use super::coverage::Coverage;
use super::plan::Plan;
use super::record::{Similarity, SynRecord};

/// Of the share of the fixed image's variance that the moving one explains (the squared correlation), so much must be lost.
const LOST: f64 = 0.1;

/// Of what the moving image covered at the start, no more than this is left.
const LEFT: f64 = 0.5;

/// A line for each level of which nothing was kept.
pub fn undone(course: &syn::Course) -> impl Iterator<Item = String> {
    let (levels, all) = (course.levels.iter().enumerate(), course.levels.len());
    let undone = levels.filter(|(_, level)| level.undone);
    undone.map(move |(n, _)| format!("syn {}/{all}: undone, as it left the images no more alike", n + 1))
}

/// What there is to doubt, a sentence each.
pub fn doubts(plan: &Plan, alike: &Similarity, coverage: &Coverage, syn: Option<&SynRecord>) -> Vec<String> {
    worse(plan, alike, coverage).into_iter().chain(missing(syn)).collect()
}

/// Where the start was better. The cost itself cannot tell: it looks at what of the images meets, and a little corner
/// of them may fit very well.
fn worse(plan: &Plan, alike: &Similarity, coverage: &Coverage) -> Option<String> {
    let mut signs = Vec::new();
    if let (true, Some(start)) = (compares_intensities(plan), alike.correlation_at_start) {
        // Nothing is explained by what has left the image.
        let now = alike.correlation.unwrap_or(0.0);
        if start * start - now * now > LOST {
            signs.push(format!("the correlation with the fixed image is {now:.4}, and was {start:.4}"));
        }
    }
    if let Coverage { at_start: Some(start), now: Some(now) } = *coverage
        && now <= LEFT * start
        && now < start
    {
        let [now, start] = [now, start].map(|share| 100.0 * share);
        signs.push(format!("the moving image covers {now:.0} % of the fixed one, and covered {start:.0} %"));
    }
    if signs.is_empty() {
        return None;
    }
    // What has a cause in the affine stage may be put right there.
    let advice = if plan.linear.is_some() {
        "; look at the images. Where few slices, or small parts of a head, leave much undetermined, --transform rigid, \
         --no-search or masks help"
    } else {
        "; look at the images"
    };
    Some(format!("worse than the start: {}{advice}", signs.join(", ")))
}

/// Whether all that was minimised takes the images to be of one kind, so that a good result is one that correlates.
fn compares_intensities(plan: &Plan) -> bool {
    let linear = plan.linear.as_ref().is_none_or(|options| !options.cost.has_joint_histogram());
    let first = plan.syn.as_ref().and_then(|options| options.channels.first());
    linear && first.is_none_or(|channel| channel.metric == syn::Metric::Cc)
}

/// Where the warps are not what was asked for.
fn missing(syn: Option<&SynRecord>) -> Option<String> {
    let SynRecord { beyond_limits, relaxing_rounds, .. } = syn.filter(|syn| syn.beyond_limits > 0)?;
    Some(format!(
        "{beyond_limits} voxels of the warps still fold, or miss their inverse by more than --inverse-limit, after \
         {relaxing_rounds} rounds of relaxing"
    ))
}

#[cfg(test)]
mod tests {
    use antsreg_linear::{self as linear, Cost};

    use super::*;
    use crate::device::Description;

    /// Both stages by their defaults but for the cost and the metric.
    fn plan(cost: Cost, metric: syn::Metric) -> Plan {
        let mut syn = syn::Options::default();
        syn.channels[0].metric = metric;
        let linear = linear::Options { cost, ..Default::default() };
        Plan { linear: Some(linear), syn: Some(syn), device: Description::Cpu, slices: false }
    }

    fn worse_by(
        plan: &Plan,
        [start, now]: [Option<f64>; 2],
        [covered_at_start, covered]: [f64; 2],
    ) -> Option<String> {
        let alike = Similarity { correlation_at_start: start, correlation: now };
        worse(plan, &alike, &Coverage { at_start: Some(covered_at_start), now: Some(covered) })
    }

    #[test]
    fn a_result_worse_than_the_start_is_doubted() {
        let plan = plan(Cost::CorrelationRatio, syn::Metric::Cc);
        let both = worse_by(&plan, [Some(0.98), Some(0.24)], [1.0, 0.15]).expect("a doubt");
        for word in ["0.2400", "0.9800", "15 %", "100 %", "--transform rigid", "--no-search"] {
            assert!(both.contains(word), "`{word}` is missing in: {both}");
        }
        assert!(worse_by(&plan, [Some(0.8), None], [1.0; 2]).is_some(), "all has left the image");
        assert!(worse_by(&plan, [Some(0.8), Some(0.9)], [0.4, 0.2]).is_some());
        // An affine that was given is not to be searched for otherwise.
        let given = worse_by(&Plan { linear: None, ..plan.clone() }, [Some(0.98), Some(0.24)], [1.0; 2]);
        assert!(given.is_some_and(|doubt| !doubt.contains("--no-search")));
    }

    #[test]
    fn a_good_result_is_not() {
        let same = plan(Cost::CorrelationRatio, syn::Metric::Cc);
        for alike in [[0.96, 0.99], [0.95, 0.93], [0.2, 0.0], [-0.4, -0.6], [-0.3, 0.7]] {
            assert_eq!(worse_by(&same, alike.map(Some), [0.9, 0.6]), None, "{alike:?}");
        }
        assert_eq!(worse_by(&same, [None, None], [0.0, 0.0]), None, "not even the start met anything");
        // Of two modalities a good result may correlate less; where it leaves the image it is none.
        for other in [
            plan(Cost::NormalisedMutualInformation, syn::Metric::Cc),
            plan(Cost::CorrelationRatio, syn::Metric::Mattes),
        ] {
            assert_eq!(worse_by(&other, [Some(0.9), Some(0.1)], [1.0, 0.8]), None);
            assert!(worse_by(&other, [Some(0.9), Some(0.1)], [1.0, 0.3]).is_some_and(|doubt| !doubt.contains("0.9")));
        }
    }

    #[test]
    fn warps_that_still_miss_each_other_are_doubted() {
        let syn = |beyond_limits| SynRecord { levels: Vec::new(), relaxing_rounds: 40, beyond_limits };
        assert_eq!(missing(Some(&syn(0))), None);
        let doubt = missing(Some(&syn(17))).expect("a doubt");
        for word in ["17 voxels", "--inverse-limit", "40 rounds"] {
            assert!(doubt.contains(word), "`{word}` is missing in: {doubt}");
        }
        assert_eq!(missing(None), None);
    }
}
