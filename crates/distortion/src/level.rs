//! Gauss-Newton steps on one level.

use rayon::prelude::*;

use crate::Options;
use crate::pairs::Pair;
use crate::system::System;

/// The largest change of a displacement by position that is allowed. At 1 the signal of a whole region would fall into
/// one point in an image.
const STEEPEST: f64 = 0.95;
/// A level ends when a step lowers the energy by a smaller share than this.
const CONVERGED: f64 = 1e-3;
/// Shortest part of a step that is tried.
const SHORTEST: f64 = 1e-2;

/// Improves the displacement at the faces, mm, until the energy hardly changes. Returns the number of steps.
pub(crate) fn descend(pair: &Pair, displacement: &mut Vec<f64>, smoothness: f64, options: &Options) -> usize {
    let mut here = pair.compare(displacement, smoothness);
    for done in 0..options.steps {
        let system = System::new(pair.lines, &here.weights, smoothness);
        let step = system.solve(&system.gradient(&here.residual, displacement), options.iterations);
        let mut part = 1.0;
        let next = loop {
            let tried: Vec<f64> = displacement.par_iter().zip(&step).map(|(at, step)| at + part * step).collect();
            let there = pair.compare(&tried, smoothness);
            if there.energy < here.energy && steepest(pair, &tried) < STEEPEST {
                break Some((tried, there));
            }
            part *= 0.5;
            if part < SHORTEST {
                break None;
            }
        };
        let Some((tried, there)) = next else { return done };
        let gained = here.energy - there.energy;
        *displacement = tried;
        let before = std::mem::replace(&mut here, there).energy;
        if gained < CONVERGED * before {
            return done + 1;
        }
    }
    options.steps
}

/// The largest change of the displacement by position along the lines, for the images with the longer displacements.
fn steepest(pair: &Pair, displacement: &[f64]) -> f64 {
    let factor = pair.scales[0].abs().max(pair.scales[1].abs()) / pair.lines.size_mm[0];
    let of_line = |line: &[f64]| line.windows(2).map(|near| (near[1] - near[0]).abs()).fold(0.0, f64::max);
    factor * displacement.par_chunks(pair.lines.faces()).map(of_line).reduce(|| 0.0, f64::max)
}
