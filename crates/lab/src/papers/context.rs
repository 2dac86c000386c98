//! What all measurements share: the images, the devices, and results that several sections show.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;

use antsreg_core::{TransformChain, Volume};
use antsreg_kernels::{CcKernels, Cpu, Cuda};
use antsreg_linear::{Cost, Dof};

use super::registrations::{self, Deformed, Linear};
use super::scene::Scene;
use crate::error::Error;
use crate::histograms::Part;
use crate::histograms::plot::Figure;
use crate::histograms::setup::Setup;

/// The GPU of the measurements, with its set-up for histograms.
pub struct Gpu<'a> {
    pub cuda: &'a Cuda,
    pub setup: Setup<'a>,
}

/// What all measurements share.
pub struct Context<'a> {
    pub scene: Scene,
    pub gpu: Option<Gpu<'a>>,
    figures: RefCell<BTreeMap<&'static str, Vec<Figure<'static>>>>,
    affine: [OnceCell<[Option<Linear>; 2]>; 2],
    deformed: OnceCell<[Option<Deformed>; 3]>,
    rigid: OnceCell<Vec<Rigid>>,
}

/// Rigid registrations of a pair of contrasts: its name, and for each device and optimiser the mean time in s and the
/// median error in mm.
pub type Rigid = (String, Vec<Option<[f64; 2]>>);

/// The costs by which whole registrations are compared.
pub const COSTS: [(Cost, &str); 2] = [(Cost::CorrelationRatio, "CR"), (Cost::MutualInformation, "MI")];

/// Names of the devices and kernels of [`Context::deformed`].
pub const DEFORMED: [&str; 3] = ["CPU", "GPU, tiled", "GPU, textures"];

impl<'a> Context<'a> {
    pub fn new(scene: Scene, gpu: Option<Gpu<'a>>) -> Context<'a> {
        Context {
            scene,
            gpu,
            figures: RefCell::default(),
            affine: Default::default(),
            deformed: OnceCell::new(),
            rigid: OnceCell::new(),
        }
    }

    /// The GPU.
    pub fn cuda(&self) -> Option<&'a Cuda> {
        self.gpu.as_ref().map(|gpu| gpu.cuda)
    }

    /// The figures of a measurement of histogram algorithms; `None` without a GPU.
    pub fn figures(&self, name: &'static str, part: Part) -> Result<Option<Vec<Figure<'static>>>, Error> {
        let Some(gpu) = &self.gpu else { return Ok(None) };
        if let Some(kept) = self.figures.borrow().get(name) {
            return Ok(Some(kept.clone()));
        }
        let measured = part.figures(&gpu.setup)?;
        self.figures.borrow_mut().insert(name, measured.clone());
        Ok(Some(measured))
    }

    /// Affine registrations of the pair by a cost (its number in [`COSTS`]): on the CPU, and on the GPU.
    pub fn affine(&self, cost: usize) -> Result<&[Option<Linear>; 2], Error> {
        if self.affine[cost].get().is_none() {
            let [fixed, moving] = self.scene.pair();
            let options = registrations::options(COSTS[cost].0, Dof::Affine12);
            let on_gpu = |cuda: &Cuda| registrations::linear(cuda, true, [fixed, moving], &options);
            let found = [
                Some(registrations::linear(&Cpu, false, [fixed, moving], &options)?),
                self.cuda().map(on_gpu).transpose()?,
            ];
            let _ = self.affine[cost].set(found);
        }
        self.affine[cost].get().ok_or(Error::NotMeasured)
    }

    /// Deformable registrations of the pair, as [`DEFORMED`] names them.
    pub fn deformed(&self) -> Result<&[Option<Deformed>; 3], Error> {
        if self.deformed.get().is_none() {
            let start = self.affine(0)?[0].as_ref().ok_or(Error::NotMeasured)?.transform;
            let [fixed, moving] = self.scene.pair();
            let on_gpu = |kernels| {
                let one = |cuda: &Cuda| registrations::deformed(cuda, true, [fixed, moving], &start, kernels);
                self.cuda().map(one).transpose()
            };
            let found = [
                Some(registrations::deformed(&Cpu, false, [fixed, moving], &start, CcKernels::Tiled)?),
                on_gpu(CcKernels::Tiled)?,
                on_gpu(CcKernels::Textures)?,
            ];
            let _ = self.deformed.set(found);
        }
        self.deformed.get().ok_or(Error::NotMeasured)
    }

    /// Rigid registrations of all pairs of contrasts, which `measure` makes when they are first asked for.
    pub fn rigid(&self, measure: impl FnOnce() -> Result<Vec<Rigid>, Error>) -> Result<&[Rigid], Error> {
        if self.rigid.get().is_none() {
            let _ = self.rigid.set(measure()?);
        }
        self.rigid.get().map(Vec::as_slice).ok_or(Error::NotMeasured)
    }

    /// RMS and mean absolute difference of the pair under a chain, % of the fixed image's range.
    pub fn differences(&self, chain: &TransformChain) -> [f64; 2] {
        let [fixed, moving]: &[Volume; 2] = self.scene.pair();
        registrations::differences(fixed, moving, chain)
    }
}
