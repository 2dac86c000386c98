//! The page of a run, as HTML with charts and as Markdown with tables.

use askama::Template;

use super::list::Quoted;
use super::report::{ItemReport, PaperReport, Report};
use super::shown::Shown;
use crate::error::Error;

#[derive(Template)]
#[template(path = "papers.html")]
struct Page<'a> {
    report: &'a Report,
}

/// A measured table with its chart, for the template.
struct Drawn {
    title: String,
    unit: String,
    cells: Vec<Vec<String>>,
    svg: String,
}

impl Page<'_> {
    /// What is drawn for an item. A chart that cannot be drawn leaves its table.
    fn drawn(&self, item: &ItemReport) -> Vec<Drawn> {
        let drawn = |shown: &Shown| Drawn {
            title: shown.title.clone(),
            unit: shown.unit.clone(),
            cells: shown.cells(),
            svg: shown.svg().ok().flatten().unwrap_or_default(),
        };
        item.measured.iter().map(drawn).collect()
    }
}

/// The page as one HTML file.
pub fn html(report: &Report) -> Result<String, Error> {
    Page { report }.render().map_err(|source| Error::Page(source.to_string()))
}

/// The page as Markdown, with tables in the place of charts.
pub fn markdown(report: &Report) -> String {
    let mut text = format!(
        "# The five papers, table by table\n\n\
         Every table and figure of the papers that `antsreg-gpu` implements, with the paper's numbers and what this machine\n\
         measured. The page is generated; `antsreg-lab papers` measures it again (`crates/lab/README.md` shows how).\n\n\
         | | |\n|---|---|\n| commit | {} |\n| date | {} |\n| processor | {} |\n| GPU | {} |\n| images | {} |\n| command | `{}` |\n| time | {:.0} s |\n",
        report.commit, report.date, report.cpu, report.gpu, report.images, report.command, report.seconds
    );
    for paper in &report.papers {
        text += &format!("\n## {}\n{}.\n", paper.title, paper.source);
        text += &listed_without_measurement(paper);
        for item in paper.items.iter().filter(|item| item.item.reason.is_none()) {
            text += &of_item(item);
        }
    }
    text
}

/// The items that are not repeated, as one table.
fn listed_without_measurement(paper: &PaperReport) -> String {
    let rows: Vec<Vec<String>> = paper
        .items
        .iter()
        .filter_map(|item| Some(vec![item.item.name(), item.item.caption.clone(), item.item.reason.clone()?]))
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let head = vec!["not repeated".to_owned(), "shows".into(), "why".into()];
    format!("\n{}", table(&[vec![head], rows].concat()))
}

fn of_item(item: &ItemReport) -> String {
    let mut text = format!("\n### {}: {}\n", item.item.name(), item.item.caption);
    text +=
        &item.item.said.iter().map(|said| format!("\nThe paper, {}: {said}\n", item.item.place)).collect::<String>();
    for quoted in &item.item.quoted {
        text += &format!("\nThe paper, {}: {}.\n\n{}", item.item.place, quoted.title, table(&cells(quoted)));
    }
    if let Some(first) = &item.same_as {
        text += &format!("\nOurs stands at {first}.\n");
    }
    if let Some(missing) = &item.missing {
        text += &format!("\nOurs: not measured, because {missing}.\n");
    }
    for shown in &item.measured {
        let unit = if shown.unit.is_empty() { String::new() } else { format!(", {}", shown.unit) };
        text += &format!("\nOurs: {}{unit}.\n\n{}", shown.title, table(&shown.cells()));
    }
    text += &item.follows().iter().map(|follows| format!("\n{follows}\n")).collect::<String>();
    if !item.item.differs.is_empty() {
        text += &format!("\nWhat differs: {}\n", item.item.differs);
    }
    text
}

/// The cells of a quoted table, the head first.
fn cells(quoted: &Quoted) -> Vec<Vec<String>> {
    let head = std::iter::once(String::new()).chain(quoted.columns.iter().cloned()).collect();
    std::iter::once(head).chain(quoted.rows.iter().cloned()).collect()
}

/// A table in Markdown.
fn table(rows: &[Vec<String>]) -> String {
    let line = |row: &Vec<String>| {
        let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let width = rows.first().map_or(0, Vec::len);
    let rule = format!("|{}\n", "---|".repeat(width));
    rows.iter().enumerate().map(|(n, row)| if n == 0 { line(row) + &rule } else { line(row) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_page_is_made_from_the_committed_numbers() {
        let report: Report = serde_json::from_str(include_str!("../../../../docs/papers.json")).expect("a report");
        let committed = include_str!("../../../../docs/papers.md");
        assert!(
            markdown(&report) == committed,
            "docs/papers.md is not what docs/papers.json gives: `antsreg-lab papers OUT --from docs/papers.json` makes papers.md"
        );
    }
}
