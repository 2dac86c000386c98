//! Tables of measured numbers, with the form in which they are drawn, and what follows from them.

use plotters::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::{Error, PlotError};
use crate::histograms::plot::{COLOURS, Curve, Figure, rounded};

/// How a table is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// Not drawn.
    Plain,
    /// A group of bars for each row, a bar for each column.
    Bars,
    /// A curve for each column; the rows are positions on the horizontal axis. Whether either axis is logarithmic.
    Lines {
        /// Whether the horizontal axis is logarithmic.
        log_x: bool,
        /// Whether the vertical axis is logarithmic.
        log_y: bool,
    },
}

/// Which numbers of a row are the best, for the sentence on what follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Best {
    /// Columns are not compared.
    None,
    /// The lowest number of a row, such as a time.
    Lowest,
    /// The highest number of a row, such as a throughput.
    Highest,
}

/// A row of a table.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    pub name: String,
    /// One number for each column; `None` where there is none.
    pub values: Vec<Option<f64>>,
}

/// A table of measured numbers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Shown {
    pub title: String,
    /// What the rows are.
    pub of_rows: String,
    /// Quantity and unit of the numbers.
    pub unit: String,
    pub columns: Vec<String>,
    pub rows: Vec<Row>,
    pub form: Form,
    pub best: Best,
}

impl Shown {
    /// A table that is not drawn.
    pub fn new(title: &str, of_rows: &str, unit: &str, columns: &[&str]) -> Shown {
        Shown {
            title: title.into(),
            of_rows: of_rows.into(),
            unit: unit.into(),
            columns: columns.iter().map(|column| (*column).into()).collect(),
            rows: Vec::new(),
            form: Form::Plain,
            best: Best::None,
        }
    }

    pub fn drawn(self, form: Form) -> Shown {
        Shown { form, ..self }
    }

    pub fn best(self, best: Best) -> Shown {
        Shown { best, ..self }
    }

    pub fn row(&mut self, name: impl Into<String>, values: Vec<Option<f64>>) {
        self.rows.push(Row { name: name.into(), values });
    }

    /// The table of a figure of curves.
    pub fn of_figure(figure: &Figure<'_>, best: Best) -> Shown {
        let at = |x: f64| figure.curves.iter().map(move |curve| curve.points.iter().find(|p| p.0 == x).map(|p| p.1));
        let rows = figure.positions().into_iter().map(|x| Row { name: rounded(x), values: at(x).collect() });
        Shown {
            title: figure.title.clone(),
            of_rows: figure.x.into(),
            unit: figure.y.into(),
            columns: figure.curves.iter().map(|curve| curve.name.clone()).collect(),
            rows: rows.collect(),
            form: Form::Lines { log_x: figure.log[0], log_y: figure.log[1] },
            best,
        }
    }

    /// The cells as text, the head first.
    pub fn cells(&self) -> Vec<Vec<String>> {
        let head = std::iter::once(self.of_rows.clone()).chain(self.columns.iter().cloned()).collect();
        let number = |value: &Option<f64>| value.map_or_else(|| "–".into(), rounded);
        let rows = self.rows.iter().map(|row| {
            std::iter::once(row.name.clone()).chain(row.values.iter().map(number)).collect::<Vec<String>>()
        });
        std::iter::once(head).chain(rows).collect()
    }

    /// What follows: in how many rows each column has the best number, and by how much.
    pub fn follows(&self) -> Option<String> {
        let better: fn(f64, f64) -> bool = match self.best {
            Best::None => return None,
            Best::Lowest => |a, b| a < b,
            Best::Highest => |a, b| a > b,
        };
        let mut won: Vec<(usize, usize)> = Vec::new();
        let mut ratios = Vec::new();
        for row in &self.rows {
            let mut there: Vec<(usize, f64)> =
                row.values.iter().enumerate().filter_map(|(n, value)| Some((n, (*value)?))).collect();
            if there.len() < 2 {
                continue;
            }
            there.sort_by(
                |a, b| if better(a.1, b.1) { std::cmp::Ordering::Less } else { std::cmp::Ordering::Greater },
            );
            let (first, second) = (there[0], there[1]);
            ratios.push((first.1 / second.1).max(second.1 / first.1));
            match won.iter_mut().find(|(column, _)| *column == first.0) {
                Some((_, rows)) => *rows += 1,
                None => won.push((first.0, 1)),
            }
        }
        won.sort_by_key(|(_, rows)| std::cmp::Reverse(*rows));
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let most = ratios.iter().copied().fold(0.0, f64::max);
        let word = if self.best == Best::Lowest { "Lowest" } else { "Highest" };
        let shares: Vec<String> = won
            .iter()
            .map(|(column, rows)| format!("{} in {rows} of {} rows", self.columns[*column], ratios.len()))
            .collect();
        (!shares.is_empty()).then(|| {
            let by = format!("a factor of {} to {}", rounded(least), rounded(most));
            format!("{}: {word}: {}. The next differs by {by}.", self.title, shares.join(", "))
        })
    }

    /// The chart as SVG; `None` if the table is not drawn or empty.
    pub fn svg(&self) -> Result<Option<String>, Error> {
        if !self.rows.iter().any(|row| row.values.iter().any(Option::is_some)) {
            return Ok(None);
        }
        match self.form {
            Form::Plain => Ok(None),
            Form::Bars => {
                let mut text = String::new();
                self.bars(&mut text)
                    .map_err(|source| Error::Plot { name: self.title.clone(), source: Box::new(source) })?;
                Ok(Some(text))
            }
            Form::Lines { log_x, log_y } => {
                let position = |row: &Row| row.name.parse::<f64>().ok();
                let curve = |(n, name): (usize, &String)| {
                    let points = self.rows.iter().filter_map(|row| Some((position(row)?, row.values[n]?)));
                    Curve { name: name.clone(), points: points.collect() }
                };
                let figure = Figure {
                    name: &self.title,
                    title: self.title.clone(),
                    x: &self.of_rows,
                    y: &self.unit,
                    log: [log_x, log_y],
                    curves: self.columns.iter().enumerate().map(curve).collect(),
                };
                figure.svg().map(Some)
            }
        }
    }

    fn bars(&self, text: &mut String) -> Result<(), PlotError> {
        const SIZE: (u32, u32) = (760, 420);
        let values = || self.rows.iter().flat_map(|row| row.values.iter().flatten().copied());
        let high = values().fold(0.0, f64::max).max(1e-12);
        let low = values().fold(0.0, f64::min);
        let groups = self.rows.len() as f64;
        let width = 0.8 / self.columns.len().max(1) as f64;
        let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .caption(&self.title, ("sans-serif", 17))
            .margin(12)
            .margin_right(180)
            .x_label_area_size(24)
            .y_label_area_size(62)
            .build_cartesian_2d(0.0..groups, low..1.06 * high)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .disable_x_axis()
            .light_line_style(TRANSPARENT)
            .y_desc(&self.unit)
            .draw()?;
        for (group, row) in self.rows.iter().enumerate() {
            for (n, value) in row.values.iter().enumerate() {
                let Some(value) = value else { continue };
                let left = group as f64 + 0.1 + n as f64 * width;
                let colour = COLOURS[n % COLOURS.len()];
                chart.draw_series([Rectangle::new([(left, 0.0), (left + width, *value)], colour.filled())])?;
            }
            let centre = chart.backend_coord(&(group as f64 + 0.1, 0.0));
            root.draw(&Text::new(row.name.as_str(), (centre.0, SIZE.1 as i32 - 26), ("sans-serif", 12)))?;
        }
        for (n, name) in self.columns.iter().enumerate() {
            let (x, y) = (SIZE.0 as i32 - 172, 50 + 17 * n as i32);
            root.draw(&Rectangle::new([(x, y - 5), (x + 14, y + 5)], COLOURS[n % COLOURS.len()].filled()))?;
            root.draw(&Text::new(name.as_str(), (x + 20, y - 6), ("sans-serif", 12)))?;
        }
        root.present()?;
        drop(chart);
        drop(root);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Shown {
        let mut table = Shown::new("Times", "voxels", "ms", &["CPU", "GPU"]).best(Best::Lowest);
        table.row("64", vec![Some(4.0), Some(2.0)]);
        table.row("128", vec![Some(16.0), Some(2.0)]);
        table.row("256", vec![Some(1.0), None]);
        table
    }

    #[test]
    fn what_follows_counts_the_rows_that_a_column_wins() {
        assert_eq!(
            table().follows().expect("a sentence"),
            "Times: Lowest: GPU in 2 of 2 rows. The next differs by a factor of 2 to 8."
        );
        assert_eq!(table().best(Best::None).follows(), None);
    }

    #[test]
    fn a_table_is_drawn_in_its_form() {
        assert_eq!(table().svg().expect("nothing"), None);
        for form in [Form::Bars, Form::Lines { log_x: true, log_y: true }] {
            let svg = table().drawn(form).svg().expect("a chart").expect("a chart");
            assert!(svg.contains("GPU") && svg.contains("Times"), "{svg}");
        }
    }
}
