//! Plot of the scores (SVG): Jaccard of each target by each method, and of each label over the targets.

use std::collections::BTreeMap;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::scores::{SHOWN, TargetScores};

/// Error of drawing the plot of leave-one-out scores.
pub(super) type PlotError = DrawingAreaErrorKind<std::io::Error>;

/// Size of the plot, pixels.
const SIZE: (u32, u32) = (1200, 800);

/// A colour for each method, distinct for colour-blind readers too (Okabe and Ito).
const COLOURS: [RGBColor; 3] = [RGBColor(120, 120, 120), RGBColor(230, 159, 0), RGBColor(0, 114, 178)];

/// Total width of the box plots of one target, as a share of the width of the plot's column for this target.
const BOXES: f64 = 0.6;

/// Draws the plot of the scores as SVG.
pub(super) fn svg(targets: &[TargetScores]) -> Result<String, PlotError> {
    let mut text = String::new();
    {
        let whole = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        whole.fill(&WHITE)?;
        let (above, below) = whole.split_vertically(SIZE.1 / 2);
        per_target(&above, targets)?;
        per_label(&below, targets)?;
        whole.present()?;
    }
    Ok(text)
}

/// Draws box plots of the Jaccard index over the labels, one box for each target and method.
fn per_target(area: &DrawingArea<SVGBackend, Shift>, targets: &[TargetScores]) -> Result<(), PlotError> {
    let mut chart = ChartBuilder::on(area)
        .caption("Jaccard of the labels of each target", ("sans-serif", 20))
        .margin(10)
        .x_label_area_size(30)
        .y_label_area_size(50)
        .build_cartesian_2d(-0.5..targets.len() as f64 - 0.5, 0.0f32..1.0f32)?;
    let name = |x: &f64| {
        let nearest = x.round();
        let named = (x - nearest).abs() < 1e-6 && nearest >= 0.0;
        let target = named.then(|| targets.get(nearest as usize)).flatten();
        target.map_or(String::new(), |target| target.name.clone())
    };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(2 * targets.len() + 1)
        .x_label_formatter(&name)
        .y_desc("Jaccard")
        .light_line_style(WHITE)
        .draw()?;
    for (method, colour) in COLOURS.iter().enumerate() {
        let boxes = targets.iter().enumerate().filter_map(|(n, target)| {
            let values: Vec<f64> = target.shown()[method]?
                .labels
                .iter()
                .map(|(_, counts)| counts.jaccard())
                .filter(|j| j.is_finite())
                .collect();
            // A box plot needs at least one value, so methods without values have no box.
            (!values.is_empty()).then(|| {
                let x = n as f64 + (method as f64 - 1.0) * BOXES / SHOWN.len() as f64;
                Boxplot::new_vertical(x, &Quartiles::new(&values)).width(14).whisker_width(0.5).style(colour)
            })
        });
        chart.draw_series(boxes)?;
    }
    Ok(())
}

/// Draws a dot for each label and method: the mean Jaccard over the targets. Labels are sorted by the mean of joint
/// fusion.
fn per_label(area: &DrawingArea<SVGBackend, Shift>, targets: &[TargetScores]) -> Result<(), PlotError> {
    let labels = means(targets);
    let mut chart = ChartBuilder::on(area)
        .caption("Jaccard of each label, mean over the targets", ("sans-serif", 20))
        .margin(10)
        .x_label_area_size(40)
        .y_label_area_size(50)
        .build_cartesian_2d(-1.0..labels.len() as f64, 0.0f32..1.0f32)?;
    let name = |x: &f64| {
        let label = (*x >= 0.0).then(|| labels.get(x.round() as usize)).flatten();
        label.map_or(String::new(), |(label, _)| label.to_string())
    };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(30)
        .x_label_formatter(&name)
        .x_desc("label")
        .y_desc("Jaccard")
        .light_line_style(WHITE)
        .draw()?;
    for (method, colour) in COLOURS.iter().enumerate() {
        let dots = labels.iter().enumerate().filter(|(_, (_, means))| means[method].is_finite());
        let dot = |(n, (_, means)): (usize, &(i32, [f64; 3]))| {
            Circle::new((n as f64, means[method] as f32), 3, colour.filled())
        };
        let colour = *colour;
        chart
            .draw_series(dots.map(dot))?
            .label(SHOWN[method])
            .legend(move |(x, y)| Circle::new((x + 5, y), 4, colour.filled()));
    }
    // In the plot the labels are sorted by their mean Jaccard index. So the dots rise from left to right, and the
    // legend fits in the upper left.
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK)
        .draw()
}

/// Mean Jaccard of each label by each method, over the targets that have the label. Labels are sorted by the mean of
/// the last method.
fn means(targets: &[TargetScores]) -> Vec<(i32, [f64; 3])> {
    let mut sums: BTreeMap<i32, [(f64, u32); 3]> = BTreeMap::new();
    for target in targets {
        for (method, overlap) in target.shown().into_iter().enumerate() {
            for (label, counts) in overlap.into_iter().flat_map(|overlap| &overlap.labels) {
                let entry = sums.entry(*label).or_default();
                if counts.jaccard().is_finite() {
                    entry[method] = (entry[method].0 + counts.jaccard(), entry[method].1 + 1);
                }
            }
        }
    }
    let mean = |sums: [(f64, u32); 3]| sums.map(|(sum, count)| sum / f64::from(count));
    let mut means: Vec<(i32, [f64; 3])> = sums.into_iter().map(|(label, sums)| (label, mean(sums))).collect();
    // A label that is neither in the maps of a method nor in the true labels has no mean Jaccard index.
    means.retain(|(_, means)| means.iter().any(|mean| mean.is_finite()));
    let height = |(_, means): &(i32, [f64; 3])| if means[2].is_finite() { means[2] } else { 0.0 };
    means.sort_by(|a, b| height(a).total_cmp(&height(b)));
    means
}

#[cfg(test)]
mod tests {
    use antsreg_core::{Grid, LabelVolume, Overlap};

    use super::super::scores::Method;
    use super::*;

    fn overlap(source: [i32; 6]) -> Overlap {
        let map =
            |voxels: [i32; 6]| LabelVolume { grid: Grid::axis_aligned([6, 1, 1], [1.0; 3]), voxels: voxels.to_vec() };
        Overlap::between(&map(source), &map([1, 1, 2, 2, 3, 3]), Some(&[1, 2, 3, 4])).expect("one grid")
    }

    fn target(name: &str) -> TargetScores {
        let single = vec![Method { name: "a".into(), overlap: overlap([1, 1, 1, 2, 3, 0]) }];
        let (majority, joint) = (overlap([1, 0, 2, 2, 3, 3]), overlap([1, 1, 2, 0, 3, 3]));
        TargetScores { name: name.into(), single, majority, joint }
    }

    #[test]
    fn labels_are_in_the_order_of_joint_fusion() {
        let means = means(&[target("s"), target("t")]);
        let order: Vec<i32> = means.iter().map(|(label, _)| *label).collect();
        // No label map contains label 4.
        assert_eq!(order, [2, 1, 3]);
        assert_eq!(means[0].1, [0.5, 1.0, 0.5]);
    }

    #[test]
    fn the_plot_shows_every_target_method_and_label() {
        let svg = svg(&[target("first"), target("second")]).expect("a plot");
        for word in ["first", "second", "majority", "joint", "best single atlas", "</svg>"] {
            assert!(svg.contains(word), "{word}");
        }
        // The plot must contain a dot for each of three labels and each of three methods, and three more dots in the
        // legend.
        assert_eq!(svg.matches("<circle").count(), 3 * 3 + 3);
    }
}
