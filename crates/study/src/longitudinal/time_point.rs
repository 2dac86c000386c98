//! The time points of a person: from images, tables and BIDS folders, with dates.

use std::path::{Path, PathBuf};

use super::Error;
use crate::subjects::{self, Subject};

/// An image of the person.
#[derive(Debug, Clone, PartialEq)]
pub struct TimePoint {
    /// Name; the names of its output files begin with it.
    pub name: String,
    /// Path of the image.
    pub image: PathBuf,
    /// Path of the mask of its brain.
    pub mask: Option<PathBuf>,
    /// Path of its label map.
    pub labels: Option<PathBuf>,
    /// Date as given: a day or a number of years.
    pub date: Option<String>,
    /// The date in years: since the year 0 for days.
    pub years: Option<f64>,
}

impl TimePoint {
    /// Paths of all input files.
    pub(super) fn inputs(&self) -> impl Iterator<Item = &Path> {
        [Some(&self.image), self.mask.as_ref(), self.labels.as_ref()].into_iter().flatten().map(PathBuf::as_path)
    }
}

/// Lists time points: images, tables (.csv) with the column `image` and, if wanted, `subject`, `mask`, `labels` and `date`,
/// or the BIDS folder of a person. `dates` are the dates in the order of the images; without them, those of the tables
/// are taken. The time points come back sorted by date, then by name.
///
/// # Errors
/// Lists that cannot be read; fewer than two time points; several persons; dates that cannot be read or are not complete.
pub fn time_points(sources: &[PathBuf], dates: &[String]) -> Result<Vec<TimePoint>, crate::Error> {
    let mut found = Vec::new();
    for source in sources {
        found.extend(listed(source)?);
    }
    if found.len() < 2 {
        return Err(Error::Few { found: found.len() }.into());
    }
    if !dates.is_empty() {
        if dates.len() != found.len() {
            return Err(Error::Dates { found: dates.len(), expected: found.len() }.into());
        }
        found.iter_mut().zip(dates).for_each(|(subject, date)| subject.date = Some(date.clone()));
    }
    // Names are checked over all sources together.
    subjects::check_names(&found)?;
    let days = found.first().and_then(|first| first.date.as_deref()).map(is_day);
    let point = |subject: Subject| {
        if subject.images.len() != 1 {
            return Err(Error::Channels { name: subject.name, found: subject.images.len() });
        }
        if subject.date.as_deref().map(is_day) != days {
            return Err(Error::SomeDates { name: subject.name });
        }
        let date = |text: &String| {
            years(text).ok_or_else(|| Error::Date { name: subject.name.clone(), found: text.clone() })
        };
        let years = subject.date.as_ref().map(date).transpose()?;
        let Subject { name, images, mask, labels, date, .. } = subject;
        Ok(TimePoint { name, image: images.into_iter().next().unwrap_or_default(), mask, labels, date, years })
    };
    let mut points = found.into_iter().map(point).collect::<Result<Vec<TimePoint>, Error>>()?;
    points.sort_by(|a, b| {
        a.years.partial_cmp(&b.years).unwrap_or(std::cmp::Ordering::Equal).then_with(|| a.name.cmp(&b.name))
    });
    Ok(points)
}

/// The subjects of one source. A BIDS folder must have one person.
fn listed(source: &Path) -> Result<Vec<Subject>, crate::Error> {
    if !source.is_dir() {
        return Ok(subjects::list(&[source.to_owned()], &[])?.subjects);
    }
    let own = source.file_name().and_then(|name| name.to_str()).filter(|name| name.starts_with("sub-"));
    let root = match (own, source.parent()) {
        (Some(_), Some(parent)) if parent.as_os_str().is_empty() => Path::new("."),
        (Some(_), Some(parent)) => parent,
        _ => source,
    };
    let mut found = subjects::list(&[root.to_owned()], &[])?.subjects;
    let person = |subject: &Subject| subject.name.split('_').next().unwrap_or_default().to_owned();
    found.retain(|subject| own.is_none_or(|own| person(subject) == own));
    if let Some(first) = found.first().map(&person)
        && let Some(other) = found.iter().map(&person).find(|other| *other != first)
    {
        return Err(Error::Persons { path: source.into(), first, other }.into());
    }
    Ok(found)
}

/// Whether a date is written as a day, and not as a number of years.
fn is_day(text: &str) -> bool {
    text.matches('-').count() == 2
}

/// Mean length of a year of the Gregorian calendar, days.
const DAYS_PER_YEAR: f64 = 365.2425;

/// A date in years: a day such as 2019-03-28, or a number of years.
fn years(text: &str) -> Option<f64> {
    if !is_day(text) {
        return text.parse().ok().filter(|years: &f64| years.is_finite());
    }
    let mut parts = text.split('-').map(|part| part.parse::<u32>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let lengths = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = *lengths.get(usize::try_from(month).ok()?.checked_sub(1)?)?;
    if day == 0 || day > length || year > 9999 {
        return None;
    }
    let before: u32 = lengths.iter().take(month as usize - 1).sum();
    let leaps = |year: u32| year / 4 - year / 100 + year / 400;
    let days = 365 * year + year.checked_sub(1).map_or(0, |last| leaps(last) + 1) + before + day - 1;
    Some(f64::from(days) / DAYS_PER_YEAR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_by_the_calendar() {
        let days = |text: &str| (years(text).expect(text) * DAYS_PER_YEAR).round();
        // Python: (date(2020, 3, 1) - date(2019, 3, 1)).days and so on.
        assert_eq!(days("2020-03-01") - days("2019-03-01"), 366.0);
        assert_eq!(days("2019-03-01") - days("2018-03-01"), 365.0);
        assert_eq!(days("2000-03-01") - days("1900-03-01"), 36525.0);
        assert_eq!(days("2024-01-01") - days("2023-12-31"), 1.0);
        assert_eq!(years("71.5"), Some(71.5));
        for wrong in ["2019-02-29", "2019-13-01", "2019-00-10", "2019-01-00", "x", "", "1-2-3-4", "nan", "2019-01"] {
            assert_eq!(years(wrong), None, "{wrong}");
        }
    }
}
