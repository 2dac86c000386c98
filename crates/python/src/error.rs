//! Converts errors of the Rust libraries to Python exceptions of the package `antsreg_gpu`. The messages stay the same.

use antsreg_core::io::{self, ErrorKind};
use antsreg_core::{ChainError, GridMismatch};
use antsreg_register as register;
use antsreg_study as study;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// Why a call from Python failed.
#[derive(Debug)]
pub enum Failure {
    /// An error of the Rust libraries.
    Study(Box<study::Error>),
    /// A Python exception that ends the call: Ctrl-C, or an exception that a callback raised.
    Python(PyErr),
    /// An error that this module found, with the class of its Python exception and its message.
    Own(Class, String),
}

/// The exception classes of the Python package, which are defined in `_errors.py`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Exception that is raised if images, transforms or labels cannot be used.
    Input,
    /// Exception that is raised if options are unknown, out of range, or cannot be combined.
    Option,
    /// Exception that is raised if a file cannot be read or written.
    File,
    /// Exception that is raised if a file or folder does not exist.
    Missing,
    /// Exception that is raised if a device cannot be used, or fails during a computation.
    Device,
    /// Exception that is raised if a device has too little memory.
    DeviceMemory,
    /// Exception that is raised if another thread stopped a registration.
    Stopped,
    /// Exception that is raised in a process that was forked after the library had started its threads.
    Forked,
}

impl Class {
    fn name(self) -> &'static str {
        match self {
            Class::Input => "InputError",
            Class::Option => "OptionError",
            Class::File => "FileError",
            Class::Missing => "MissingFileError",
            Class::Device => "DeviceError",
            Class::DeviceMemory => "DeviceMemoryError",
            Class::Stopped => "StoppedError",
            Class::Forked => "ForkedError",
        }
    }

    /// Makes a Python exception of this class with this message.
    fn exception(self, text: String) -> PyErr {
        static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
        Python::attach(|py| {
            let module = MODULE.get_or_try_init(py, || Ok(PyModule::import(py, "antsreg_gpu._errors")?.unbind()));
            let class = module
                .and_then(|module: &Py<PyModule>| Ok(module.bind(py).getattr(self.name())?.cast_into::<PyType>()?));
            class.map_or_else(|error| error, |class| PyErr::from_type(class, text))
        })
    }

    /// Returns the class of the Python exception that is raised for an error of the Rust libraries.
    fn of(error: &study::Error) -> Class {
        match error {
            study::Error::File(error) => match &error.kind {
                ErrorKind::Missing | ErrorKind::MissingFolder => Class::Missing,
                ErrorKind::System(_) | ErrorKind::Output(_) | ErrorKind::NotAFile(_) => Class::File,
                _ => Class::Input,
            },
            study::Error::Read { .. } | study::Error::Output(_) | study::Error::Json { .. } => Class::File,
            study::Error::Recipe(_) => Class::Option,
            study::Error::Register(error) => Class::of_register(error),
            study::Error::Pool(antsreg_pool::Error::Register(error)) => Class::of_register(error),
            study::Error::Pool(_) => Class::Device,
            study::Error::Atlas { source, .. } => Class::of(source),
            _ => Class::Input,
        }
    }

    fn of_register(error: &register::Error) -> Class {
        use register::{Error, linear, syn};
        match error {
            Error::NoStage | Error::LinearAfterDeformable { .. } | Error::Shrink { .. } => Class::Option,
            Error::NoDevice { .. } | Error::Window(_) | Error::Device(_) => Class::Device,
            Error::Linear { source: linear::Error::Device(_), .. } => Class::Device,
            Error::Deformable { source: syn::Error::Device(_), .. } => Class::Device,
            Error::DeviceMemory(_) => Class::DeviceMemory,
            Error::Stopped => Class::Stopped,
            _ => Class::Input,
        }
    }
}

impl Failure {
    /// Makes an error that the Python module itself found, with the class of its Python exception and its message.
    pub fn own(class: Class, text: impl Into<String>) -> Failure {
        Failure::Own(class, text.into())
    }
}

impl<E: Into<study::Error>> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::Study(Box::new(error.into()))
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> PyErr {
        match failure {
            Failure::Study(error) => Class::of(&error).exception(error.to_string()),
            Failure::Python(error) => error,
            Failure::Own(class, text) => class.exception(text),
        }
    }
}

/// The error for a file or array called `name` that cannot be used.
pub fn refused(name: &std::path::Path, kind: ErrorKind) -> Failure {
    io::Error { path: name.into(), kind }.into()
}

/// The error for transforms that cannot be combined into a sequence.
pub fn chain(error: ChainError) -> Failure {
    study::Error::from(error).into()
}

/// The error for two volumes on different grids.
pub fn grids(error: GridMismatch) -> Failure {
    study::Error::from(error).into()
}
