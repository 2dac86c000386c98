//! Data of the backend that computes on a device: of the CPU's or of CUDA.

#[cfg(feature = "cuda")]
use std::sync::Arc;

#[cfg(feature = "cuda")]
use antsreg_kernels::Cuda;
use antsreg_kernels::{Backend, Cpu};

/// A kind of data that has another type on each backend, such as images.
pub(crate) trait PerBackend {
    /// The type of the data on a backend.
    type On<B: Backend>;
}

/// A backend that needs no further data.
impl PerBackend for () {
    type On<B: Backend> = ();
}

/// A backend, with data of one kind in its memory.
pub(crate) enum OnBackend<T: PerBackend> {
    Cpu(T::On<Cpu>),
    #[cfg(feature = "cuda")]
    Cuda(Arc<Cuda>, T::On<Cuda>),
}

/// Macro that evaluates an expression with a backend and the data in its memory. The same expression is compiled for
/// the CPU and for CUDA.
macro_rules! with_backend {
    ($on:expr, ($backend:ident, $data:pat) => $run:expr) => {
        match $on {
            $crate::backend::OnBackend::Cpu($data) => {
                let $backend = &antsreg_kernels::Cpu;
                $run
            }
            #[cfg(feature = "cuda")]
            $crate::backend::OnBackend::Cuda(cuda, $data) => {
                let $backend = cuda.as_ref();
                $run
            }
        }
    };
}

/// Macro that evaluates an expression with a backend and the data in its memory, and makes an [`OnBackend`] of the
/// same backend with the result.
macro_rules! map_backend {
    ($on:expr, ($backend:ident, $data:pat) => $run:expr) => {
        match $on {
            $crate::backend::OnBackend::Cpu($data) => {
                let $backend = &antsreg_kernels::Cpu;
                $crate::backend::OnBackend::Cpu($run)
            }
            #[cfg(feature = "cuda")]
            $crate::backend::OnBackend::Cuda(cuda, $data) => {
                let $backend = cuda.as_ref();
                let made = $run;
                $crate::backend::OnBackend::Cuda(cuda.clone(), made)
            }
        }
    };
}
pub(crate) use {map_backend, with_backend};

impl Clone for OnBackend<()> {
    fn clone(&self) -> OnBackend<()> {
        map_backend!(self, (_backend, ()) => ())
    }
}
