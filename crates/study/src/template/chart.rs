//! Chart of the convergence of a template.

use plotters::prelude::*;

use super::Error;
use super::update::TemplateResults;

const SIZE: (u32, u32) = (640, 320);

/// An SVG chart of two curves over the passes: the distance by which the template moved, and the length of the mean
/// warp.
///
/// # Errors
/// A chart that cannot be drawn.
pub fn convergence(passes: &[TemplateResults]) -> Result<String, Error> {
    let mut svg = String::new();
    draw(&mut svg, passes).map_err(|error| Error::Drawing(error.to_string()))?;
    Ok(svg)
}

/// Name of a curve, its colour, and its value for a pass.
type Curve = (&'static str, RGBColor, fn(&TemplateResults) -> f64);

fn draw(svg: &mut String, passes: &[TemplateResults]) -> Result<(), Box<dyn std::error::Error>> {
    let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let last = passes.iter().map(|pass| pass.pass).max().unwrap_or(1).max(1) as f64;
    let curves: [Curve; 2] = [
        ("template moved by", BLUE, |pass| pass.moved_mean_voxels),
        ("mean warp", RED, |pass| pass.mean_warp_voxels),
    ];
    let highest = passes.iter().flat_map(|pass| curves.map(|curve| curve.2(pass))).fold(0.1, f64::max);
    let mut chart = ChartBuilder::on(&area)
        .margin(10)
        .x_label_area_size(36)
        .y_label_area_size(52)
        .build_cartesian_2d(0.0..last + 0.2, 0.0..highest * 1.1)?;
    chart
        .configure_mesh()
        .x_desc("pass")
        .y_desc("voxels, mean over the foreground")
        .x_labels(last as usize + 1)
        .x_label_formatter(&|pass| format!("{pass:.0}"))
        .draw()?;
    for (name, colour, value) in curves {
        let points: Vec<(f64, f64)> = passes.iter().map(|pass| (pass.pass as f64, value(pass))).collect();
        chart
            .draw_series(LineSeries::new(points.clone(), &colour))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour));
        chart.draw_series(points.into_iter().map(|point| Circle::new(point, 3, colour.filled())))?;
    }
    chart.configure_series_labels().background_style(WHITE).border_style(BLACK).draw()?;
    area.present()?;
    Ok(())
}
