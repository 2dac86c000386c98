//! The verdict on a result.

use std::fmt::{Display, Formatter};

use serde::{Deserialize, Serialize};

use crate::{Measures, Model};

/// Whether a result can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// The result is very probably wrong.
    Wrong,
    /// The result may be wrong: look at it before it is used.
    Look,
    /// Nothing speaks against the result.
    Sound,
}

impl Display for Judgement {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Judgement::Wrong => "wrong",
            Judgement::Look => "look",
            Judgement::Sound => "sound",
        })
    }
}

/// The verdict on a result: a judgement, the probability that the result is right, and what speaks against it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The judgement.
    pub judgement: Judgement,
    /// Probability that the result is right, 0 to 1, among results like the made cases of the model.
    pub probability: f64,
    /// What speaks against the result, as sentences without a full stop, the strongest reason first.
    pub reasons: Vec<String>,
    /// The numbers that the verdict is computed from; `None` if the images have no contrast where both have data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measures: Option<Measures>,
}

impl Verdict {
    /// Judges a registration by its measures, `None` if they could not be computed.
    pub fn of(measures: Option<Measures>) -> Verdict {
        match measures {
            Some(measures) => Model::judge_built_in(&measures),
            None => Verdict {
                judgement: Judgement::Wrong,
                probability: 0.0,
                reasons: vec!["an image has no contrast where both images have data".into()],
                measures: None,
            },
        }
    }

    /// The worse of two verdicts on parts of one result: the judgement and the probability of the worse part, with the
    /// reasons of both.
    #[must_use]
    pub fn and(self, other: Verdict) -> Verdict {
        let first_is_worse = (self.judgement, self.probability) <= (other.judgement, other.probability);
        let (mut worse, better) = if first_is_worse { (self, other) } else { (other, self) };
        worse.reasons.extend(better.reasons);
        worse.measures = worse.measures.or(better.measures);
        worse
    }

    /// A verdict that findings give without a model: `wrong` findings, then findings that are a reason to look.
    pub fn of_findings(wrong: Vec<String>, look: Vec<String>) -> Verdict {
        let (judgement, probability) = match (wrong.is_empty(), look.is_empty()) {
            (false, _) => (Judgement::Wrong, 0.02),
            (true, false) => (Judgement::Look, 0.5),
            (true, true) => (Judgement::Sound, 0.99),
        };
        Verdict { judgement, probability, reasons: wrong.into_iter().chain(look).collect(), measures: None }
    }
}

impl Display for Verdict {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({:.2})", self.judgement, self.probability)?;
        if !self.reasons.is_empty() {
            write!(f, ": {}", self.reasons.join("; "))?;
        }
        Ok(())
    }
}
