//! Relaxation of two displacement fields that should be inverse to each other.

mod relax;

use super::{Cuda, Field};
use crate::ops::Relaxation;
use crate::{Error, RelaxRound};

pub use relax::RelaxWorkspace;

impl Relaxation for Cuda {
    type RelaxWorkspace = RelaxWorkspace;

    fn relax_workspace(&self, shape: [usize; 3]) -> Result<RelaxWorkspace, Error> {
        RelaxWorkspace::new(self, shape)
    }

    fn examine_all(&self, workspace: &mut RelaxWorkspace) -> Result<(), Error> {
        workspace.examine_all()
    }

    fn relax(
        &self,
        pair: [&mut Field; 2],
        round: &RelaxRound,
        workspace: &mut RelaxWorkspace,
    ) -> Result<[usize; 2], Error> {
        relax::relax(self, pair, round, workspace)
    }
}
