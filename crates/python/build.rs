//! Sets linker options so that the extension module needs no Python library at link time. The Python interpreter
//! provides the functions of the Python library when it loads the module.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
