//! Compresses the PTX of `cu/` for the program to embed: it is text, 2.7 MB of it, and a GPU that machine code is shipped for
//! never reads it.

/// Writes `NAME.ptx.z`, a zlib stream, for each `cu/NAME.ptx`.
#[cfg(feature = "cuda")]
fn main() -> std::io::Result<()> {
    use std::io::Write;
    use std::path::PathBuf;

    println!("cargo::rerun-if-changed=cu");
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from).ok_or(std::io::ErrorKind::NotFound)?;
    for entry in std::fs::read_dir("cu")? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "ptx") {
            let name = path.with_extension("ptx.z");
            let file = std::fs::File::create(out.join(name.file_name().unwrap_or_default()))?;
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
