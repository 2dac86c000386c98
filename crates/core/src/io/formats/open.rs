//! Opens images of all formats, which are recognised by their content.

use std::path::{Path, PathBuf};

use super::super::source::{Packing, Source};
use super::super::{Error, ErrorKind, small};
use super::header::Header;
use super::place::{File, Parsed, Place, Start};
use super::{meta, mgh, nifti, nrrd};

/// Largest length of a header that is text, bytes.
const LONGEST_TEXT: u64 = 1 << 18;

/// An image whose header has been read.
pub(in crate::io) struct Opened {
    pub header: Header,
    /// Path of the file with the voxels.
    pub path: PathBuf,
    pub source: Source,
    /// Position of the first voxel in `source`, bytes.
    pub start: u64,
    /// Number of components of each voxel, if these are stored together.
    pub together: Option<u64>,
}

/// Opens an image. Of a `.hdr` and `.img` pair, either file may be named.
pub(in crate::io) fn open(path: &Path) -> Result<Opened, Error> {
    let pair = Pair::of(path);
    let path = pair.as_ref().map_or(path, |pair| &pair.header);
    let wrap = |kind| Error::new(path, kind);
    let mut source = Source::open(path)?;
    let mut bytes = [0; 16];
    let filled = source.fill(&mut bytes).map_err(wrap)?;
    let bytes = &bytes[..filled];
    let parsed = if is_text(bytes) {
        let (text, whole) = small::read_start(path, LONGEST_TEXT)?;
        match (parse(&text).map_err(wrap)?, whole) {
            (Some(parsed), _) => parsed,
            (None, true) => return Err(wrap(ErrorKind::Unended)),
            (None, false) => return Err(wrap(ErrorKind::TooLong { what: "a header", most: LONGEST_TEXT })),
        }
    } else {
        let length = if bytes.starts_with(&mgh::VERSION) { mgh::LENGTH } else { nifti::length(bytes).unwrap_or(348) };
        let mut whole = bytes.to_vec();
        whole.resize(length.max(filled), 0);
        let rest = source.fill(&mut whole[filled..]).map_err(wrap)?;
        whole.truncate(filled + rest);
        parse(&whole).map_err(wrap)?.ok_or_else(|| wrap(source.truncated(length as u64)))?
    };
    let Parsed { mut header, place } = parsed;
    let voxels = match &place.file {
        File::Same => path.to_owned(),
        File::Named(name) => path.parent().unwrap_or(Path::new("")).join(name),
        File::Pair => pair.as_ref().map(|pair| pair.image.clone()).ok_or_else(|| {
            let found = "the header of a .hdr and .img pair, in a file with another extension".into();
            wrap(ErrorKind::Format { expected: "an image", found })
        })?,
    };
    let (source, start) = place.source(&header, source, &voxels)?;
    if bytes.starts_with(&mgh::VERSION) && header.dim[0] == 4 {
        let end = start.saturating_add(bytes_of_voxels(&header));
        let mut again = Source::open(path)?;
        let mut after = [0; 4];
        if again.skip_to(end).map_err(wrap)? && again.fill(&mut after).map_err(wrap)? == after.len() {
            mgh::put_time(&mut header, &after);
        }
    }
    Ok(Opened { header, path: voxels, source, start, together: place.together })
}

fn is_text(bytes: &[u8]) -> bool {
    bytes.starts_with(nrrd::MAGIC) || meta::starts_like(bytes)
}

/// Reads the header at the start of these bytes; `None` if there are too few of them.
pub(super) fn parse(bytes: &[u8]) -> Result<Option<Parsed>, ErrorKind> {
    if bytes.starts_with(&mgh::VERSION) {
        mgh::parse(bytes)
    } else if bytes.starts_with(nrrd::MAGIC) {
        nrrd::parse(bytes)
    } else if meta::starts_like(bytes) {
        meta::parse(bytes)
    } else {
        nifti::parse(bytes)
    }
}

/// Number of bytes of all voxels; `u64::MAX` if the header's fields are impossible.
fn bytes_of_voxels(header: &Header) -> u64 {
    let each = header.data_type().map_or(1, |datatype| datatype.size_of() as u64);
    let extents = (1..8).map(|dimension| u64::try_from(header.extent(dimension)).unwrap_or(u64::MAX));
    extents.fold(each, u64::saturating_mul)
}

impl Place {
    /// Opens the voxels, and returns their position. `source` is the file of the header, opened.
    fn source(&self, header: &Header, source: Source, path: &Path) -> Result<(Source, u64), Error> {
        let start = match self.start {
            Start::At(start) => start,
            Start::AtEnd => {
                let file = std::fs::metadata(path).map_err(|error| Error::new(path, error))?;
                let (expected, found) = (bytes_of_voxels(header), file.len());
                let short = || ErrorKind::Truncated { expected, found, unpacked: false };
                found.checked_sub(expected).ok_or_else(|| Error::new(path, short()))?
            }
        };
        match (&self.file, self.packing) {
            // The bytes of the header are skipped. They may have been read already, up to a later position for text.
            (File::Same, Packing::None) if source.position() <= start => Ok((source, start)),
            (File::Same, Packing::None) => Ok((Source::open(path)?, start)),
            (File::Pair, _) => Ok((Source::open(path)?, start)),
            (_, packing) => Ok((Source::open_at(path, start, packing)?, 0)),
        }
    }
}

/// The paths of the header file and the voxel file of an image that is stored in two files.
struct Pair {
    header: PathBuf,
    image: PathBuf,
}

impl Pair {
    /// Returns the paths of the `.hdr` and the `.img` file to whose pair `path` belongs by its name. If one of these
    /// files can have the ending `.gz` or not, the file that exists is taken.
    fn of(path: &Path) -> Option<Pair> {
        let name = path.file_name()?.to_str()?;
        let (stem, packed) = name.strip_suffix(".gz").map_or((name, false), |stem| (stem, true));
        let stem = stem.strip_suffix(".hdr").or_else(|| stem.strip_suffix(".img"))?;
        let find = |extension: &str| {
            let plain = path.with_file_name(format!("{stem}.{extension}"));
            let gzipped = path.with_file_name(format!("{stem}.{extension}.gz"));
            let (first, second) = if packed { (gzipped, plain) } else { (plain, gzipped) };
            if !first.exists() && second.exists() { second } else { first }
        };
        Some(Pair { header: find("hdr"), image: find("img") })
    }
}
