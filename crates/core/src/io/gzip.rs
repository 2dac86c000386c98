//! Writing gzip.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

/// Writes `parts`, one after the other, as one gzip stream.
pub(crate) fn write(out: &mut impl Write, parts: &[&[u8]]) -> std::io::Result<()> {
    let mut encoder = GzEncoder::new(out, Compression::new(4));
    for part in parts {
        encoder.write_all(part)?;
    }
    encoder.finish()?;
    Ok(())
}
