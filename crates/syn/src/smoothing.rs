//! Smoothing of the updates and of the fields of both images, on one level.

use antsreg_core::Grid;
use antsreg_kernels::Backend;

use crate::splines::Splines;
use crate::{Error, Mesh, Options};

/// The B-splines that are fitted instead of Gaussian smoothing.
pub(crate) struct Smoothing<B: Backend> {
    /// Those that are fitted to updates.
    pub(crate) update: Option<Splines<B>>,
    /// Those that are fitted to the displacement fields after each update.
    pub(crate) total: Option<Splines<B>>,
}

impl<B: Backend> Smoothing<B> {
    /// The B-splines of the level with the number `level` and the grid `grid`. `full` is the grid of the fixed image.
    pub(crate) fn new(
        backend: &B,
        options: &Options,
        full: &Grid,
        level: usize,
        grid: &Grid,
    ) -> Result<Smoothing<B>, Error> {
        let splines =
            |mesh: Option<Mesh>| mesh.map(|mesh| Splines::new(backend, &mesh, full, level, grid)).transpose();
        Ok(Smoothing { update: splines(options.update_mesh)?, total: splines(options.total_mesh)? })
    }

    /// Smooths both updates. `scratch` is overwritten.
    pub(crate) fn smooth_updates(
        &mut self,
        backend: &B,
        options: &Options,
        updates: [&mut B::Field; 2],
        scratch: [&mut B::Field; 2],
    ) -> Result<(), Error> {
        smooth(backend, &mut self.update, options.update_variance, updates, scratch)
    }

    /// Smooths both displacement fields. `scratch` is overwritten.
    pub(crate) fn smooth_fields(
        &mut self,
        backend: &B,
        options: &Options,
        fields: [&mut B::Field; 2],
        scratch: [&mut B::Field; 2],
    ) -> Result<(), Error> {
        smooth(backend, &mut self.total, options.total_variance, fields, scratch)
    }
}

/// Smooths two fields by B-splines or, without these, by a Gaussian.
fn smooth<B: Backend>(
    backend: &B,
    splines: &mut Option<Splines<B>>,
    variance: f64,
    fields: [&mut B::Field; 2],
    scratch: [&mut B::Field; 2],
) -> Result<(), Error> {
    match splines {
        Some(splines) => fields.into_iter().try_for_each(|field| splines.smooth(backend, field)),
        None => Ok(backend.smooth_both_fields(fields, variance, scratch)?),
    }
}
