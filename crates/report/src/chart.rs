//! Charts as SVG. On an HTML report page, the style sheet replaces the colours of a chart, so that they suit light and
//! dark mode.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::Error;

/// Width and height of a chart on a report page, pixels.
const SIZE: (u32, u32) = (460, 260);
/// Size of a strip plot of dots, pixels.
const STRIP_SIZE: (u32, u32) = (460, 110);
/// Colour of text; `style.css` overrides the colour on a page.
const INK: RGBColor = RGBColor(16, 17, 18);
/// Colour of axes and grid lines.
const FAINT: RGBColor = RGBColor(209, 210, 211);
/// Colours of the first, second and further curves of a chart, distinct to colour-blind readers (Okabe and Ito).
const COLOURS: [RGBColor; 5] =
    [RGBColor(0, 114, 178), RGBColor(213, 94, 0), RGBColor(0, 128, 96), RGBColor(150, 70, 140), RGBColor(90, 90, 91)];
/// Lengths of the dashes and of the gaps of a dashed curve, points.
const DASHES: (u32, u32) = (5, 4);

/// The area of an SVG on which the parts of a chart are drawn.
pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A curve.
#[derive(Debug, Clone)]
pub struct Curve {
    /// Name of the curve in the legend of the chart.
    pub name: String,
    /// Points of the curve, each as x and y in the units of the chart's axes.
    pub points: Vec<(f64, f64)>,
    /// Whether the chart marks each point of the curve, in addition to the line.
    pub marks: bool,
}

/// A chart of curves.
#[derive(Debug, Clone)]
pub struct Curves<'a> {
    /// Label of the horizontal axis.
    pub x: &'a str,
    /// Label of the vertical axis.
    pub y: &'a str,
    /// Whether the vertical axis begins at 0.
    pub from_zero: bool,
    /// The curves.
    pub curves: &'a [Curve],
}

/// A chart of curves as SVG.
///
/// # Errors
/// A chart that cannot be drawn.
pub fn curves(chart: &Curves) -> Result<String, Error> {
    drawn(SIZE, |area| draw(area, chart))
}

/// Draws histograms of intensities from black (0) to white (1) as SVG. Each histogram has a name in the legend.
///
/// # Errors
/// A chart that cannot be drawn.
pub fn histograms(names: [&str; 2], shares: &[Vec<f64>; 2]) -> Result<String, Error> {
    let curve = |(name, shares): (&str, &Vec<f64>)| {
        let width = 1.0 / shares.len() as f64;
        let points = shares.iter().enumerate().map(|(bin, share)| ((bin as f64 + 0.5) * width, 100.0 * share));
        Curve { name: name.into(), points: points.collect(), marks: false }
    };
    let both: Vec<Curve> = names.into_iter().zip(shares).map(curve).collect();
    curves(&Curves { x: "intensity, from black to white", y: "% of the pixels", from_zero: true, curves: &both })
}

/// Returns the SVG of a chart that a given function draws.
pub(crate) fn drawn(
    size: (u32, u32),
    draw: impl FnOnce(&Area) -> Result<(), Box<dyn std::error::Error>>,
) -> Result<String, Error> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        draw(&area).and_then(|()| Ok(area.present()?)).map_err(|error| Error::Chart(error.to_string()))?;
    }
    Ok(svg)
}

/// Draws values as dots along a line, as SVG. Each value has the name of its member of the group, and whether it is an
/// outlier; outliers are labelled.
///
/// # Errors
/// A chart that cannot be drawn.
pub(crate) fn strip(values: &[(&str, f64, bool)]) -> Result<String, Error> {
    drawn(STRIP_SIZE, |area| {
        let (low, high) = values
            .iter()
            .fold((f64::MAX, f64::MIN), |(low, high), (_, value, _)| (low.min(*value), high.max(*value)));
        let margin = (0.06 * (high - low)).max(1e-9 + 1e-3 * high.abs());
        let (low, high) = (low - margin, high + margin);
        let mut context =
            ChartBuilder::on(area).margin(8).x_label_area_size(26).build_cartesian_2d(low..high, 0.0..1.0)?;
        context
            .configure_mesh()
            .disable_mesh()
            .disable_y_axis()
            .x_labels(6)
            .x_label_formatter(&|value| format!("{value:.*}", decimals(high - low)))
            .axis_style(FAINT)
            .label_style(("sans-serif", 13).into_font().color(&INK))
            .draw()?;
        // Dots are spread vertically, so that dots of equal values stay visible.
        let height = |n: usize| 0.15 + 0.5 * ((n as f64 * 0.618_034).fract());
        for (n, (name, value, outlying)) in values.iter().enumerate() {
            let (colour, size) = if *outlying { (COLOURS[1], 5) } else { (COLOURS[0], 3) };
            context.draw_series([Circle::new((*value, height(n)), size, colour.filled())])?;
            if *outlying {
                let anchor = if *value > 0.5 * (low + high) { HPos::Right } else { HPos::Left };
                let style = ("sans-serif", 13).into_font().color(&INK).pos(Pos::new(anchor, VPos::Bottom));
                context.draw_series([Text::new((*name).to_owned(), (*value, height(n) + 0.06), style)])?;
            }
        }
        Ok(())
    })
}

/// Number of decimals that the labels of an axis with this range need.
fn decimals(range: f64) -> usize {
    if range > 5.0 { 0 } else { (1.0 - range.log10()).ceil().clamp(0.0, 6.0) as usize }
}

fn draw(area: &Area, chart: &Curves) -> Result<(), Box<dyn std::error::Error>> {
    let points = || chart.curves.iter().flat_map(|curve| &curve.points);
    let range = |values: &mut dyn Iterator<Item = f64>| {
        let finite = values.filter(|value| value.is_finite());
        let (low, high) = finite.fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
        if low <= high { (low, high) } else { (0.0, 1.0) }
    };
    let (left, right) = range(&mut points().map(|point| point.0));
    let (mut low, mut high) = range(&mut points().map(|point| point.1));
    if chart.from_zero {
        low = low.min(0.0);
    }
    let margin = (0.06 * (high - low)).max(1e-9 + 1e-3 * high.abs());
    high += margin;
    if !chart.from_zero {
        low -= margin;
    }
    let right = right.max(left + 1e-9);
    let several = chart.curves.len() > 1;
    let (legend, below) = area.split_vertically(if several { 26 } else { 4 });
    let mut at = 58;
    for (n, curve) in chart.curves.iter().enumerate().filter(|_| several) {
        let colour = COLOURS[n % COLOURS.len()].stroke_width(3);
        legend.draw(&PathElement::new([(at, 14), (at + 18, 14)], colour))?;
        legend.draw(&Text::new(curve.name.clone(), (at + 24, 7), ("sans-serif", 13).into_font().color(&INK)))?;
        at += 36 + 7 * curve.name.chars().count() as i32;
    }
    let mut context = ChartBuilder::on(&below)
        .margin(6)
        .x_label_area_size(38)
        .y_label_area_size(52)
        .build_cartesian_2d(left..right, low..high)?;
    let text = ("sans-serif", 13).into_font().color(&INK);
    context
        .configure_mesh()
        .x_labels(6)
        .y_labels(5)
        .x_label_formatter(&|value| format!("{value:.*}", decimals(right - left)))
        .y_label_formatter(&|value| format!("{value:.*}", decimals(high - low)))
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(FAINT)
        .axis_style(FAINT)
        .label_style(text.clone())
        .axis_desc_style(text)
        .x_desc(chart.x)
        .y_desc(chart.y)
        .draw()?;
    for (n, curve) in chart.curves.iter().enumerate() {
        let colour = COLOURS[n % COLOURS.len()];
        // Curves are also distinguished by dashes, for readers who do not see the colours.
        match n % 2 {
            0 => context.draw_series(LineSeries::new(curve.points.iter().copied(), colour.stroke_width(2)))?,
            _ => context.draw_series(DashedLineSeries::new(
                curve.points.iter().copied(),
                DASHES.0,
                DASHES.1,
                colour.stroke_width(2),
            ))?,
        };
        if curve.marks {
            context.draw_series(curve.points.iter().map(|point| Circle::new(*point, 3, colour.filled())))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_names_its_curves_and_axes() {
        let curve = |name: &str| Curve {
            name: name.into(),
            points: vec![(0.0, 1.0), (1.0, f64::NAN), (2.0, 3.0)],
            marks: true,
        };
        let both = [curve("first"), curve("a<b")];
        let svg = curves(&Curves { x: "pass", y: "voxels", from_zero: true, curves: &both }).expect("a chart");
        for word in ["first", "a&lt;b", "pass", "voxels", "viewBox", "#101112", "#D1D2D3"] {
            assert!(svg.contains(word), "{word} is missing in {svg}");
        }
    }

    #[test]
    fn a_chart_of_one_point_or_none_is_drawn() {
        for points in [vec![], vec![(1.0, 0.0)], vec![(1.0, f64::NAN)]] {
            let curve = [Curve { name: "x".into(), points, marks: true }];
            curves(&Curves { x: "", y: "", from_zero: false, curves: &curve }).expect("a chart");
        }
    }
}
