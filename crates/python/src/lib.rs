//! The native part of the Python package `antsreg_gpu`: volumes, transforms and registrations as objects that hold memory of
//! this library and lend it to numpy without a copy. It holds no knowledge about registration. The package itself, in `python/`,
//! reads what users give (paths, images of other libraries) and shows what comes back.

mod apply;
mod bias;
mod chain;
mod command;
mod devices;
mod dlpack;
mod error;
mod fusion;
mod image;
mod labels;
mod many;
mod measures;
mod observer;
mod plan;
mod process;
mod register;
mod registration;
mod series;
mod space;
mod view;

/// The module `antsreg_gpu._native`.
#[pyo3::pymodule(name = "_native")]
mod native {
    #[pymodule_export]
    use crate::apply::{apply_points, resample, resample_labels};
    #[pymodule_export]
    use crate::bias::bias_correct;
    #[pymodule_export]
    use crate::chain::Chain;
    #[pymodule_export]
    use crate::command::command;
    #[pymodule_export]
    use crate::devices::{devices, release_devices, why_no_gpu};
    #[pymodule_export]
    use crate::dlpack::DeviceArray;
    #[pymodule_export]
    use crate::fusion::fuse;
    #[pymodule_export]
    use crate::image::Image;
    #[pymodule_export]
    use crate::labels::Labels;
    #[pymodule_export]
    use crate::many::Many;
    #[pymodule_export]
    use crate::measures::{jacobian, overlap};
    #[pymodule_export]
    use crate::plan::Plan;
    #[pymodule_export]
    use crate::process::{set_threads, threads};
    #[pymodule_export]
    use crate::register::{Fixed, Side, register};
    #[pymodule_export]
    use crate::registration::Registration;
    #[pymodule_export]
    use crate::series::{Series, register_series};
    #[pymodule_export]
    use crate::space::Space;

    /// The version of the library.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
