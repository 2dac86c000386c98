//! Runs many searches together. Each search is a state machine that asks for the costs of transform parameters. The
//! costs for all searches are evaluated in one batch.

use crate::Error;
use crate::parameters::Parameters;

/// A candidate: a set of transform parameters and its cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Candidate {
    pub parameters: Parameters,
    pub cost: f64,
}

/// Sorts candidates by cost, the lowest first.
pub(crate) fn best_first(candidates: &mut [Candidate]) {
    candidates.sort_by(|a, b| a.cost.total_cmp(&b.cost));
}

/// A minimisation from one start. The function [`AskTell::ask`] returns the parameters whose costs the minimisation
/// needs next, and [`AskTell::tell`] receives these costs.
pub(crate) trait AskTell {
    /// The sets of transform parameters whose costs this search needs next; empty if the search has ended.
    fn ask(&self) -> Vec<Parameters>;
    /// Receives the costs of the parameters that [`AskTell::ask`] returned, in the same order.
    fn tell(&mut self, costs: &[f64]);
    /// The set of parameters with the lowest cost that this search has found so far; the cost is 1 before any cost is
    /// known.
    fn found(&self) -> Candidate;
}

/// Runs every search to its end and returns the results. Each call of `evaluate` computes the costs of all points that
/// the searches ask for at that time.
pub(crate) fn run(
    searches: &mut [impl AskTell],
    mut evaluate: impl FnMut(&[Parameters]) -> Result<Vec<f64>, Error>,
) -> Result<Vec<Candidate>, Error> {
    loop {
        let questions: Vec<Vec<Parameters>> = searches.iter().map(AskTell::ask).collect();
        let batch = questions.concat();
        if batch.is_empty() {
            return Ok(searches.iter().map(AskTell::found).collect());
        }
        let costs = evaluate(&batch)?;
        let mut rest = costs.as_slice();
        for (search, questions) in searches.iter_mut().zip(&questions) {
            let (own, others) = rest.split_at(questions.len());
            rest = others;
            if !own.is_empty() {
                search.tell(own);
            }
        }
    }
}
