//! Figures: curves that are written as a table, as CSV and as a plot.

use plotters::prelude::*;

use crate::error::{Error, PlotError};

/// One curve.
#[derive(Debug, Clone)]
pub struct Curve {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// A figure: several curves over a common horizontal axis.
#[derive(Debug, Clone)]
pub struct Figure<'a> {
    /// Name of the figure's files, without extension.
    pub name: &'a str,
    pub title: String,
    pub x: &'a str,
    pub y: &'a str,
    /// Whether the plot's horizontal axis and its vertical axis are logarithmic.
    pub log: [bool; 2],
    pub curves: Vec<Curve>,
}

const SIZE: (u32, u32) = (760, 480);
/// Width of the legend beside the plot, pixels.
const LEGEND: u32 = 170;
/// Colours of the curves of a figure.
pub const COLOURS: [RGBColor; 10] = [
    RGBColor(31, 119, 180),
    RGBColor(255, 127, 14),
    RGBColor(44, 160, 44),
    RGBColor(214, 39, 40),
    RGBColor(148, 103, 189),
    RGBColor(140, 86, 75),
    RGBColor(227, 119, 194),
    RGBColor(127, 127, 127),
    RGBColor(188, 189, 34),
    RGBColor(23, 190, 207),
];

impl Figure<'_> {
    /// All positions on the horizontal axis at which a curve has a point, in order.
    pub fn positions(&self) -> Vec<f64> {
        let mut all: Vec<f64> =
            self.curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.0)).collect();
        all.sort_by(f64::total_cmp);
        all.dedup();
        all
    }

    /// The figure as a table, with a row for each position on the horizontal axis and a column for each curve.
    pub fn rows(&self) -> Vec<Vec<String>> {
        let header = std::iter::once(self.x.to_owned()).chain(self.curves.iter().map(|curve| curve.name.clone()));
        let row = |x: f64| {
            let at = |curve: &Curve| {
                let point = curve.points.iter().find(|point| point.0 == x);
                point.map_or_else(|| "-".into(), |(_, y)| rounded(*y))
            };
            std::iter::once(rounded(x)).chain(self.curves.iter().map(at)).collect()
        };
        std::iter::once(header.collect()).chain(self.positions().into_iter().map(row)).collect()
    }

    /// The figure's table as CSV.
    pub fn csv(&self) -> String {
        // In the CSV file, commas are removed from the names of curves, and dashes (missing values) become empty cells.
        let cell = |cell: &String| if cell == "-" { String::new() } else { cell.replace(", ", " ") };
        self.rows().iter().map(|row| row.iter().map(cell).collect::<Vec<_>>().join(",") + "\n").collect()
    }

    /// The figure as an SVG plot.
    pub fn svg(&self) -> Result<String, Error> {
        let mut text = String::new();
        let drawn = self.draw(&mut text);
        drawn.map_err(|source| Error::Plot { name: format!("{}.svg", self.name), source: Box::new(source) })?;
        Ok(text)
    }

    fn draw(&self, text: &mut String) -> Result<(), PlotError> {
        let range = |of: fn(&(f64, f64)) -> f64, log: bool| {
            let all = self.curves.iter().flat_map(|curve| curve.points.iter().map(of));
            let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
            // Logarithms are plotted on a linear axis with powers of ten as labels.
            let (low, high) = if log { (low.log10(), high.log10()) } else { (low.min(0.0), high) };
            let margin = 0.04 * (high - low).max(1e-3);
            if log { low - margin..high + margin } else { low..high + margin }
        };
        let (x, y) = (range(|point| point.0, self.log[0]), range(|point| point.1, self.log[1]));
        let place = |value: f64, log: bool| if log { value.log10() } else { value };
        let label = |value: f64, log: bool| rounded(if log { 10_f64.powf(value) } else { value });
        let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .caption(&self.title, ("sans-serif", 17))
            .margin(12)
            .margin_right(LEGEND + 10)
            .x_label_area_size(38)
            .y_label_area_size(62)
            .build_cartesian_2d(x, y)?;
        let (x_label, y_label) = (|value: &f64| label(*value, self.log[0]), |value: &f64| label(*value, self.log[1]));
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .x_desc(self.x)
            .y_desc(self.y)
            .x_label_formatter(&x_label)
            .y_label_formatter(&y_label)
            .draw()?;
        for (curve, colour) in self.curves.iter().zip(COLOURS.iter().cycle()) {
            let points = || curve.points.iter().map(|(x, y)| (place(*x, self.log[0]), place(*y, self.log[1])));
            chart.draw_series(LineSeries::new(points(), colour.stroke_width(2)))?;
            chart.draw_series(points().map(|point| Circle::new(point, 3, colour.filled())))?;
        }
        for (n, (curve, colour)) in self.curves.iter().zip(COLOURS.iter().cycle()).enumerate() {
            let (x, y) = (SIZE.0 as i32 - LEGEND as i32, 50 + 17 * n as i32);
            root.draw(&PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)))?;
            root.draw(&Text::new(curve.name.as_str(), (x + 23, y - 6), ("sans-serif", 12)))?;
        }
        root.present()?;
        drop(chart);
        drop(root);
        Ok(())
    }
}

/// Formats a value with three significant digits.
pub fn rounded(value: f64) -> String {
    let digits = match value.abs() {
        0.0 => 0,
        size => (2 - size.log10().floor() as i32).clamp(0, 6) as usize,
    };
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_a_table_with_gaps_and_a_plot() {
        let curve = |name: &str, points: &[(f64, f64)]| Curve { name: name.into(), points: points.into() };
        let figure = Figure {
            name: "test",
            title: "Two curves".into(),
            x: "blocks",
            y: "µs",
            log: [true, true],
            curves: vec![curve("one", &[(64.0, 10.26), (128.0, 1000.0)]), curve("two", &[(128.0, 0.5)])],
        };
        assert_eq!(figure.csv(), "blocks,one,two\n64,10.3,\n128,1000,0.5\n");
        let svg = figure.svg().expect("a plot");
        for part in ["<svg", "Two curves", "blocks", "two", "polyline", "</svg>"] {
            assert!(svg.contains(part), "{part} is missing in {svg}");
        }
    }
}
