//! The option `--report`, which asks for an HTML page about the result of a command.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::values::ValueError;

/// The option `--report`.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct ReportArgs {
    /// Also write an HTML page about the result; it needs no network [default of FILE: the start of the output names,
    /// followed by report.html]
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, help_heading = "Output")]
    report: Option<Option<PageName>>,
}

impl ReportArgs {
    /// Returns the path of the HTML page; `None` without the option `--report`. If the option has no value, the
    /// function `usual` returns the path.
    pub fn path(&self, usual: impl FnOnce() -> PathBuf) -> Option<PathBuf> {
        let given = self.report.as_ref()?;
        Some(given.as_ref().map_or_else(usual, |PageName(path)| path.clone()))
    }
}

/// Path of an HTML page, with an extension that browsers expect: `.html` or `.htm`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PageName(PathBuf);

impl FromStr for PageName {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<PageName, ValueError> {
        let path = Path::new(text);
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("html" | "htm") => Ok(PageName(path.into())),
            _ => Err(ValueError::new("a name that ends in .html", text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_ends_in_html() {
        assert_eq!("a/b.html".parse(), Ok(PageName("a/b.html".into())));
        for text in ["", "b", ".html", "out_Warped.nii.gz", "record.json"] {
            assert!(text.parse::<PageName>().is_err(), "{text}");
        }
    }
}
