//! Conversion of stored voxels of any type and byte order to numbers.

use ::nifti::{Endianness, NiftiType};

use super::super::ErrorKind;
use super::super::formats::header::Header;
use super::coded::Keys;

/// Type, byte order and scaling of the voxels stored in a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Encoding {
    /// NIfTI type of the stored values.
    pub datatype: NiftiType,
    /// Byte order of the stored values.
    pub endianness: Endianness,
    /// Slope and intercept that give the voxel values: value = slope · stored + intercept; `None` if the stored numbers
    /// are the values.
    pub scaling: Option<(f64, f64)>,
}

impl Encoding {
    /// Reads type, byte order and scaling of the stored voxels from a header. Complex numbers, colours and unknown
    /// types are errors.
    pub fn of(header: &Header) -> Result<Encoding, ErrorKind> {
        let datatype = header.data_type()?;
        let (slope, intercept) = (header.scl_slope, header.scl_inter);
        let none = !slope.is_finite() || !intercept.is_finite() || slope == 0.0 || (slope, intercept) == (1.0, 0.0);
        let scaling = (!none).then_some((slope, intercept));
        Ok(Encoding { datatype, endianness: header.endianness, scaling })
    }

    /// Converts the values stored in `bytes` to single precision and appends them to `out`. `bytes` holds complete
    /// values only.
    pub fn append_f32(&self, bytes: &[u8], out: &mut Vec<f32>) {
        macro_rules! convert {
            ($($variant:ident $type:ty),*) => {
                match self.datatype {
                    $(NiftiType::$variant => values!($type),)*
                    _ => {}
                }
            };
        }
        macro_rules! values {
            ($type:ty) => {{
                let (stored, _) = bytes.as_chunks::<{ size_of::<$type>() }>();
                match (self.endianness, self.scaling) {
                    (Endianness::Little, None) => {
                        out.extend(stored.iter().map(|value| <$type>::from_le_bytes(*value) as f32));
                    }
                    (Endianness::Big, None) => {
                        out.extend(stored.iter().map(|value| <$type>::from_be_bytes(*value) as f32));
                    }
                    (Endianness::Little, Some((slope, intercept))) => out.extend(
                        stored.iter().map(|value| (<$type>::from_le_bytes(*value) as f64 * slope + intercept) as f32),
                    ),
                    (Endianness::Big, Some((slope, intercept))) => out.extend(
                        stored.iter().map(|value| (<$type>::from_be_bytes(*value) as f64 * slope + intercept) as f32),
                    ),
                }
            }};
        }
        convert!(Uint8 u8, Int8 i8, Uint16 u16, Int16 i16, Uint32 u32, Int32 i32, Uint64 u64, Int64 i64,
            Float32 f32, Float64 f64);
    }

    /// Appends the values stored in `bytes`, which must be unscaled integers, as keys that compare as the values do: see
    /// [`Keys`](super::coded::Keys).
    pub fn append_keys(&self, bytes: &[u8], out: &mut Vec<u64>) {
        macro_rules! convert {
            ($($variant:ident $type:ty, $key:expr);*) => {
                match self.datatype {
                    $(NiftiType::$variant => {
                        let (stored, _) = bytes.as_chunks::<{ size_of::<$type>() }>();
                        match self.endianness {
                            Endianness::Little => out.extend(stored.iter().map(|v| $key(<$type>::from_le_bytes(*v)))),
                            Endianness::Big => out.extend(stored.iter().map(|v| $key(<$type>::from_be_bytes(*v)))),
                        }
                    })*
                    _ => {}
                }
            };
        }
        convert!(Uint8 u8, u64::from; Uint16 u16, u64::from; Uint32 u32, u64::from; Uint64 u64, u64::from;
            Int8 i8, |v| Keys::of_signed(i64::from(v)); Int16 i16, |v| Keys::of_signed(i64::from(v));
            Int32 i32, |v| Keys::of_signed(i64::from(v)); Int64 i64, Keys::of_signed);
    }

    /// Converts the values stored in `bytes` to double precision and appends them to `out`. `bytes` holds complete
    /// values only.
    pub fn append_f64(&self, bytes: &[u8], out: &mut Vec<f64>) {
        let (slope, intercept) = self.scaling.unwrap_or((1.0, 0.0));
        macro_rules! convert {
            ($($variant:ident $type:ty),*) => {
                match self.datatype {
                    $(NiftiType::$variant => {
                        let (stored, _) = bytes.as_chunks::<{ size_of::<$type>() }>();
                        match self.endianness {
                            Endianness::Little => out.extend(
                                stored.iter().map(|v| <$type>::from_le_bytes(*v) as f64 * slope + intercept)),
                            Endianness::Big => out.extend(
                                stored.iter().map(|v| <$type>::from_be_bytes(*v) as f64 * slope + intercept)),
                        }
                    })*
                    _ => {}
                }
            };
        }
        convert!(Uint8 u8, Int8 i8, Uint16 u16, Int16 i16, Uint32 u32, Int32 i32, Uint64 u64, Int64 i64,
            Float32 f32, Float64 f64);
    }
}
