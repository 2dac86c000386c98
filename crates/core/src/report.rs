//! What a running stage tells whoever watches it. Stages never print.

/// The stage that reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Rigid to affine, by any of its costs.
    Linear,
    /// Symmetric diffeomorphic.
    Syn,
}

/// One finished iteration, or one finished step of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Who reports.
    pub stage: Stage,
    /// Level, coarsest 0.
    pub level: usize,
    /// Levels in all.
    pub levels: usize,
    /// What happens on this level, in a few words: "8 mm, coarse search", "shrink 4".
    pub what: String,
    /// Iterations finished on this level.
    pub iteration: usize,
    /// Most iterations this level takes.
    pub iterations: usize,
    /// Value of the cost now, lower is better.
    pub energy: f64,
}

/// Receives the reports of a running stage.
pub trait Observer {
    /// Called after every iteration.
    fn report(&mut self, report: &Report);
}

/// Watches nothing.
impl Observer for () {
    fn report(&mut self, _: &Report) {}
}
