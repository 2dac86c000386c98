//! Compresses the compiled kernels of `cu/` for the program to embed: 2.7 MB of PTX and 2.0 MB of machine code become 1.0 MB.

/// Compresses each file of PTX or machine code `cu/NAME` to a zlib stream `NAME.z`.
#[cfg(feature = "cuda")]
fn main() -> std::io::Result<()> {
    use std::io::Write;
    use std::path::PathBuf;

    println!("cargo::rerun-if-changed=cu");
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from).ok_or(std::io::ErrorKind::NotFound)?;
    for entry in std::fs::read_dir("cu")? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "ptx" || extension == "cubin") {
            let mut name = path.file_name().unwrap_or_default().to_owned();
            name.push(".z");
            let file = std::fs::File::create(out.join(name))?;
            let mut compressed = flate2::write::ZlibEncoder::new(file, flate2::Compression::best());
            compressed.write_all(&std::fs::read(&path)?)?;
            compressed.finish()?;
        }
    }
    Ok(())
}

#[cfg(not(feature = "cuda"))]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
