//! Relaxation of two displacement fields that should be inverse to each other.

mod relax;

use super::{Cpu, Field};
use crate::ops::Relaxation;
use crate::{Error, RelaxRound};

pub use relax::RelaxWorkspace;

impl Relaxation for Cpu {
    type RelaxWorkspace = RelaxWorkspace;

    fn relax_workspace(&self, shape: [usize; 3]) -> Result<RelaxWorkspace, Error> {
        Ok(RelaxWorkspace::new(shape))
    }

    fn examine_all(&self, workspace: &mut RelaxWorkspace) -> Result<(), Error> {
        workspace.examine_all();
        Ok(())
    }

    fn relax(
        &self,
        pair: [&mut Field; 2],
        round: &RelaxRound,
        workspace: &mut RelaxWorkspace,
    ) -> Result<[usize; 2], Error> {
        for field in &pair {
            Error::check_shape("relax", workspace.shape, field.shape)?;
        }
        Ok(relax::relax(pair, round, workspace))
    }
}
