//! The HTML report page about the results of a group: a table with marked outliers, small pictures, distributions of
//! measures, and form fields in which the reader marks each result as good, doubtful or bad.

use askama::Template;

use crate::chart::strip;
use crate::robust::robust_z;
use crate::{Chart, Error, Facts, Page};

/// A value is an outlier if its distance from the median is more than this number of robust standard deviations
/// (Iglewicz and Hoaglin 1993).
const OUTLIER: f64 = 3.5;
/// Values of a measure are marked as outliers only if at least this number of subjects (or other members) has a value.
const LEAST: usize = 5;
/// Largest total size of all small pictures on an HTML report page, bytes.
const PICTURE_BYTES: usize = 1_500_000;

/// Which extreme values of a quality measure are marked as outliers: low values, high values, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worse {
    /// Low values.
    Low,
    /// High values.
    High,
    /// Values far below and values far above the median are outliers.
    Either,
}

/// A quality measure, such as a correlation, by which a report page compares the results of many subjects (or other
/// members).
#[derive(Debug, Clone)]
pub struct Measure {
    /// Name of this quality measure, as the report page shows it.
    pub name: String,
    /// Description of this quality measure, as the report page shows it.
    pub note: String,
    /// Number of decimals with which the table of the report page shows the values of this quality measure.
    pub decimals: usize,
    /// Which extreme values of this measure are marked as outliers: low values, high values, or both.
    pub worse: Worse,
}

/// One of the results that a report page compares, such as the registration of one subject.
#[derive(Debug, Clone, Default)]
pub struct Member {
    /// Name of the subject (or other member) as the report page's table shows it.
    pub name: String,
    /// State of the subject's (or other member's) result in one word, such as `done`.
    pub status: String,
    /// The reason why this subject (or other member) has no result; `None` if it has a result.
    pub failure: Option<String>,
    /// Path of the HTML report page about this member alone, relative to the folder of the group's report page.
    pub page: Option<String>,
    /// A small picture of this member's registered image, as a `data:` address (an address that contains the picture
    /// itself).
    pub thumbnail: Option<String>,
    /// The values of the quality measures for this subject (or other member), in the order of the measures on the
    /// report page.
    pub values: Vec<Option<f64>>,
    /// Warnings about the result of this member of the group (such as one subject).
    pub warnings: Vec<String>,
}

/// The contents of an HTML report page that compares the results of a group, such as all subjects.
#[derive(Debug, Clone, Copy)]
pub struct GroupPage<'a> {
    /// Texts and numbers of the report page. [`group_page`] adds to the warnings which members of the group failed, and
    /// which members have values that are outliers.
    pub facts: &'a Facts,
    /// The word by which the report page calls the things that it compares, such as `subject`.
    pub member: &'a str,
    /// The quality measures by which the page compares the results, such as the correlation with the reference image.
    pub measures: &'a [Measure],
    /// The subjects (or other members) whose results the report page compares, each with its values and warnings.
    pub members: &'a [Member],
    /// Pictures above the table, such as the template image: each with its title, its note, and the picture as a
    /// `data:` address.
    pub shared: &'a [[String; 3]],
    /// Charts that the report page shows before the charts of the distribution of each quality measure.
    pub charts: &'a [Chart],
}

/// Makes the HTML report page about the results of a group.
///
/// # Errors
/// A chart that cannot be drawn, or an HTML template that cannot be filled in.
pub fn group_page(page: &GroupPage) -> Result<Page, Error> {
    let GroupPage { member, measures, members, shared, .. } = *page;
    let mut rows: Vec<Row> = members.iter().map(Row::of).collect();
    let mut charts = page.charts.to_vec();
    for (n, measure) in measures.iter().enumerate() {
        let values: Vec<Option<f64>> = members.iter().map(|member| member.values.get(n).copied().flatten()).collect();
        let z = robust_z(&values, LEAST);
        let outlying: Vec<bool> = z.iter().map(|z| z.is_some_and(|z| is_outlier(z, measure.worse))).collect();
        for ((row, value), (z, outlying)) in rows.iter_mut().zip(&values).zip(z.iter().zip(&outlying)) {
            row.cells.push(Cell::of(measure, *value, *z, *outlying));
        }
        let dots: Vec<(&str, f64, bool)> = members
            .iter()
            .zip(&values)
            .zip(&outlying)
            .filter_map(|((member, value), outlying)| Some((member.name.as_str(), (*value)?, *outlying)))
            .filter(|(_, value, _)| value.is_finite())
            .collect();
        if dots.len() > 1 {
            let svg = strip(&dots)?;
            charts.push(Chart { title: measure.name.clone(), svg, note: measure.note.clone() });
        }
    }
    let mut facts = page.facts.clone();
    for row in &rows {
        facts.warnings.extend(row.member.failure.as_ref().map(|why| format!("{} failed: {why}", row.member.name)));
    }
    let unusual = |row: &Row| {
        let of: Vec<String> = row
            .cells
            .iter()
            .zip(measures)
            .filter(|(cell, _)| cell.outlying)
            .map(|(cell, measure)| format!("{} {}", measure.name, cell.text))
            .collect();
        (!of.is_empty()).then(|| format!("{} is unusual: {}", row.member.name, of.join(", ")))
    };
    facts.warnings.extend(rows.iter().filter_map(unusual));
    show_pictures(&mut rows);
    let pictures = rows.iter().any(|row| row.picture.is_some());
    let contents = Contents { facts: &facts, member, measures, rows: &rows, pictures, shared, charts: &charts };
    Ok(Page { html: contents.render()? })
}

fn is_outlier(z: f64, worse: Worse) -> bool {
    match worse {
        Worse::Low => z < -OUTLIER,
        Worse::High => z > OUTLIER,
        Worse::Either => z.abs() > OUTLIER,
    }
}

/// Adds small pictures to the rows of the table, until their total size reaches the limit in bytes. Rows with warnings
/// or outliers come first.
fn show_pictures(rows: &mut [Row]) {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|n| !rows[*n].is_marked());
    let mut bytes = 0;
    for n in order {
        if let Some(picture) = &rows[n].member.thumbnail {
            bytes += picture.len();
            if bytes > PICTURE_BYTES {
                return;
            }
            rows[n].picture = Some(picture);
        }
    }
}

/// A row of the report page's table, for one member of the group (such as one subject).
struct Row<'a> {
    member: &'a Member,
    cells: Vec<Cell>,
    picture: Option<&'a str>,
}

impl Row<'_> {
    fn of(member: &Member) -> Row<'_> {
        Row { member, cells: Vec::new(), picture: None }
    }

    /// Whether the subject (or other member) in this row of the report page's table has a warning or an outlier.
    fn is_marked(&self) -> bool {
        self.member.failure.is_some()
            || !self.member.warnings.is_empty()
            || self.cells.iter().any(|cell| cell.outlying)
    }
}

/// A cell of the report page's table: the value of one measure for one member of the group.
struct Cell {
    text: String,
    /// The value of the measure as text, by which the report page sorts its table; empty if there is no value.
    sort: String,
    /// The robust z score of the measure's value as text: its distance from the median in robust standard deviations.
    z: String,
    outlying: bool,
}

impl Cell {
    fn of(measure: &Measure, value: Option<f64>, z: Option<f64>, outlying: bool) -> Cell {
        let finite = value.filter(|value| value.is_finite());
        Cell {
            text: finite.map_or("–".into(), |value| format!("{value:.*}", measure.decimals)),
            sort: finite.map_or(String::new(), |value| value.to_string()),
            z: z.map_or(String::new(), |z| format!("{z:+.1}")),
            outlying,
        }
    }
}

#[derive(Template)]
#[template(path = "group.html")]
struct Contents<'a> {
    facts: &'a Facts,
    member: &'a str,
    measures: &'a [Measure],
    rows: &'a [Row<'a>],
    pictures: bool,
    shared: &'a [[String; 3]],
    charts: &'a [Chart],
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(values: &[f64]) -> Vec<Member> {
        let member = |(n, value): (usize, &f64)| Member {
            name: format!("s<{n}>"),
            status: "done".into(),
            thumbnail: Some(format!("data:,{}", "x".repeat(PICTURE_BYTES / 4))),
            values: vec![Some(*value)],
            ..Member::default()
        };
        values.iter().enumerate().map(member).collect()
    }

    fn page(members: &[Member], worse: Worse) -> String {
        let measures = [Measure { name: "correlation".into(), note: String::new(), decimals: 2, worse }];
        let page = GroupPage {
            facts: &Facts::default(),
            member: "subject",
            measures: &measures,
            members,
            shared: &[],
            charts: &[],
        };
        group_page(&page).expect("a page").html
    }

    #[test]
    fn outliers_are_marked_and_named_and_shown_first() {
        let members = members(&[0.9, 0.91, 0.92, 0.9, 0.89, 0.2]);
        let html = page(&members, Worse::Low);
        assert!(html.contains("s&#60;5&#62; is unusual: correlation 0.20"));
        assert_eq!(html.matches("class=\"outlier\"").count(), 1);
        // All members of the group have pictures, but the size limit allows only three on the page. One of these must
        // be the picture of the last member, which is an outlier.
        assert_eq!(html.matches("src=\"data:,").count(), 3);
        let row = html.split("<tr").find(|row| row.contains("s&#60;5&#62;</")).expect("a row");
        assert!(row.contains("src=\"data:,"));
        assert!(!page(&members, Worse::High).contains("is unusual"));
    }

    #[test]
    fn names_do_not_become_markup() {
        let mut members = members(&[1.0]);
        members[0].failure = Some("<b>".into());
        let html = page(&members, Worse::Low);
        assert!(html.contains("s&#60;0&#62; failed: &#60;b&#62;") && !html.contains("s<0>"));
    }
}
