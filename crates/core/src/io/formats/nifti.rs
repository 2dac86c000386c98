//! The bytes of headers of NIfTI-1 and NIfTI-2.

use ::nifti::{Endianness, NiftiHeader};

use super::super::{ErrorKind, foreign};
use super::header::Header;
use super::place::{Parsed, Place};

/// Lengths of the headers, without the four bytes that say whether extensions follow.
pub(super) const LENGTH_1: usize = 348;
pub(super) const LENGTH_2: usize = 540;
/// Number of bytes behind a header that say whether extensions follow.
const EXTENDER: usize = 4;
/// Largest extent that NIfTI-1 can store.
const LARGEST_1: i64 = i16::MAX as i64;
/// The magic number of NIfTI-2 in one file, without its first four bytes for a pair of files.
const MAGIC_2: [u8; 8] = *b"n+2\0\r\n\x1a\n";

/// Whether a file with these first bytes is meant to be NIfTI, and the length of its header.
pub(super) fn length(bytes: &[u8]) -> Option<usize> {
    let size = bytes.first_chunk()?;
    let sizes = [i32::from_le_bytes(*size), i32::from_be_bytes(*size)];
    [LENGTH_1, LENGTH_2].into_iter().find(|length| sizes.contains(&(*length as i32)))
}

/// Reads a header of either version. `None` if there are too few bytes.
pub(super) fn parse(bytes: &[u8]) -> Result<Option<Parsed>, ErrorKind> {
    match length(bytes) {
        Some(LENGTH_1) => parse_1(bytes),
        Some(_) => parse_2(bytes),
        None if bytes.len() < 4 => Ok(None),
        None => {
            let unknown = || format!("a file that starts with \"{}\"", bytes[..4].escape_ascii());
            Err(not_nifti(foreign::name(bytes).map_or_else(unknown, String::from)))
        }
    }
}

fn not_nifti(found: String) -> ErrorKind {
    ErrorKind::Format { expected: "an image (NIfTI, MGH, NRRD or MetaImage)", found }
}

fn parse_1(bytes: &[u8]) -> Result<Option<Parsed>, ErrorKind> {
    let Some(magic) = bytes.get(344..LENGTH_1) else { return Ok(None) };
    if magic == [0; 4] {
        return Err(not_nifti("an ANALYZE 7.5 header, which does not say where left and right are".into()));
    }
    if magic != b"n+1\0" && magic != b"ni1\0" {
        return Err(not_nifti(format!("magic \"{}\" instead of \"n+1\\0\"", magic.escape_ascii())));
    }
    let h = NiftiHeader::from_reader(bytes).map_err(|error| not_nifti(error.to_string()))?;
    // The crate determines the byte order from `dim[0]`. If the size of the header is wrong in this byte order, `dim[0]`
    // is wrong, so the dimensions are reported.
    let dim = h.dim.map(|n| i64::from(n as i16));
    if h.sizeof_hdr != LENGTH_1 as i32 {
        return Err(ErrorKind::Dimensions { dim: h.dim.map(|n| i64::from((n as i16).swap_bytes())).into() });
    }
    let rows = [h.srow_x, h.srow_y, h.srow_z];
    let header = Header {
        dim,
        pixdim: h.pixdim.map(f64::from),
        datatype: h.datatype,
        endianness: h.endianness,
        scl_slope: h.scl_slope.into(),
        scl_inter: h.scl_inter.into(),
        intent_code: h.intent_code.into(),
        intent_p1: h.intent_p1.into(),
        intent_name: text(&h.intent_name),
        xyzt_units: h.xyzt_units,
        toffset: h.toffset.into(),
        descrip: text(&h.descrip),
        qform_code: h.qform_code.into(),
        sform_code: h.sform_code.into(),
        quaternion: [h.quatern_b, h.quatern_c, h.quatern_d].map(f64::from),
        qoffset: [h.quatern_x, h.quatern_y, h.quatern_z].map(f64::from),
        srow: rows.map(|row| row.map(f64::from)),
    };
    let single_file = magic == b"n+1\0";
    let least = if single_file { LENGTH_1 as f32 } else { 0.0 };
    let start = match h.vox_offset {
        0.0 if single_file => Some((LENGTH_1 + EXTENDER) as u64),
        offset => (offset.fract() == 0.0 && offset >= least).then_some(offset as u64),
    };
    let start = start.ok_or_else(|| not_nifti(format!("voxels at byte {}", h.vox_offset)))?;
    Ok(Some(Parsed { header, place: if single_file { Place::here(start) } else { Place::pair(start) } }))
}

fn parse_2(bytes: &[u8]) -> Result<Option<Parsed>, ErrorKind> {
    let Some(bytes) = bytes.first_chunk::<LENGTH_2>() else { return Ok(None) };
    let little = bytes[..4] == (LENGTH_2 as i32).to_le_bytes();
    let field = Fields { bytes, little };
    let magic: [u8; 8] = field.at(4, false);
    let single_file = magic == MAGIC_2;
    let of_pair = magic[..4] == *b"ni2\0" && magic[4..] == MAGIC_2[4..];
    if !single_file && !of_pair {
        return Err(not_nifti(format!("magic \"{}\" instead of \"n+2\\0\"", magic.escape_ascii())));
    }
    let row = |at: usize| std::array::from_fn(|n| field.real(at + 8 * n));
    let header = Header {
        dim: std::array::from_fn(|n| field.long(16 + 8 * n)),
        pixdim: std::array::from_fn(|n| field.real(104 + 8 * n)),
        datatype: i16::from_le_bytes(field.at(12, true)),
        endianness: if little { Endianness::Little } else { Endianness::Big },
        scl_slope: field.real(176),
        scl_inter: field.real(184),
        intent_code: field.int(504),
        intent_p1: field.real(80),
        intent_name: text(&bytes[508..524]),
        xyzt_units: field.int(500) as u8,
        toffset: field.real(216),
        descrip: text(&bytes[240..320]),
        qform_code: field.int(344),
        sform_code: field.int(348),
        quaternion: std::array::from_fn(|n| field.real(352 + 8 * n)),
        qoffset: std::array::from_fn(|n| field.real(376 + 8 * n)),
        srow: [row(400), row(432), row(464)],
    };
    let least = if single_file { LENGTH_2 as u64 } else { 0 };
    let start = match field.long(168) {
        0 if single_file => Some((LENGTH_2 + EXTENDER) as u64),
        offset => u64::try_from(offset).ok().filter(|offset| *offset >= least),
    };
    let start = start.ok_or_else(|| not_nifti(format!("voxels at byte {}", field.long(168))))?;
    Ok(Some(Parsed { header, place: if single_file { Place::here(start) } else { Place::pair(start) } }))
}

/// The numbers of a NIfTI-2 header.
struct Fields<'a> {
    bytes: &'a [u8; LENGTH_2],
    little: bool,
}

impl Fields<'_> {
    /// The bytes of the field at this offset, lowest first if the field is a `number`.
    fn at<const N: usize>(&self, offset: usize, number: bool) -> [u8; N] {
        let mut field = std::array::from_fn(|n| self.bytes[offset + n]);
        if number && !self.little {
            field.reverse();
        }
        field
    }

    fn int(&self, offset: usize) -> i32 {
        i32::from_le_bytes(self.at(offset, true))
    }

    fn long(&self, offset: usize) -> i64 {
        i64::from_le_bytes(self.at(offset, true))
    }

    fn real(&self, offset: usize) -> f64 {
        f64::from_le_bytes(self.at(offset, true))
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.split(|&byte| byte == 0).next().unwrap_or_default()).into_owned()
}

/// The bytes of a header in one file with the voxels, little-endian, and the four bytes which say that no extension
/// follows. The version is 1, or 2 if an extent is too large for version 1.
pub(super) fn to_bytes(header: &Header, bytes_each: usize) -> Vec<u8> {
    if header.dim.iter().all(|extent| *extent <= LARGEST_1) {
        version_1(header, bytes_each)
    } else {
        version_2(header, bytes_each)
    }
}

/// Places fields in the bytes of a header.
macro_rules! put {
    ($bytes:ident, $at:expr, $values:expr) => {
        for (n, value) in $values.into_iter().enumerate() {
            let field = value.to_le_bytes();
            let start = $at + n * field.len();
            $bytes[start..start + field.len()].copy_from_slice(&field);
        }
    };
}

/// Places a name in a field, cut off if it is too long.
fn put_name(field: &mut [u8], name: &str) {
    field.iter_mut().zip(name.bytes()).for_each(|(place, byte)| *place = byte);
}

fn version_1(header: &Header, bytes_each: usize) -> Vec<u8> {
    let Header { dim, pixdim, quaternion, qoffset, srow, .. } = header;
    let mut bytes = vec![0; LENGTH_1 + EXTENDER];
    put!(bytes, 0, [LENGTH_1 as i32]);
    bytes[38] = b'r';
    put!(bytes, 56, [header.intent_p1 as f32]);
    put_name(&mut bytes[328..344], &header.intent_name);
    put!(bytes, 40, dim.map(|extent| extent as i16));
    put!(bytes, 68, [header.intent_code as i16, header.datatype, 8 * bytes_each as i16]);
    put!(bytes, 76, pixdim.map(|size| size as f32));
    put!(bytes, 108, [(LENGTH_1 + EXTENDER) as f32, 1.0]);
    bytes[123] = header.xyzt_units;
    put!(bytes, 136, [header.toffset as f32]);
    put!(bytes, 252, [header.qform_code as i16, header.sform_code as i16]);
    put!(bytes, 256, quaternion.map(|value| value as f32));
    put!(bytes, 268, qoffset.map(|value| value as f32));
    put!(bytes, 280, srow.as_flattened().iter().map(|value| *value as f32));
    bytes[344..LENGTH_1].copy_from_slice(b"n+1\0");
    bytes
}

fn version_2(header: &Header, bytes_each: usize) -> Vec<u8> {
    let mut bytes = vec![0; LENGTH_2 + EXTENDER];
    put!(bytes, 0, [LENGTH_2 as i32]);
    bytes[4..12].copy_from_slice(&MAGIC_2);
    put!(bytes, 12, [header.datatype, 8 * bytes_each as i16]);
    put!(bytes, 16, header.dim);
    put!(bytes, 80, [header.intent_p1]);
    put_name(&mut bytes[508..524], &header.intent_name);
    put!(bytes, 104, header.pixdim);
    put!(bytes, 168, [(LENGTH_2 + EXTENDER) as i64]);
    put!(bytes, 176, [1.0f64]);
    put!(bytes, 216, [header.toffset]);
    put!(bytes, 344, [header.qform_code, header.sform_code]);
    put!(bytes, 352, header.quaternion);
    put!(bytes, 376, header.qoffset);
    put!(bytes, 400, header.srow.as_flattened().iter().copied());
    put!(bytes, 500, [i32::from(header.xyzt_units), header.intent_code]);
    bytes
}
