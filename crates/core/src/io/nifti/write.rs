//! Writes images in the format of the name of the file.

use std::ops::Range;
use std::path::Path;

use ::nifti::NiftiType;

use super::super::formats::{self, Container, ImageFormat};
use super::super::replace::replace;
use super::super::target::Target;
use super::super::{Deflated, Error, ErrorKind, ahead, gzip};
use super::grid_rule::GridRule;
use super::header;
use super::read::Meaning;
use crate::{Grid, LabelVolume, Volume};

/// Number of voxel values that are converted and compressed together, as one piece of the file: of vectors, and of
/// files without compression.
pub(super) const PIECE: usize = Deflated::PIECE;
/// Number of bytes of a volume that are compressed together, as one piece of the file. With larger pieces, a volume
/// would have too few for all threads.
const VOLUME_PIECE: usize = 1 << 18;

/// Writes a volume in single precision, in the format of the name. In NIfTI, qform and sform are equal. The file
/// appears when it is complete.
///
/// # Errors
/// A name of another format, an image that the format cannot store, a folder that does not exist or is full.
pub fn write_volume<'a>(to: impl Into<Target<'a>>, volume: &Volume) -> Result<(), Error> {
    let body = Body {
        datatype: NiftiType::Float32,
        count: volume.voxels.len(),
        append: &|range, _, out| append(out, volume.voxels[range].iter().copied()),
    };
    write(to.into(), &volume.grid, Layout::Volume, &body)
}

/// Writes a volume like [`write_volume`], without a copy of it in memory: `value` returns the value of each voxel, by the
/// index of the voxel.
pub fn write_values<'a>(
    to: impl Into<Target<'a>>,
    grid: &Grid,
    value: impl Fn(usize) -> f32 + Sync,
) -> Result<(), Error> {
    let body = Body {
        datatype: NiftiType::Float32,
        count: grid.len(),
        append: &|range, _, out| append(out, range.map(&value)),
    };
    write(to.into(), grid, Layout::Volume, &body)
}

/// Writes a label map in the smallest of the types uint8, int16 and int32 that can store its labels. In everything
/// else the file is like that of [`write_volume`].
pub fn write_labels<'a>(to: impl Into<Target<'a>>, labels: &LabelVolume) -> Result<(), Error> {
    let voxels = &labels.voxels;
    let lowest = voxels.iter().copied().min().unwrap_or(0);
    let highest = voxels.iter().copied().max().unwrap_or(0);
    let fits = |low: i32, high: i32| lowest >= low && highest <= high;
    let datatype = if fits(0, u8::MAX.into()) {
        NiftiType::Uint8
    } else if fits(i16::MIN.into(), i16::MAX.into()) {
        NiftiType::Int16
    } else {
        NiftiType::Int32
    };
    let body = Body {
        datatype,
        count: voxels.len(),
        append: &|range, _, out| {
            let labels = voxels[range].iter();
            match datatype {
                NiftiType::Uint8 => out.extend(labels.map(|&label| label as u8)),
                NiftiType::Int16 => out.extend(labels.flat_map(|&label| (label as i16).to_le_bytes())),
                _ => out.extend(labels.flat_map(|label| label.to_le_bytes())),
            }
        },
    };
    write(to.into(), &labels.grid, Layout::Volume, &body)
}

/// Writes an image of vectors in single precision: all values of the first component, then all of the second, and so
/// on. `factors` has a factor for each component, by which the component is multiplied.
pub(crate) fn write_vectors(to: Target, grid: &Grid, vectors: &[[f32; 3]], factors: &[f32]) -> Result<(), Error> {
    let body = Body {
        datatype: NiftiType::Float32,
        count: factors.len() * vectors.len(),
        append: &|range, order, out| {
            if let Order::Together(components) = order {
                let value = |at: usize| factors[at % components] * vectors[at / components][at % components];
                return append(out, range.map(value));
            }
            for (axis, factor) in factors.iter().enumerate() {
                let first = axis * vectors.len();
                let [start, end] = [range.start, range.end].map(|at| at.clamp(first, first + vectors.len()) - first);
                append(out, vectors[start..end].iter().map(|vector| factor * vector[axis]));
            }
        },
    };
    write(to, grid, Layout::Vectors(factors.len()), &body)
}

/// Writes an image of vectors with three components, unchanged, with this meaning.
pub(crate) fn write_meant_vectors(
    to: Target,
    grid: &Grid,
    vectors: &[[f32; 3]],
    meaning: Meaning,
) -> Result<(), Error> {
    let body = Body {
        datatype: NiftiType::Float32,
        count: 3 * vectors.len(),
        append: &|range, order, out| match order {
            Order::Together(_) => append(out, range.map(|at| vectors[at / 3][at % 3])),
            Order::Apart => append(out, range.map(|at| vectors[at % vectors.len()][at / vectors.len()])),
        },
    };
    write_meant(to, grid, Layout::Vectors(3), &body, meaning)
}

/// Writes the file of [`write_vectors`] from values that are compressed already. The name must end in `.nii.gz`.
pub(crate) fn write_deflated_vectors(
    to: Target,
    grid: &Grid,
    components: usize,
    deflated: &Deflated,
) -> Result<(), Error> {
    write_deflated(to, grid, Layout::Vectors(components), deflated)
}

/// Writes the voxels of [`write_volume`] from values that are compressed already. The name must end in `.nii.gz`.
///
/// # Errors
/// As for [`write_volume`], and a number of values that the grid does not have.
pub fn write_deflated_volume<'a>(to: impl Into<Target<'a>>, grid: &Grid, deflated: &Deflated) -> Result<(), Error> {
    write_deflated(to.into(), grid, Layout::Volume, deflated)
}

fn write_deflated(to: Target, grid: &Grid, layout: Layout, deflated: &Deflated) -> Result<(), Error> {
    let path = to.path;
    let wrap = |kind| Error::new(path, kind);
    if ImageFormat::of(path) != Some(ImageFormat::Nifti { gzipped: true }) {
        return Err(wrap(ErrorKind::Extension(".nii.gz")));
    }
    let (what, axes) = layout.contents();
    let (expected, found) = (axes.unwrap_or(1) * grid.len(), deflated.count);
    if expected != found {
        return Err(wrap(ErrorKind::Count { what, expected, found }));
    }
    let header = header::for_grid(grid, NiftiType::Float32, axes);
    let file = formats::layout(path, &header, NiftiType::Float32).map_err(wrap)?;
    replace(to, |out| gzip::write_deflated(out, &file.head, deflated))
}

/// The grid that a reader would get from the file that is written at `path`. This grid differs from `grid` by rounding,
/// because headers of NIfTI-1 store single-precision numbers.
///
/// # Errors
/// A name of another format; a grid that the format cannot store.
pub fn stored_grid(path: &Path, grid: &Grid) -> Result<Grid, Error> {
    let wrap = |kind| Error::new(path, kind);
    let header = header::for_grid(grid, NiftiType::Float32, None);
    let bytes = formats::layout(path, &header, NiftiType::Float32).map_err(wrap)?.head;
    let read = formats::reread(&bytes).map_err(wrap)?.unwrap_or(header);
    GridRule::default().grid(&read, grid.shape).map_err(wrap)
}

pub(super) fn append(out: &mut Vec<u8>, values: impl ExactSizeIterator<Item = f32>) {
    // Room for all voxel values is made in the buffer first, then the values are written there: appending them one by
    // one would take three times as long.
    let before = out.len();
    out.resize(before + values.len() * size_of::<f32>(), 0);
    let (bytes, _) = out[before..].as_chunks_mut();
    bytes.iter_mut().zip(values).for_each(|(bytes, value)| *bytes = value.to_le_bytes());
}

/// A function that appends the bytes of a range of voxel values to a buffer, in the type of the NIfTI file.
type Append<'a> = &'a (dyn Fn(Range<usize>, Order, &mut Vec<u8>) + Sync);

/// Order of the numbers of a file.
#[derive(Clone, Copy)]
enum Order {
    /// All voxels of the first component, then all of the second, and so on.
    Apart,
    /// All components of the first voxel, then all of the second, and so on. The number is that of the components.
    Together(usize),
}

/// Kind of the data that a file holds for each voxel of the grid.
#[derive(Clone, Copy)]
enum Layout {
    /// Volumes with one number for each voxel.
    Volume,
    /// A vector for each voxel, with this number of components.
    Vectors(usize),
}

impl Layout {
    /// What the stored numbers are called in messages, and the number of components of each vector.
    fn contents(self) -> (&'static str, Option<usize>) {
        match self {
            Layout::Volume => ("voxels", None),
            Layout::Vectors(axes) => ("numbers", Some(axes)),
        }
    }
}

/// The voxel data of a NIfTI file, which follow the header.
struct Body<'a> {
    datatype: NiftiType,
    /// Number of stored numbers: the number of voxels times the components of each voxel.
    count: usize,
    append: Append<'a>,
}

fn write(to: Target, grid: &Grid, layout: Layout, body: &Body) -> Result<(), Error> {
    write_meant(to, grid, layout, body, Meaning::default())
}

fn write_meant(to: Target, grid: &Grid, layout: Layout, body: &Body, meaning: Meaning) -> Result<(), Error> {
    let path = to.path;
    let wrap = |kind| Error::new(path, kind);
    let (what, axes) = layout.contents();
    let expected = grid.len() * axes.unwrap_or(1);
    if body.count != expected {
        return Err(wrap(ErrorKind::Count { what, expected, found: body.count }));
    }
    let mut header = header::for_grid(grid, body.datatype, axes);
    (header.intent_name, header.intent_p1) = (meaning.name, meaning.parameter.into());
    let file = formats::layout(path, &header, body.datatype).map_err(wrap)?;
    let bytes_each = body.datatype.size_of();
    let gzipped = file.container != Container::Plain && file.container != Container::Apart { gzipped: false };
    let (piece, content) = match layout {
        Layout::Volume if gzipped => (VOLUME_PIECE / bytes_each, gzip::Content::Values),
        Layout::Volume => (PIECE, gzip::Content::Values),
        Layout::Vectors(_) => (PIECE, gzip::Content::Displacements),
    };
    let order = match axes {
        Some(components) if file.together => Order::Together(components),
        _ => Order::Apart,
    };
    let values = |index: usize, out: &mut Vec<u8>| {
        let range = index * piece..body.count.min((index + 1) * piece);
        let before = out.len();
        (body.append)(range, order, out);
        if file.big_endian {
            out[before..].chunks_exact_mut(bytes_each).for_each(<[u8]>::reverse);
        }
    };
    let pieces = body.count.div_ceil(piece);
    // The header of the file is a piece of its own, so that the pieces of the values do not depend on it.
    let with_head = |index: usize, out: &mut Vec<u8>| match index.checked_sub(1) {
        None => out.extend_from_slice(&file.head),
        Some(index) => values(index, out),
    };
    match file.container {
        Container::Plain => replace(to, |out| ahead::write(1 + pieces, with_head, |bytes| out.pass(bytes))),
        Container::Gzip => replace(to, |out| gzip::write(out, 1 + pieces, piece * bytes_each, content, with_head)),
        Container::GzipVoxels => replace(to, |out| {
            out.pass(file.head.clone())?;
            gzip::write(out, pieces, piece * bytes_each, content, values)
        }),
        Container::Apart { gzipped } => {
            let voxels = formats::companion(path).unwrap_or_default();
            replace(&voxels, |out| match gzipped {
                true => gzip::write(out, pieces, piece * bytes_each, content, values),
                false => ahead::write(pieces, values, |bytes| out.pass(bytes)),
            })?;
            replace(to, |out| out.pass(file.head.clone()).map(drop))
        }
    }
}
