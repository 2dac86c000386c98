//! Tells time points of two people from time points of one person.

use antsreg_register::verdict::Verdict;

/// Mean squared correlation in small windows of two rigidly aligned images. Below the first number, they are of two people;
/// below the second, they may be. Second scans of the same person, with noise, reach 0.99, and two people of OASIS 0.60 to
/// 0.63 (`scripts/longitudinal_bars.py --pairs`). The first number lies in the middle of what is left for change and other
/// scanners; from there to the second, a disease can explain the difference.
const LOCAL: [f64; 2] = [0.75, 0.85];

/// The verdict on the rigid alignment of two time points: that on the registration, and whether they show one person.
pub fn judge(names: [&str; 2], verdict: Verdict) -> Verdict {
    let Some(local) = verdict.measures.map(|measures| measures.local) else { return verdict };
    let [first, second] = names;
    let (mut wrong, mut look) = (Vec::new(), Vec::new());
    if local < LOCAL[0] {
        wrong.push(format!(
            "{first} and {second} differ like two people (squared correlation in small windows {local:.2} after rigid alignment, \
             expected at least {})", LOCAL[1]
        ));
    } else if local < LOCAL[1] {
        look.push(format!(
            "{first} and {second} differ much for one person (squared correlation in small windows {local:.2} after rigid \
             alignment, expected at least {})", LOCAL[1]
        ));
    }
    verdict.and(Verdict::of_findings(wrong, look))
}
