//! What was measured, as data: written as JSON, from which the pages are made.

use serde::{Deserialize, Serialize};

use super::list::{Item, Kind, Papers};
use super::shown::Shown;

/// A run of the measurements.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Report {
    /// Commit of the sources; "unknown" outside a repository.
    pub commit: String,
    /// Date of the run, UTC.
    pub date: String,
    /// Processor and number of threads.
    pub cpu: String,
    /// The GPU, or why there is none.
    pub gpu: String,
    /// The command line.
    pub command: String,
    /// What the images are.
    pub images: String,
    /// Time of all measurements, s.
    pub seconds: f64,
    pub papers: Vec<PaperReport>,
}

/// A paper and what was measured for it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PaperReport {
    pub id: String,
    pub title: String,
    pub source: String,
    pub items: Vec<ItemReport>,
}

/// A table or figure and what was measured for it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ItemReport {
    pub item: Item,
    /// What was measured; empty if nothing was.
    pub measured: Vec<Shown>,
    /// Why nothing was measured, such as a missing GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// The item of this paper where the same measurement is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<String>,
}

impl ItemReport {
    /// The anchor of the item on a page, within its paper.
    pub fn anchor(&self, paper: &str) -> String {
        let kind = match self.item.kind {
            Kind::Figure => "figure",
            Kind::Table => "table",
        };
        format!("{paper}-{kind}-{}", self.item.number.to_lowercase().replace('.', "-"))
    }

    /// What follows from what was measured.
    pub fn follows(&self) -> Vec<String> {
        self.measured.iter().filter_map(Shown::follows).collect()
    }

    /// A word for the list of contents: measured, or why not.
    pub fn state(&self) -> &str {
        match (&self.item.reason, &self.missing, &self.same_as) {
            (Some(_), ..) => "not repeated",
            (_, Some(_), _) => "not measured here",
            (.., Some(_)) => "measured, see there",
            _ => "measured",
        }
    }
}

/// Goes through all items of the chosen papers in the order of the list. `measure` gets the name of each measurement
/// once; `Err` is the reason why it was not made.
pub fn collect<E>(
    papers: Papers,
    chosen: impl Fn(&str, &Item) -> bool,
    mut measure: impl FnMut(&str) -> Result<Result<Vec<Shown>, String>, E>,
) -> Result<Vec<PaperReport>, E> {
    let mut all = Vec::new();
    for paper in papers.papers {
        let mut done: Vec<(String, String)> = Vec::new();
        let mut items = Vec::new();
        for item in paper.items.into_iter().filter(|item| chosen(&paper.id, item)) {
            let mut report = ItemReport { item, measured: Vec::new(), missing: None, same_as: None };
            if let Some(section) = report.item.section.clone() {
                match done.iter().find(|(name, _)| *name == section) {
                    Some((_, first)) => report.same_as = Some(first.clone()),
                    None => match measure(&section)? {
                        Ok(measured) => {
                            report.measured = measured;
                            done.push((section, report.item.name()));
                        }
                        Err(reason) => report.missing = Some(reason),
                    },
                }
            }
            items.push(report);
        }
        if !items.is_empty() {
            all.push(PaperReport { id: paper.id, title: paper.title, source: paper.source, items });
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_is_made_once_for_each_paper_and_no_item_vanishes() {
        let listed: usize = Papers::read().expect("a list").papers.iter().map(|paper| paper.items.len()).sum();
        let mut asked = Vec::new();
        let reports = collect(
            Papers::read().expect("a list"),
            |_, _| true,
            |name| {
                asked.push(name.to_owned());
                Ok::<_, ()>(if name == "li-bins" { Err("no GPU".into()) } else { Ok(Vec::new()) })
            },
        );
        let reports = reports.expect("reports");
        assert_eq!(reports.iter().map(|paper| paper.items.len()).sum::<usize>(), listed);
        assert_eq!(asked.iter().filter(|name| *name == "li-blocks").count(), 1);
        let li = &reports[0].items;
        let of = |number: &str| li.iter().find(|item| item.item.number == number).expect("an item");
        assert_eq!(of("12").missing.as_deref(), Some("no GPU"));
        assert_eq!(of("7").same_as.as_deref(), Some("Figure 6"));
        assert_eq!(
            [of("1").state(), of("12").state(), of("6").state()],
            ["not repeated", "not measured here", "measured"]
        );
    }
}
