//! Native part of the Python package `antsreg_gpu`. Volumes, transforms and registrations are Python objects that own
//! memory of this library; numpy arrays share that memory without a copy. The algorithms are in other crates. The
//! Python part, in `python/`, reads what users give (paths, images of other libraries) and presents the results.

mod apply;
mod bias;
mod brain;
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
mod options;
mod plan;
mod process;
mod register;
mod registration;
mod series;
mod space;
mod studies;
mod view;

/// The Python module `antsreg_gpu._native`.
#[pyo3::pymodule(name = "_native")]
mod native {
    #[pymodule_export]
    use crate::apply::{apply_points, resample, resample_labels};
    #[pymodule_export]
    use crate::bias::bias_correct;
    #[pymodule_export]
    use crate::brain::extract_brain;
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
    use crate::measures::{compare, jacobian, overlap};
    #[pymodule_export]
    use crate::options::{arguments, words};
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
    #[pymodule_export]
    use crate::studies::run_study;

    /// The version of the library, such as `0.2.0`.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
