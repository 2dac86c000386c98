//! The list of all tables and figures of the five papers: what each shows, the numbers that the paper prints, and the
//! measurement that repeats it, or the reason why it cannot be repeated.

use serde::{Deserialize, Serialize};

/// All papers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Papers {
    pub papers: Vec<Paper>,
}

/// One paper.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Paper {
    /// Short name for `--only`, such as `li-2015`.
    pub id: String,
    /// Authors, year and title.
    pub title: String,
    /// Journal or place of publication.
    pub source: String,
    pub items: Vec<Item>,
}

/// Whether an item is a figure or a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Figure,
    Table,
}

/// A table or a figure of a paper. Exactly one of `section` and `reason` is there.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    pub kind: Kind,
    /// Number of the item, as printed: `6`, `4-12` or `A.1`.
    pub number: String,
    /// What the item shows.
    pub caption: String,
    /// Section of the paper where the item is discussed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// The measurement that repeats the item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// Why the item cannot be repeated, or has nothing to repeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Numbers of the paper.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quoted: Vec<Quoted>,
    /// Sentences of the paper.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<String>,
    /// What differs between the paper's experiment and ours.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub differs: String,
}

/// A table of the paper.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quoted {
    pub title: String,
    /// Heads of the columns after the first.
    pub columns: Vec<String>,
    /// The cells as printed; the first of each row is the row's name.
    pub rows: Vec<Vec<String>>,
}

impl Papers {
    /// Reads the embedded list.
    pub fn read() -> Result<Papers, serde_json::Error> {
        serde_json::from_str(include_str!("list.json"))
    }
}

impl Item {
    /// The item's name, such as `Figure 6`.
    pub fn name(&self) -> String {
        let kind = match self.kind {
            Kind::Figure => "Figure",
            Kind::Table => "Table",
        };
        format!("{kind} {}", self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chapters, each with the last number of an item.
    type Chapters = &'static [(&'static str, usize)];

    /// The numbers of the figures and tables of each paper, counted in its text: in each chapter (empty for papers whose
    /// items are numbered through) they run from 1 to the last number.
    const COUNTED: &[(&str, Kind, Chapters)] = &[
        ("li-2015", Kind::Figure, &[("", 19)]),
        ("li-2015", Kind::Table, &[("", 9)]),
        ("luo-2015", Kind::Figure, &[("", 6)]),
        ("luo-2015", Kind::Table, &[("", 4)]),
        ("shams-2010", Kind::Figure, &[("", 8)]),
        ("shams-2010", Kind::Table, &[("", 1), ("A.", 2)]),
        ("brosch-2009", Kind::Figure, &[("", 3)]),
        ("brosch-2009", Kind::Table, &[("", 1)]),
        ("sun-2010", Kind::Figure, &[("1-", 2), ("2-", 10), ("3-", 14), ("4-", 15)]),
        ("sun-2010", Kind::Table, &[("4-", 7)]),
    ];

    #[test]
    fn every_figure_and_table_of_the_papers_is_listed_once() {
        let papers = Papers::read().expect("a list").papers;
        let mut listed = 0;
        for (id, kind, chapters) in COUNTED {
            let paper = papers.iter().find(|paper| paper.id == *id).expect("a paper");
            let found: Vec<&str> =
                paper.items.iter().filter(|item| item.kind == *kind).map(|item| item.number.as_str()).collect();
            let expected: Vec<String> = chapters
                .iter()
                .flat_map(|(chapter, last)| (1..=*last).map(move |n| format!("{chapter}{n}")))
                .collect();
            assert_eq!(found, expected, "{id} {kind:?}");
            listed += found.len();
        }
        assert_eq!(listed, papers.iter().map(|paper| paper.items.len()).sum::<usize>());
    }

    #[test]
    fn every_item_has_a_measurement_or_a_reason() {
        for paper in Papers::read().expect("a list").papers {
            for item in &paper.items {
                let name = format!("{} {}", paper.id, item.name());
                assert!(item.section.is_some() != item.reason.is_some(), "{name}");
                if let Some(section) = &item.section {
                    assert!(super::super::sections::NAMES.contains(&section.as_str()), "{name}: {section}");
                    assert!(!item.quoted.is_empty() || !item.said.is_empty(), "{name} quotes nothing");
                    assert!(!item.differs.is_empty() && !item.place.is_empty(), "{name}");
                }
                for quoted in &item.quoted {
                    let width = quoted.columns.len() + 1;
                    assert!(quoted.rows.iter().all(|row| row.len() == width), "{name}: {}", quoted.title);
                }
            }
        }
    }
}
