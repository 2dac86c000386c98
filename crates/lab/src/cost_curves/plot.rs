//! Plot of cost curves, with one panel for each transform parameter.

use plotters::prelude::*;

use super::curves::{Curve, Line, scaled};
use crate::error::PlotError;

const SIZE: (u32, u32) = (1080, 640);
const COLOURS: [RGBColor; 6] = [
    RGBColor(31, 119, 180),
    RGBColor(214, 39, 40),
    RGBColor(44, 160, 44),
    RGBColor(255, 127, 14),
    RGBColor(148, 103, 189),
    RGBColor(127, 127, 127),
];

/// Draws the cost curves as SVG.
pub fn svg(lines: &[Line], curves: &[Curve]) -> Result<String, PlotError> {
    let mut text = String::new();
    draw(&mut text, lines, curves)?;
    Ok(text)
}

fn draw(text: &mut String, lines: &[Line], curves: &[Curve]) -> Result<(), PlotError> {
    let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    for (number, (panel, line)) in root.split_evenly((2, 3)).iter().zip(lines).enumerate() {
        let (low, high) = (line.at[0], line.at[line.at.len() - 1]);
        let mut chart = ChartBuilder::on(panel)
            .margin(10)
            .x_label_area_size(36)
            .y_label_area_size(44)
            .build_cartesian_2d(low..high, -0.02..1.02)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .x_labels(7)
            .y_labels(5)
            .x_desc(line.name())
            .y_desc("cost, as a share of its range")
            .draw()?;
        for (curve, colour) in curves.iter().zip(COLOURS.iter().cycle()) {
            let points = line.at.iter().copied().zip(scaled(&curve.costs[number]));
            chart
                .draw_series(LineSeries::new(points, colour.stroke_width(2)))?
                .label(&curve.name)
                .legend(|(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
        }
        if number == 0 {
            chart
                .configure_series_labels()
                .position(SeriesLabelPosition::UpperMiddle)
                .border_style(BLACK.mix(0.3))
                .background_style(WHITE)
                .draw()?;
        }
    }
    root.present()?;
    drop(root);
    Ok(())
}
