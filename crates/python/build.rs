//! Lets the module be linked without Python's library: Python itself has the functions when it loads the module.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
