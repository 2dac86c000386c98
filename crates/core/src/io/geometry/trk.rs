//! Tracts of TrackVis (`.trk`): a header of 1000 bytes, then streamlines. Coordinates are in voxels times the size of a
//! voxel, from the corner of the first voxel. Source: TrackVis' description of the format, version 2; the order of the
//! axes is used as nibabel does.

use nalgebra::{Matrix3, Matrix4, Vector3};

use super::carry::{BLOCK, Carrier, Layout, Numbers, Place, Real};
use super::fault::{Fault, Sink, wrong};
use super::read::{Bytes, Reader};
use crate::io::ErrorKind;
use crate::{AffineTransform, Grid};

/// Number of bytes of the header, and of its fields before the positions named here.
const HEADER: usize = 1000;
const DIMENSIONS: usize = 6;
const VOXEL_SIZE: usize = 12;
const SCALARS: usize = 36;
const PROPERTIES: usize = 238;
const VOXEL_TO_RAS: usize = 440;
const VOXEL_ORDER: usize = 948;
const STREAMLINES: usize = 988;
const HEADER_SIZE: usize = 996;

/// Most scalars of a point, or properties of a streamline, of which a header has names.
const MOST_VALUES: i16 = 10;

/// Letters of the directions along the world axes, and against them.
const LETTERS: [[u8; 2]; 3] = [*b"RL", *b"AP", *b"SI"];

/// Number of bytes that are in memory at the same time, about.
const BYTES: usize = BLOCK * 12;

pub(super) fn carry(mut input: Reader, sink: &mut Sink, carrier: &mut Carrier) -> Result<&'static str, Fault> {
    let mut bytes = [0; HEADER];
    let filled = input.fill(&mut bytes)?;
    if !bytes.starts_with(b"TRACK") {
        return Err(wrong("the first bytes", "\"TRACK\"", bytes[..filled.min(5)].escape_ascii()).into());
    }
    if filled < HEADER {
        return Err(input.ended(HEADER as u64).into());
    }
    let mut header = Header { bytes, big_endian: false };
    header.big_endian = header.int(HEADER_SIZE) != HEADER as i32;
    if header.int(HEADER_SIZE) != HEADER as i32 {
        return Err(wrong("the size of the header", "1000", header.int(HEADER_SIZE)).into());
    }
    let [scalars, properties] = [SCALARS, PROPERTIES].map(|at| header.short(at));
    for (what, count) in [("the number of scalars", scalars), ("the number of properties", properties)] {
        if !(0..=MOST_VALUES).contains(&count) {
            return Err(wrong(what, format!("0 to {MOST_VALUES}"), count).into());
        }
    }
    let to_world = header.to_world()?;
    let mut from_header = &header;
    let replaced;
    if let Some(grid) = carrier.onto {
        replaced = header.with_grid(grid);
        from_header = &replaced;
    }
    let place = Place::between(to_world, from_header.to_world()?)?;
    sink.put(&from_header.bytes)?;
    let numbers = Numbers { real: Real::Single, big_endian: header.big_endian };
    let layout = Layout { stride: 4 * (3 + scalars as usize), ..Layout::plain(numbers) };
    streamlines(input, sink, carrier, &header, &layout, 4 * properties as usize, &place)?;
    Ok("voxels of the header, whose place is known")
}

/// Copies the streamlines with their points moved.
fn streamlines(
    mut input: Reader,
    sink: &mut Sink,
    carrier: &mut Carrier,
    header: &Header,
    layout: &Layout,
    properties: usize,
    place: &Place,
) -> Result<(), Fault> {
    let announced = header.int(STREAMLINES);
    let mut batch = Batch::default();
    let mut done: u64 = 0;
    loop {
        let start = batch.bytes.len();
        batch.bytes.resize(start + 4, 0);
        match input.fill(&mut batch.bytes[start..])? {
            0 => {
                batch.bytes.truncate(start);
                break;
            }
            4 => {}
            _ => return Err(input.ended(input.position() + 4).into()),
        }
        let count = int_of(&batch.bytes[start..], header.big_endian);
        let count =
            u32::try_from(count).map_err(|_| wrong("the number of points of a streamline", "0 or more", count))?;
        let mut left = count as usize;
        while left > 0 {
            let some = left.min((BYTES / layout.stride).max(1));
            batch.read(&mut input, some * layout.stride, left * layout.stride + properties)?;
            let from = batch.bytes.len() - some * layout.stride;
            batch.places.extend((0..some).map(|n| from + n * layout.stride));
            left -= some;
            batch.write_if_full(sink, carrier, layout, place)?;
        }
        batch.read(&mut input, properties, properties)?;
        batch.write_if_full(sink, carrier, layout, place)?;
        done += 1;
    }
    batch.write(sink, carrier, layout, place)?;
    // 0 stands for a number that is not known.
    if announced != 0 && u64::try_from(announced) != Ok(done) {
        return Err(wrong("the number of streamlines", announced.to_string(), done).into());
    }
    input.copy_rest(sink)
}

/// Bytes of streamlines that are in memory, with the positions of the points in them.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    places: Vec<usize>,
    points: Vec<[f64; 3]>,
}

impl Batch {
    /// Appends `count` bytes of the file, which needs at least `needed` bytes more.
    fn read(&mut self, input: &mut Reader, count: usize, needed: usize) -> Result<(), ErrorKind> {
        let start = self.bytes.len();
        self.bytes.resize(start + count, 0);
        let filled = input.fill(&mut self.bytes[start..])?;
        if filled < count { Err(input.ended(input.position() + (needed - filled) as u64)) } else { Ok(()) }
    }

    fn write_if_full(
        &mut self,
        sink: &mut Sink,
        carrier: &mut Carrier,
        layout: &Layout,
        place: &Place,
    ) -> Result<(), Fault> {
        if self.bytes.len() < BYTES { Ok(()) } else { self.write(sink, carrier, layout, place) }
    }

    /// Moves the points, writes the bytes and forgets both.
    fn write(&mut self, sink: &mut Sink, carrier: &mut Carrier, layout: &Layout, place: &Place) -> Result<(), Fault> {
        self.points.clear();
        self.points.extend(self.places.iter().map(|at| layout.get(&self.bytes[*at..])));
        carrier.carry(place, &mut self.points)?;
        for (at, point) in self.places.iter().zip(&self.points) {
            layout.put(&mut self.bytes[*at..], point);
        }
        sink.put(&self.bytes)?;
        self.bytes.clear();
        self.places.clear();
        Ok(())
    }
}

/// The header as bytes.
#[derive(Clone)]
struct Header {
    bytes: [u8; HEADER],
    big_endian: bool,
}

impl Header {
    fn int(&self, at: usize) -> i32 {
        int_of(&self.bytes[at..], self.big_endian)
    }

    fn short(&self, at: usize) -> i16 {
        let bytes = [self.bytes[at], self.bytes[at + 1]];
        if self.big_endian { i16::from_be_bytes(bytes) } else { i16::from_le_bytes(bytes) }
    }

    fn numbers(&self) -> Numbers {
        Numbers { real: Real::Single, big_endian: self.big_endian }
    }

    fn floats<const N: usize>(&self, at: usize) -> [f64; N] {
        std::array::from_fn(|n| self.numbers().get(&self.bytes[at + 4 * n..]))
    }

    /// The map from the coordinates of the file to RAS mm.
    fn to_world(&self) -> Result<AffineTransform, ErrorKind> {
        let sizes: [f64; 3] = self.floats(VOXEL_SIZE);
        if !sizes.iter().all(|size| size.is_finite() && *size > 0.0) {
            return Err(wrong("voxel_size", "three positive numbers", format!("{sizes:?}")));
        }
        let rows: [f64; 16] = self.floats(VOXEL_TO_RAS);
        let matrix = Matrix4::from_row_slice(&rows);
        if rows[15] == 0.0 {
            // TrackVis' sign of a header without this matrix.
            return Err(wrong("vox_to_ras", "the place of the voxels in the world", "none"));
        }
        if !rows.iter().all(|value| value.is_finite()) || rows[12..] != [0.0, 0.0, 0.0, 1.0] {
            return Err(wrong("vox_to_ras", "finite numbers with the last row 0 0 0 1", format!("{rows:?}")));
        }
        let voxel_to_world = AffineTransform::from_homogeneous(&matrix);
        // Voxel indices count from the centre of the first voxel, coordinates from its corner.
        let to_voxel = AffineTransform {
            matrix: Matrix3::from_diagonal(&Vector3::from(sizes.map(|size| 1.0 / size))),
            translation: Vector3::repeat(-0.5),
        };
        Ok(voxel_to_world.after(&self.reordered(&voxel_to_world)?).after(&to_voxel))
    }

    /// The map from the voxels in the order of the header's `voxel_order` to those of `vox_to_ras`.
    fn reordered(&self, voxel_to_world: &AffineTransform) -> Result<AffineTransform, ErrorKind> {
        let dimensions: [i16; 3] = std::array::from_fn(|axis| self.short(DIMENSIONS + 2 * axis));
        let letters = &self.bytes[VOXEL_ORDER..VOXEL_ORDER + 3];
        let order = if letters[0] == 0 { b"LPS" } else { letters };
        let mut header_axes = [(0, false); 3];
        for (axis, letter) in header_axes.iter_mut().zip(order) {
            let letter = letter.to_ascii_uppercase();
            let world = (0..3).find(|world| LETTERS[*world].contains(&letter));
            let world = world.ok_or_else(|| wrong("voxel_order", "letters such as RAS", order.escape_ascii()))?;
            *axis = (world, letter == LETTERS[world][1]);
        }
        let mut matrix = Matrix3::zeros();
        let mut translation = Vector3::zeros();
        for (row, (world, against)) in axes_of(voxel_to_world).into_iter().enumerate() {
            let column = header_axes.iter().position(|(axis, _)| *axis == world);
            let column = column.ok_or_else(|| wrong("voxel_order", "each axis once", order.escape_ascii()))?;
            let turned = header_axes[column].1 != against;
            matrix[(row, column)] = if turned { -1.0 } else { 1.0 };
            translation[row] = if turned { f64::from(dimensions[column]) - 1.0 } else { 0.0 };
        }
        Ok(AffineTransform { matrix, translation })
    }

    /// This header with the grid of another image.
    fn with_grid(&self, grid: &Grid) -> Header {
        let mut new = self.clone();
        for axis in 0..3 {
            let size = i16::try_from(grid.shape[axis]).unwrap_or(i16::MAX);
            let bytes = if self.big_endian { size.to_be_bytes() } else { size.to_le_bytes() };
            new.bytes[DIMENSIONS + 2 * axis..][..2].copy_from_slice(&bytes);
            self.numbers().put(grid.spacing[axis], &mut new.bytes[VOXEL_SIZE + 4 * axis..]);
        }
        let matrix = grid.voxel_to_world().to_homogeneous();
        for (n, value) in matrix.transpose().iter().enumerate() {
            self.numbers().put(*value, &mut new.bytes[VOXEL_TO_RAS + 4 * n..]);
        }
        let order = axes_of(&grid.voxel_to_world()).map(|(world, against)| LETTERS[world][usize::from(against)]);
        new.bytes[VOXEL_ORDER..VOXEL_ORDER + 4].copy_from_slice(&[order[0], order[1], order[2], 0]);
        new
    }
}

/// For each voxel axis the world axis nearest to it, and whether it runs against that world axis.
fn axes_of(voxel_to_world: &AffineTransform) -> [(usize, bool); 3] {
    let mut direction = voxel_to_world.matrix;
    direction.column_iter_mut().for_each(|mut column| {
        let length = column.norm();
        column /= if length > 0.0 { length } else { 1.0 };
    });
    let grid = Grid { direction, ..Grid::axis_aligned([1; 3], [1.0; 3]) };
    grid.nearest_axes()
}

fn int_of(bytes: &[u8], big_endian: bool) -> i32 {
    let bytes = [bytes[0], bytes[1], bytes[2], bytes[3]];
    if big_endian { i32::from_be_bytes(bytes) } else { i32::from_le_bytes(bytes) }
}
