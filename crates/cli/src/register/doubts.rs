//! What there is to doubt about a result that was found all the same: told on standard error, kept in the record.

use antsreg_syn as syn;

use super::record::SynRecord;

/// A line for each level of which nothing was kept.
pub fn undone(course: &syn::Course) -> impl Iterator<Item = String> {
    let (levels, all) = (course.levels.iter().enumerate(), course.levels.len());
    let undone = levels.filter(|(_, level)| level.undone);
    undone.map(move |(n, _)| format!("syn {}/{all}: undone, as it left the images no more alike", n + 1))
}

/// What there is to doubt, a sentence each.
pub fn doubts(syn: Option<&SynRecord>) -> Vec<String> {
    missing(syn).into_iter().collect()
}

/// Where the warps are not what was asked for.
fn missing(syn: Option<&SynRecord>) -> Option<String> {
    let SynRecord { beyond_limits, relaxing_rounds, .. } = syn.filter(|syn| syn.beyond_limits > 0)?;
    Some(format!(
        "{beyond_limits} voxels of the warps still fold, or miss their inverse by more than --inverse-limit, after \
         {relaxing_rounds} rounds of relaxing"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warps_that_still_miss_each_other_are_doubted() {
        let syn = |beyond_limits| SynRecord { levels: Vec::new(), relaxing_rounds: 40, beyond_limits };
        assert_eq!(missing(Some(&syn(0))), None);
        let doubt = missing(Some(&syn(17))).expect("a doubt");
        for word in ["17 voxels", "--inverse-limit", "40 rounds"] {
            assert!(doubt.contains(word), "`{word}` is missing in: {doubt}");
        }
        assert_eq!(missing(None), None);
    }
}
