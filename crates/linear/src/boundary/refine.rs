//! Searches near a start for the transform with the lowest cost of boundary-based registration.

use antsreg_core::AffineTransform;
use antsreg_core::report::SearchStep;
use antsreg_kernels::{Backend, Contrast, ContrastRule};
use nalgebra::Point3;

use super::surface::{Samples, Surface};
use super::{Boundary, BoundaryKind, BoundaryOutcome};
use crate::images::Source;
use crate::lockstep::{Candidate, best_first};
use crate::parameters::{Frame, IDENTITY, Parameters, ROTATION, TRANSLATION, tolerances};
use crate::polish::{Rejected, polish};
use crate::progress::Progress;
use crate::{Dof, Error, Options, Outcome, coordinate_search};

/// The search begins at copies of the start, shifted by these distances (mm) along each axis and rotated by these
/// angles (degrees) about each axis.
const AROUND: [f64; 3] = [-3.0, 0.0, 3.0];
/// Number of shifted and rotated copies of the start transform that are optimised.
const KEPT: usize = 6;
/// Resolution levels of boundary-based registration, mm. A level sets the size of the optimiser's steps. The first
/// level uses only a subset of the border's points.
const LEVELS_MM: [f64; 3] = [2.0, 1.0, 0.5];
/// Largest number of Newton steps on a level.
const NEWTON_STEPS: usize = 12;
/// Number of sweeps of line searches over all parameters, on the first level.
const SWEEPS: usize = 2;
/// A point of the border has signal if an intensity there is above this share of the moving image's robust range.
/// Below, both sides of the point are background or signal drop-out.
const SIGNAL: f32 = 0.15;
/// Radius of the sphere over which distances between transforms are averaged, mm (Jenkinson 1999, technical report
/// TR99MJ1).
const RADIUS_MM: f64 = 80.0;

/// The moving image and the settings from which the cost of boundary-based registration is computed for transforms.
struct Costs<'a, B: Backend> {
    backend: &'a B,
    moving: &'a Source<B>,
    world_to_moving: AffineTransform,
    rule: ContrastRule,
    kind: BoundaryKind,
}

impl<B: Backend> Costs<'_, B> {
    /// For each transform (fixed → moving, RAS mm): the sums of the contrasts over all points of the white matter's
    /// border.
    fn contrasts(&self, samples: &Samples<B>, transforms: &[AffineTransform]) -> Result<Vec<Contrast>, Error> {
        let maps: Vec<_> = transforms.iter().map(|transform| self.world_to_moving.after(transform)).collect();
        Ok(self.backend.contrast(&samples.points, &self.moving.image, &self.rule, &maps)?)
    }

    /// The cost of boundary-based registration, from the sums of contrasts over the points of the white matter's
    /// border. `area` is the total area of these points, mm². A point without signal counts as a point without
    /// contrast.
    fn cost(&self, contrast: &Contrast, area: f64) -> f64 {
        let mean = match self.kind {
            BoundaryKind::Signed => contrast.signed,
            // The sign of the cost's slope does not matter here, because either side of the border may be brighter.
            BoundaryKind::Unsigned => -contrast.unsigned.abs(),
            BoundaryKind::Absolute => -contrast.signed.abs(),
        } / area;
        (1.0 + mean) / 2.0
    }

    /// The boundary cost of each set of parameters; 1 for parameters that have no valid transform.
    fn of(
        &self,
        samples: &Samples<B>,
        frame: &Frame,
        batch: &[Parameters],
        progress: &mut Progress,
    ) -> Result<Vec<f64>, Error> {
        let transforms: Vec<Option<AffineTransform>> =
            batch.iter().map(|parameters| frame.transform(parameters)).collect();
        let usable: Vec<AffineTransform> = transforms.iter().flatten().copied().collect();
        let mut costs = Vec::with_capacity(usable.len());
        for call in usable.chunks(self.backend.costs_in_one_call(2 * samples.count)) {
            costs.extend(self.contrasts(samples, call)?.iter().map(|found| self.cost(found, samples.area)));
            progress.poll()?;
        }
        let mut costs = costs.into_iter();
        Ok(transforms.iter().map(|usable| usable.and_then(|_| costs.next()).unwrap_or(1.0)).collect())
    }
}

/// Improves the result of a search, or a given start, by boundary-based registration. `frame` converts parameters to
/// transforms. The identity parameters give the transform that is improved. `moving` and `frame` have lengths in the unit
/// of the surface, `before` and the result in mm.
pub(crate) fn refine<B: Backend>(
    backend: &B,
    surface: &Surface<B>,
    moving: &Source<B>,
    frame: &Frame,
    before: Outcome,
    options: (&Options, &Boundary),
    progress: &mut Progress,
) -> Result<Outcome, Error> {
    let (options, boundary) = options;
    let (low, high) = moving.low_high;
    let rule = ContrastRule {
        slope: boundary.slope as f32,
        offset: boundary.offset as f32,
        least: low + SIGNAL * (high - low),
    };
    let world_to_moving = moving.grid.world_to_voxel();
    let costs = Costs { backend, moving, world_to_moving, rule, kind: boundary.kind };
    let (start, unit) = (*frame.start(), surface.unit);
    let found = search(&costs, surface, frame, options.dof, progress)?;
    let transform = frame.transform(&found.parameters).ok_or(Error::NoOverlap)?;
    let both = costs.contrasts(&surface.all, &[start, transform])?;
    if both[0].weight <= 0.0 && both[1].weight <= 0.0 {
        return Err(Error::NoOverlap);
    }
    let values = [0, 1].map(|n| costs.cost(&both[n], surface.all.area));
    let moved = apart(&start, &transform, frame);
    let taken = values[1] < values[0] && moved <= Boundary::FARTHEST_MM;
    let outcome = BoundaryOutcome {
        costs: values,
        moved_mm: moved * unit.mm(),
        counted: [0, 1].map(|n| both[n].weight / surface.all.area),
        taken,
    };
    let transform = unit.transform_in_mm(if taken { &transform } else { &start });
    Ok(Outcome { transform, cost: if taken { values[1] } else { values[0] }, boundary: Some(outcome), ..before })
}

/// Returns the parameters near the start with the lowest cost of boundary-based registration.
fn search<B: Backend>(
    costs: &Costs<B>,
    surface: &Surface<B>,
    frame: &Frame,
    dof: Dof,
    progress: &mut Progress,
) -> Result<Candidate, Error> {
    let rigid = dof.min(Dof::Rigid6);
    let mut candidates = vec![Candidate { parameters: IDENTITY, cost: 1.0 }];
    for (number, mm) in LEVELS_MM.into_iter().enumerate() {
        progress.begin(number, LEVELS_MM.len(), mm)?;
        let coarse = number == 0;
        let samples = if coarse { &surface.few } else { &surface.all };
        let mut of = |batch: &[Parameters]| costs.of(samples, frame, batch, progress);
        if coarse {
            let around = around(frame, rigid);
            let values = of(&around)?;
            let rated = around.into_iter().zip(values);
            let rated = rated.map(|(parameters, cost)| Candidate { parameters, cost }).collect();
            let starts: Vec<Parameters> = distinct(rated, mm).iter().map(|candidate| candidate.parameters).collect();
            candidates = coordinate_search::descend(&starts, &frame.directions(rigid, mm), SWEEPS, &mut of)?;
        }
        let model = if coarse { rigid } else { dof };
        let starts: Vec<Parameters> = candidates.iter().map(|candidate| candidate.parameters).collect();
        let polished = polish(&starts, &frame.directions(model, mm), NEWTON_STEPS, None, Rejected::Ends, of)?;
        // The second resolution level begins with the best two candidate transforms, and the third level with the best
        // one.
        let left = if coarse { 2 } else { 1 };
        candidates = polished.into_iter().map(|(candidate, _)| candidate).take(left).collect();
        progress.report(SearchStep::AllTogether, &candidates)?;
    }
    candidates.first().copied().ok_or(Error::NoOverlap)
}

/// Copies of the start, shifted along each axis and rotated about each axis about which the model rotates.
fn around(frame: &Frame, dof: Dof) -> Vec<Parameters> {
    let mut all = vec![IDENTITY];
    let turns = if dof >= Dof::Rigid6 { frame.turns() } else { 0..0 };
    let axes = turns.map(|axis| (ROTATION + axis, 1f64.to_radians()));
    for (parameter, unit) in axes.chain((0..3).map(|axis| (TRANSLATION + axis, 1.0))) {
        all = all
            .iter()
            .flat_map(|point| {
                AROUND.map(|size| {
                    let mut moved = *point;
                    moved[parameter] += size * unit;
                    moved
                })
            })
            .collect();
    }
    all
}

/// Selects the start and the best other candidates. A candidate close to a selected candidate is left out.
fn distinct(mut rated: Vec<Candidate>, mm: f64) -> Vec<Candidate> {
    /// Two candidates closer than this reach the same minimum; in units of the parameters' tolerances.
    const NEAR: f64 = 8.0;
    best_first(&mut rated);
    let start = rated.iter().find(|candidate| candidate.parameters == IDENTITY).copied();
    let mut kept: Vec<Candidate> = start.into_iter().collect();
    for candidate in rated {
        let near = |other: &Candidate| tolerances(&candidate.parameters, &other.parameters, mm) < NEAR;
        if kept.len() < KEPT && !kept.iter().any(near) {
            kept.push(candidate);
        }
    }
    kept
}

/// Root-mean-square distance between the positions to which two transforms map the points of a sphere about the head,
/// mm.
fn apart(a: &AffineTransform, b: &AffineTransform, frame: &Frame) -> f64 {
    let centre: Point3<f64> = frame.fixed_centre();
    let (matrix, shift) = (b.matrix - a.matrix, b.apply(&centre) - a.apply(&centre));
    (RADIUS_MM.powi(2) / 5.0 * matrix.norm_squared() + shift.norm_squared()).sqrt()
}

#[cfg(test)]
mod tests;
