//! Tables of points as read and written by `antsApplyTransformsToPoints`: CSV with the columns x, y and z, in LPS mm
//! in files and RAS mm in memory.

use std::path::Path;

use nalgebra::Point3;

use super::replace::replace;
use super::{Error, ErrorKind, read_text};

/// Largest size of a table, bytes: enough for ten million points.
const LARGEST: u64 = 1 << 30;

/// A table of points, with the other columns of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct PointTable {
    /// The points, RAS mm, one for each row.
    points: Vec<Point3<f64>>,
    /// Names of all columns, in the order of the table.
    header: Vec<String>,
    /// The cells of the table as read, row by row. When the table is written, the points replace the cells of the
    /// coordinates.
    rows: Vec<Vec<String>>,
    /// Index of each of the columns x, y and z in the table. The index of z is `None` for points of a plane: a column z
    /// is then neither read nor changed.
    columns: [Option<usize>; 3],
}

impl PointTable {
    /// Makes a table of points (RAS mm) without other columns.
    pub fn new(points: Vec<Point3<f64>>) -> PointTable {
        let rows = vec![vec![String::new(); 3]; points.len()];
        PointTable { points, header: ["x", "y", "z"].map(String::from).into(), rows, columns: [0, 1, 2].map(Some) }
    }

    /// The points of the table, RAS mm.
    pub fn points(&self) -> &[Point3<f64>] {
        &self.points
    }

    /// The points of the table, RAS mm, to be changed.
    pub(super) fn points_mut(&mut self) -> &mut [Point3<f64>] {
        &mut self.points
    }

    /// The cells of the column label, name, landmark or id, row by row; `None` without such a column.
    pub fn names(&self) -> Option<Vec<&str>> {
        let place = |name: &str| self.header.iter().position(|column| column.eq_ignore_ascii_case(name));
        let column = ["label", "name", "landmark", "id"].into_iter().find_map(place)?;
        self.rows.iter().map(|row| row.get(column).map(String::as_str)).collect()
    }

    /// Replaces each point (RAS mm) by `map(point)`.
    pub fn move_points(&mut self, map: impl Fn(&Point3<f64>) -> Point3<f64>) {
        self.points.iter_mut().for_each(|point| *point = map(point));
    }

    /// Reads a table. Other columns are kept unchanged.
    ///
    /// # Errors
    /// The file is not a regular file, is larger than 1 GiB or is not text; the table lacks one of the three columns
    /// or has one of
    /// them twice; a coordinate is not a finite number.
    pub fn read(path: &Path) -> Result<PointTable, Error> {
        read(path, true)
    }

    /// Reads a table of points of the plane z = 0. A column z is not needed, and is ignored.
    ///
    /// # Errors
    /// Those of [`PointTable::read`].
    pub fn read_in_plane(path: &Path) -> Result<PointTable, Error> {
        read(path, false)
    }

    /// Writes the table of points to a file. The coordinates are converted from RAS mm to LPS mm, as ITK expects.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        replace(path, |file| self.write_to(std::io::BufWriter::new(file)))
    }

    /// Writes the table of points as [`PointTable::write`] does.
    pub(super) fn write_to(&self, to: impl std::io::Write) -> std::io::Result<()> {
        let mut writer = csv::Writer::from_writer(to);
        writer.write_record(&self.header)?;
        for (row, point) in self.rows.iter().zip(&self.points) {
            let mut row = row.clone();
            for (column, value) in self.columns.into_iter().zip([-point.x, -point.y, point.z]) {
                if let Some(column) = column {
                    // Adding 0 turns the number −0 into 0, so that "-0" is not written.
                    row[column] = (value + 0.0).to_string();
                }
            }
            writer.write_record(&row)?;
        }
        writer.flush()
    }
}

fn read(path: &Path, in_space: bool) -> Result<PointTable, Error> {
    parse(&read_text(path, "a table of points", LARGEST)?, in_space).map_err(|kind| Error::new(path, kind))
}

fn parse(text: &str, in_space: bool) -> Result<PointTable, ErrorKind> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let header: Vec<String> = reader.headers().map_err(ErrorKind::Table)?.iter().map(String::from).collect();
    let find = |expected: &'static str| {
        let mut columns = (0..header.len()).filter(|&column| header[column].eq_ignore_ascii_case(expected));
        match (columns.next(), columns.next()) {
            (Some(column), None) => Ok(column),
            (Some(_), Some(second)) => Err(ErrorKind::ColumnTwice(header[second].clone())),
            (None, _) => Err(ErrorKind::Column { expected, found: header.clone() }),
        }
    };
    let columns = [Some(find("x")?), Some(find("y")?), if in_space { Some(find("z")?) } else { None }];
    let (mut points, mut rows) = (Vec::new(), Vec::new());
    for record in reader.records() {
        let record = record.map_err(ErrorKind::Table)?;
        let line = record.position().map_or(0, |position| position.line() as usize);
        let mut numbers = [0.0; 3];
        for (number, column) in numbers.iter_mut().zip(columns) {
            let Some(column) = column else { continue };
            let cell = record.get(column).unwrap_or_default();
            *number = cell.parse().ok().filter(|value: &f64| value.is_finite()).ok_or_else(|| ErrorKind::Syntax {
                line,
                expected: "a finite number",
                found: cell.into(),
            })?;
        }
        let [x, y, z] = numbers;
        points.push(Point3::new(-x, -y, z));
        rows.push(record.iter().map(String::from).collect());
    }
    Ok(PointTable { points, header, rows, columns })
}
