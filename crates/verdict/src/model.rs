//! The model that makes a verdict of measures: a logistic regression on clipped measures and their products.
//! `scripts/verdict_fit.py` makes its file.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::{Judgement, Measures, Verdict};

/// A logistic model of the probability that a result is right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// What the model was fitted on, in words.
    pub provenance: String,
    /// The logarithm of the odds where all terms are 0.
    pub intercept: f64,
    /// The terms, one for each measure that counts.
    pub terms: Vec<Term>,
    /// Coefficients of the products of two terms: a row for each term, with those of the term itself and of each later
    /// one.
    pub products: Vec<Vec<f64>>,
    /// Results with at least this probability are sound.
    pub sound: f64,
    /// Results with a lower probability are wrong.
    pub wrong: f64,
    /// A mirror image that matches better by more than this is a reason to look.
    pub mirror: f64,
}

/// A term of the model: the measure's distance from the centre in units of the scale, clipped to ±[`CLIP`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Term {
    /// Name of the measure, as in [`Measures::named`].
    pub name: String,
    /// Mean of the measure over good results.
    pub centre: f64,
    /// Standard deviation of the measure over good results.
    pub scale: f64,
    /// Coefficient.
    pub coefficient: f64,
    /// First and 99th percentile of the measure over good results.
    pub usual: [f64; 2],
}

/// Largest distance from the centre that counts, in units of the scale.
const CLIP: f64 = 6.0;

/// The model's file.
const FILE: &str = include_str!("../model.json");

static BUILT_IN: LazyLock<Result<Model, serde_json::Error>> = LazyLock::new(|| serde_json::from_str(FILE));

impl Model {
    /// The verdict of the built-in model on these measures.
    pub(crate) fn judge_built_in(measures: &Measures) -> Verdict {
        match &*BUILT_IN {
            Ok(model) => model.judge(measures),
            Err(error) => Verdict {
                judgement: Judgement::Look,
                probability: 0.5,
                reasons: vec![format!("the model of the verdict cannot be read: {error}")],
                measures: Some(*measures),
            },
        }
    }

    /// The logarithm of the odds that a result is right, from the distances of its measures.
    fn odds(&self, distances: &[f64]) -> f64 {
        let of_terms: f64 =
            self.terms.iter().zip(distances).map(|(term, distance)| term.coefficient * distance).sum();
        let of_row = |(n, row): (usize, &Vec<f64>)| -> f64 {
            let sum: f64 =
                row.iter().zip(&distances[n..]).map(|(coefficient, distance)| coefficient * distance).sum();
            distances[n] * sum
        };
        self.intercept + of_terms + self.products.iter().enumerate().map(of_row).sum::<f64>()
    }

    /// The verdict on these measures.
    pub fn judge(&self, measures: &Measures) -> Verdict {
        let named = measures.named();
        let value = |name: &str| named.iter().find(|(other, _)| *other == name).map_or(0.0, |(_, value)| *value);
        let mut distances: Vec<f64> = self.terms.iter().map(|term| term.distance(value(&term.name))).collect();
        let odds = self.odds(&distances);
        let mut reasons = Vec::new();
        for (n, Term { name, usual: [low, high], .. }) in self.terms.iter().enumerate() {
            let value = value(name);
            let distance = std::mem::take(&mut distances[n]);
            let part = odds - self.odds(&distances);
            distances[n] = distance;
            // A measure is a reason if it lowers the probability and lies outside what good results have.
            if part < 0.0 && (value < *low || value > *high) {
                reasons.push((part, format!("{} {value:.2} (good results: {low:.2} to {high:.2})", in_words(name))));
            }
        }
        reasons.sort_by(|a, b| a.0.total_cmp(&b.0));
        let probability = 1.0 / (1.0 + (-odds).exp());
        let mut judgement = match probability {
            _ if probability >= self.sound => Judgement::Sound,
            _ if probability >= self.wrong => Judgement::Look,
            _ => Judgement::Wrong,
        };
        let mut reasons: Vec<String> = match judgement {
            Judgement::Sound => Vec::new(),
            _ => reasons.into_iter().map(|(_, reason)| reason).collect(),
        };
        if measures.mirror > self.mirror {
            judgement = judgement.min(Judgement::Look);
            reasons.push(format!(
                "the mirror image of the moving image matches better ({:.2} more of the variance in small windows): \
                 left and right may be exchanged",
                measures.mirror
            ));
        }
        Verdict { judgement, probability, reasons, measures: Some(*measures) }
    }
}

impl Term {
    fn distance(&self, value: f64) -> f64 {
        ((value - self.centre) / self.scale).clamp(-CLIP, CLIP)
    }
}

/// A measure in words.
fn in_words(name: &str) -> &str {
    match name {
        "information" => "mutual information after the affine",
        "explained" => "squared correlation after the affine",
        "local" => "squared correlation in small windows after the affine",
        "local_warped" => "squared correlation in small windows after the warp",
        "overlap" => "overlap of the objects after the affine",
        "overlap_warped" => "overlap of the objects after the warp",
        "covered" => "share of the fixed object that is covered",
        "gain" => "gain of information at another place",
        "local_gain" => "gain of correlation in small windows at another place",
        "moved" => "distance of the best other place, as a share of the object",
        "settled" => "distance of the nearest optimum, as a share of the object",
        "apart" => "distance between the optima of two costs, as a share of the object",
        "sharpness" => "sharpness of the optimum",
        "mirror" => "gain of correlation by a mirror image",
        "scale" => "logarithm of the mean scale",
        "stretch" => "logarithm of the ratio of scales",
        "structure" => "correlation of neighbouring voxels",
        "jacobian" => "logarithm of the most extreme Jacobian determinant",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_model_can_be_read_and_names_measures() {
        let model: Model = serde_json::from_str(FILE).expect("a model");
        let named = Measures::default().named();
        assert!(model.terms.len() > 3 && !model.provenance.is_empty() && model.wrong < model.sound);
        for term in &model.terms {
            assert!(named.iter().any(|(name, _)| *name == term.name), "{}", term.name);
            assert!(term.scale > 0.0 && term.usual[0] <= term.usual[1]);
        }
        let count = model.terms.len();
        assert!(model.products.iter().map(Vec::len).eq((0..count).map(|n| count - n)));
    }

    #[test]
    fn a_measure_outside_the_usual_range_is_a_reason() {
        let term = |name: &str, coefficient| Term {
            name: name.into(),
            centre: 0.5,
            scale: 0.1,
            coefficient,
            usual: [0.3, 0.7],
        };
        let model = Model {
            provenance: String::new(),
            intercept: 4.0,
            terms: vec![term("overlap", 2.0), term("moved", -1.0)],
            products: vec![vec![-0.5, 0.25], vec![0.0]],
            sound: 0.9,
            wrong: 0.1,
            mirror: 0.2,
        };
        let good = Measures { overlap: 0.6, moved: 0.4, ..Measures::default() };
        let verdict = model.judge(&good);
        assert_eq!((verdict.judgement, verdict.reasons.len()), (Judgement::Sound, 0));
        let bad = model.judge(&Measures { overlap: 0.1, moved: 0.4, ..good });
        assert_eq!(bad.judgement, Judgement::Wrong);
        assert!(bad.reasons.len() == 1 && bad.reasons[0].starts_with("overlap"), "{:?}", bad.reasons);
        // Distances of -4 and -1: 4 - 8 + 1 - 0.5·16 + 0.25·4.
        assert!((bad.probability - 1.0 / (1.0 + 10.0f64.exp())).abs() < 1e-9, "{}", bad.probability);
        let mirrored = model.judge(&Measures { mirror: 0.3, ..good });
        assert_eq!((mirrored.judgement, mirrored.reasons.len()), (Judgement::Look, 1));
    }
}
