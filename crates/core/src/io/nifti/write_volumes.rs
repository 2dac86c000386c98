//! Writes files of several volumes, such as time series. The volumes are written one by one, so that only one
//! volume must be in memory at a time.

use ::nifti::NiftiType;

use super::super::formats::header::Header;
use super::super::formats::{self, Container, Layout};
use super::super::replace::replace;
use super::super::target::{Heard, Target};
use super::super::{Error, ErrorKind, gzip};
use super::write::{PIECE, append};

/// Type in which the values of a file are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// 8 bits, signed.
    Int8,
    /// 8 bits, unsigned.
    Uint8,
    /// 16 bits, signed.
    Int16,
    /// 16 bits, unsigned.
    Uint16,
    /// 32 bits, signed.
    Int32,
    /// 32 bits, unsigned.
    Uint32,
    /// 64 bits, signed.
    Int64,
    /// 64 bits, unsigned.
    Uint64,
    /// Single precision.
    Float32,
    /// Double precision.
    Float64,
}

impl Stored {
    /// Whether values of this storage type are integers.
    pub fn is_whole(self) -> bool {
        !matches!(self, Stored::Float32 | Stored::Float64)
    }

    /// Whether this type stores every value of the integer type `whole` exactly.
    pub fn holds(self, whole: Stored) -> bool {
        match self {
            Stored::Float32 => whole.size() <= 2,
            Stored::Float64 => whole.size() <= 4,
            other => other == whole,
        }
    }

    /// Whether the values of an integer type have a sign.
    pub(super) fn is_signed(self) -> bool {
        !matches!(self, Stored::Uint8 | Stored::Uint16 | Stored::Uint32 | Stored::Uint64)
    }

    /// Size of a value, bytes.
    fn size(self) -> usize {
        match self {
            Stored::Int8 | Stored::Uint8 => 1,
            Stored::Int16 | Stored::Uint16 => 2,
            Stored::Int32 | Stored::Uint32 | Stored::Float32 => 4,
            Stored::Int64 | Stored::Uint64 | Stored::Float64 => 8,
        }
    }

    /// Name of the type, for messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Stored::Int8 => "int8",
            Stored::Uint8 => "uint8",
            Stored::Int16 => "int16",
            Stored::Uint16 => "uint16",
            Stored::Int32 => "int32",
            Stored::Uint32 => "uint32",
            Stored::Int64 => "int64",
            Stored::Uint64 => "uint64",
            Stored::Float32 => "float32",
            Stored::Float64 => "float64",
        }
    }

    /// The bits of a whole number in this type, the lowest first; `None` if the type cannot represent the number.
    pub(super) fn bits(self, value: i128) -> Option<Bits> {
        let bits = match self {
            Stored::Int8 => u64::from(i8::try_from(value).ok()?.cast_unsigned()),
            Stored::Uint8 => u64::from(u8::try_from(value).ok()?),
            Stored::Int16 => u64::from(i16::try_from(value).ok()?.cast_unsigned()),
            Stored::Uint16 => u64::from(u16::try_from(value).ok()?),
            Stored::Int32 => u64::from(i32::try_from(value).ok()?.cast_unsigned()),
            Stored::Uint32 => u64::from(u32::try_from(value).ok()?),
            Stored::Int64 => i64::try_from(value).ok()?.cast_unsigned(),
            Stored::Uint64 => u64::try_from(value).ok()?,
            Stored::Float32 => {
                let real = value as f32;
                u64::from((real as i128 == value).then_some(real)?.to_bits())
            }
            Stored::Float64 => {
                let real = value as f64;
                (real as i128 == value).then_some(real)?.to_bits()
            }
        };
        Some(Bits(bits))
    }

    /// The bits of a real number in this type, cast as by [`Stored::append`].
    pub(super) fn bits_of_real(self, value: f32) -> Bits {
        let mut bytes = Vec::with_capacity(8);
        self.append(&mut bytes, &[value]);
        bytes.resize(8, 0);
        Bits(bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)))
    }

    pub(super) fn datatype(self) -> NiftiType {
        match self {
            Stored::Int8 => NiftiType::Int8,
            Stored::Uint8 => NiftiType::Uint8,
            Stored::Int16 => NiftiType::Int16,
            Stored::Uint16 => NiftiType::Uint16,
            Stored::Int32 => NiftiType::Int32,
            Stored::Uint32 => NiftiType::Uint32,
            Stored::Int64 => NiftiType::Int64,
            Stored::Uint64 => NiftiType::Uint64,
            Stored::Float32 => NiftiType::Float32,
            Stored::Float64 => NiftiType::Float64,
        }
    }

    /// Appends voxel values in the storage type of the file. Integers are truncated towards zero; a value that does not
    /// fit into 8 or 16 bits keeps its lowest bits, as in ITK's casts.
    pub(super) fn append(self, out: &mut Vec<u8>, values: &[f32]) {
        match self {
            Stored::Int8 => out.extend(values.iter().map(|value| *value as i32 as u8)),
            Stored::Uint8 => out.extend(values.iter().map(|value| *value as i32 as u8)),
            Stored::Int16 => out.extend(values.iter().flat_map(|value| (*value as i32 as i16).to_le_bytes())),
            Stored::Uint16 => out.extend(values.iter().flat_map(|value| (*value as i32 as u16).to_le_bytes())),
            Stored::Int32 => out.extend(values.iter().flat_map(|value| (*value as i32).to_le_bytes())),
            Stored::Uint32 => out.extend(values.iter().flat_map(|value| (*value as i64 as u32).to_le_bytes())),
            Stored::Int64 => out.extend(values.iter().flat_map(|value| (*value as i64).to_le_bytes())),
            Stored::Uint64 => out.extend(values.iter().flat_map(|value| (*value as i128 as u64).to_le_bytes())),
            Stored::Float32 => append(out, values.iter().copied()),
            Stored::Float64 => out.extend(values.iter().flat_map(|value| f64::from(*value).to_le_bytes())),
        }
    }
}

/// The bits of a stored value, the lowest first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bits(u64);

/// A voxel value that waits to be written.
pub(super) trait Piece: Copy + Send + Sync {
    /// Appends values in the storage type of the file.
    fn append(stored: Stored, out: &mut Vec<u8>, values: &[Self]);
}

impl Piece for f32 {
    fn append(stored: Stored, out: &mut Vec<u8>, values: &[f32]) {
        stored.append(out, values);
    }
}

impl Piece for Bits {
    fn append(stored: Stored, out: &mut Vec<u8>, values: &[Bits]) {
        let size = stored.size();
        for Bits(bits) in values {
            out.extend_from_slice(&bits.to_le_bytes()[..size]);
        }
    }
}

/// Description of a file to which volumes of equal size are written one by one.
pub(super) struct File {
    pub header: Header,
    /// Number of voxels of each volume.
    pub each: usize,
    /// Number of volumes of the file.
    pub count: usize,
    /// The storage type of the voxels in the file.
    pub stored: Stored,
}

/// Writes a file of several volumes. `next(index, voxels)` is called for one volume after the other, and appends the
/// voxels of the volume.
pub(super) fn write<T: Piece, E: From<Error>>(
    to: Target,
    file: &File,
    mut next: impl FnMut(usize, &mut Vec<T>) -> Result<(), E>,
) -> Result<(), E> {
    let path = to.path;
    let wrap = |kind| Error::new(path, kind);
    let File { header, each, count, stored } = file;
    let (each, count) = (*each, *count);
    let layout = formats::layout(path, header, stored.datatype()).map_err(wrap)?;
    // The error that ended the writing of the file, for instance one of the function that makes the volumes. It is kept
    // here, because the function that writes the file can return only errors of the operating system.
    let mut failed = None;
    let mut write = |out: &mut Heard| {
        let mut pieces = Pieces::start(out, &layout, count * each, *stored)?;
        for index in 0..count {
            let before = pieces.waiting.len();
            let result = next(index, &mut pieces.waiting);
            let found = pieces.waiting.len() - before;
            let result = result.and_then(|()| match found == each {
                true => Ok(()),
                false => Err(wrap(ErrorKind::Count { what: "voxels", expected: each, found }).into()),
            });
            if let Err(error) = result {
                failed = Some(error);
                return Err(std::io::Error::other("no volume"));
            }
            if !layout.together {
                pieces.write_full_batches()?;
            }
        }
        if layout.together {
            let apart = std::mem::take(&mut pieces.waiting);
            let voxels = (0..each).flat_map(|voxel| (0..count).map(move |component| component * each + voxel));
            pieces.waiting = voxels.map(|at| apart[at]).collect();
        }
        pieces.end()
    };
    let written = match (layout.container, formats::companion(path)) {
        (Container::Apart { .. }, Some(voxels)) => {
            replace(&voxels, write).and_then(|()| replace(to, |out| out.pass(layout.head.clone()).map(drop)))
        }
        _ => replace(to, |out| write(out)),
    };
    match failed {
        Some(error) => Err(error),
        None => Ok(written?),
    }
}

/// Divides the voxel values of a file into pieces of fixed size, which are compressed one by one. The pieces do not
/// depend on how many volumes are added together, so the bytes of the compressed file do not either.
struct Pieces<'w, 'f, 'a, T> {
    out: Out<'w, 'f, 'a>,
    /// Bytes of the header. They are written together with the first voxel values; afterwards the buffer is
    /// empty.
    head: Vec<u8>,
    /// Voxel values of the added volumes that are not yet written to the file.
    waiting: Vec<T>,
    stored: Stored,
    big_endian: bool,
    /// Bytes that follow the voxel values.
    tail: Vec<u8>,
}

enum Out<'w, 'f, 'a> {
    Plain(&'w mut Heard<'f, 'a>),
    Gzip(gzip::Writer<'w, Heard<'f, 'a>>),
}

impl<'w, 'f, 'a, T: Piece> Pieces<'w, 'f, 'a, T> {
    /// Starts to write a file that will hold `values` voxel values.
    fn start(
        file: &'w mut Heard<'f, 'a>,
        layout: &Layout,
        values: usize,
        stored: Stored,
    ) -> std::io::Result<Pieces<'w, 'f, 'a, T>> {
        let tail = layout.tail.clone();
        let pieces = values.div_ceil(PIECE) + usize::from(!tail.is_empty());
        let gzip = |file| gzip::Writer::start(file, pieces, gzip::Content::Values).map(Out::Gzip);
        let (head, out) = match layout.container {
            Container::Plain => (layout.head.clone(), Out::Plain(file)),
            Container::Gzip => (layout.head.clone(), gzip(file)?),
            Container::GzipVoxels => {
                file.pass(layout.head.clone())?;
                (Vec::new(), gzip(file)?)
            }
            Container::Apart { gzipped: true } => (Vec::new(), gzip(file)?),
            Container::Apart { gzipped: false } => (Vec::new(), Out::Plain(file)),
        };
        Ok(Pieces { out, head, waiting: Vec::new(), stored, big_endian: layout.big_endian, tail })
    }

    /// Writes the waiting voxel values (`waiting`) in whole batches; the threads compress a batch together. Values at
    /// the end that do not fill a batch wait further.
    fn write_full_batches(&mut self) -> std::io::Result<()> {
        let batch = gzip::batch(PIECE * size_of::<f32>()) * PIECE;
        let full = self.waiting.len() / batch * batch;
        for start in (0..full).step_by(batch) {
            self.write(start, start + batch)?;
        }
        self.waiting.drain(..full);
        Ok(())
    }

    /// Writes all voxel values that are not yet written, and ends the file.
    fn end(mut self) -> std::io::Result<()> {
        self.write(0, self.waiting.len())?;
        let tail = self.tail;
        match self.out {
            Out::Plain(file) => file.pass(tail).map(drop),
            Out::Gzip(mut writer) => {
                writer.write_batch(usize::from(!tail.is_empty()), |_, out| out.extend_from_slice(&tail))?;
                writer.end()
            }
        }
    }

    /// Writes the voxel values of `waiting` from index `start` to `end`. `start` must be a multiple of the number of
    /// values that are compressed as one piece.
    fn write(&mut self, start: usize, end: usize) -> std::io::Result<()> {
        let (values, stored, big_endian) = (&self.waiting[start..end], self.stored, self.big_endian);
        let append = |out: &mut Vec<u8>, piece: &[T]| {
            let before = out.len();
            T::append(stored, out, piece);
            if big_endian {
                out[before..].chunks_exact_mut(stored.size()).for_each(<[u8]>::reverse);
            }
        };
        let mut head = std::mem::take(&mut self.head);
        match &mut self.out {
            Out::Plain(file) => {
                for piece in values.chunks(PIECE) {
                    append(&mut head, piece);
                    head = file.pass(head)?;
                    head.clear();
                }
                Ok(())
            }
            Out::Gzip(writer) => {
                let first = writer.done();
                writer.write_batch(values.len().div_ceil(PIECE), |index, out| {
                    out.extend_from_slice(if index == 0 { &head } else { &[] });
                    let start = (index - first) * PIECE;
                    append(out, &values[start..values.len().min(start + PIECE)]);
                })
            }
        }
    }
}
