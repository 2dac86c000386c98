//! Moves points between the coordinates of a file and the world, and between numbers and bytes.

use nalgebra::{Matrix3, Point3, Vector3};

use super::super::ErrorKind;
use super::fault::{Fault, wrong};
use super::read::Bytes;
use super::world::World;
use crate::{AffineTransform, Grid};

/// Number of points that are in memory at the same time.
pub(super) const BLOCK: usize = 1 << 15;

/// Largest coordinate that is accepted, mm. Results of such points can be stored in single precision.
const FARTHEST_MM: f64 = 1e9;

/// The map of points, and what it has been used for.
pub(super) struct Carrier<'m> {
    map: &'m mut dyn FnMut(&mut [[f64; 3]]),
    points: u64,
    undeclared: Option<World>,
    pub onto: Option<&'m Grid>,
    /// How the coordinates of the file lie in the world, for messages.
    pub coordinates: &'static str,
}

impl<'m> Carrier<'m> {
    pub fn new(
        map: &'m mut dyn FnMut(&mut [[f64; 3]]),
        undeclared: Option<World>,
        onto: Option<&'m Grid>,
    ) -> Carrier<'m> {
        Carrier { map, points: 0, undeclared, onto, coordinates: "" }
    }

    /// Number of points moved so far.
    pub fn points(&self) -> u64 {
        self.points
    }

    /// The place of coordinates in a file without a coordinate system, and words for messages. `default` is the
    /// coordinate system of the format; without a default, the caller must have given one.
    pub fn undeclared(&self, default: Option<World>) -> Result<(Place, &'static str), ErrorKind> {
        match self.undeclared.or(default) {
            Some(World::Ras) => Ok((Place::RAS, "RAS as given")),
            Some(World::Lps) if self.undeclared.is_none() => Ok((Place::LPS, "LPS, the default")),
            Some(World::Lps) => Ok((Place::LPS, "LPS as given")),
            None => Err(ErrorKind::WorldUnknown),
        }
    }

    /// Moves points from the coordinates of the file to new coordinates of the file.
    pub fn carry(&mut self, place: &Place, points: &mut [[f64; 3]]) -> Result<(), ErrorKind> {
        for (n, point) in points.iter().enumerate() {
            if let Some(value) = point.iter().find(|value| value.is_nan() || value.abs() > FARTHEST_MM) {
                let number = self.points + n as u64 + 1;
                return Err(ErrorKind::Coordinate { number, value: *value });
            }
        }
        let through = |map: &AffineTransform, points: &mut [[f64; 3]]| {
            points.iter_mut().for_each(|point| *point = map.apply(&Point3::from(*point)).into());
        };
        through(&place.to_world, points);
        (self.map)(points);
        through(&place.from_world, points);
        // Adding 0 turns the number −0 into 0, so that "-0" is not written.
        points.iter_mut().flatten().for_each(|value| *value += 0.0);
        self.points += points.len() as u64;
        Ok(())
    }

    /// Copies `count` records, each with a point, and moves the points.
    pub fn carry_records(
        &mut self,
        input: &mut impl Bytes,
        mut put: impl FnMut(&[u8]) -> Result<(), Fault>,
        count: u64,
        layout: &Layout,
        place: &Place,
    ) -> Result<(), Fault> {
        let mut bytes = Vec::new();
        let mut points = Vec::new();
        let mut left = count;
        while left > 0 {
            let some = left.min((BLOCK * 12 / layout.stride.max(12)).max(1) as u64) as usize;
            bytes.resize(some * layout.stride, 0);
            let filled = input.fill(&mut bytes)?;
            if filled < bytes.len() {
                let before = input.position() - filled as u64;
                return Err(input.ended(before.saturating_add(left.saturating_mul(layout.stride as u64))).into());
            }
            self.carry_in_place(&mut bytes, &mut points, layout, place)?;
            put(&bytes)?;
            left -= some as u64;
        }
        Ok(())
    }

    /// Moves the points of records that are in memory.
    pub fn carry_in_place(
        &mut self,
        bytes: &mut [u8],
        points: &mut Vec<[f64; 3]>,
        layout: &Layout,
        place: &Place,
    ) -> Result<(), ErrorKind> {
        points.clear();
        points.extend(bytes.chunks_exact(layout.stride).map(|record| layout.get(record)));
        self.carry(place, points)?;
        bytes.chunks_exact_mut(layout.stride).zip(points).for_each(|(record, point)| layout.put(record, point));
        Ok(())
    }
}

/// How the coordinates of a file lie in the world: the map from these to RAS mm, and the map back. The maps differ by
/// more than inversion if the points end in the space of another image.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Place {
    to_world: AffineTransform,
    from_world: AffineTransform,
}

impl Place {
    pub const RAS: Place = Place::of_signs(1.0);
    pub const LPS: Place = Place::of_signs(-1.0);

    /// The place of coordinates that `from` maps to RAS mm. The moved points get the coordinates that `to` maps to
    /// RAS mm.
    pub fn between(from: AffineTransform, to: AffineTransform) -> Result<Place, ErrorKind> {
        Ok(Place { to_world: from, from_world: to.inverse().ok_or(ErrorKind::Singular)? })
    }

    const fn of_signs(sign: f64) -> Place {
        let matrix = Matrix3::new(sign, 0.0, 0.0, 0.0, sign, 0.0, 0.0, 0.0, 1.0);
        let map = AffineTransform { matrix, translation: Vector3::new(0.0, 0.0, 0.0) };
        Place { to_world: map, from_world: map }
    }
}

impl From<World> for Place {
    fn from(world: World) -> Place {
        match world {
            World::Ras => Place::RAS,
            World::Lps => Place::LPS,
        }
    }
}

/// A type of numbers in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Real {
    Half,
    Single,
    Double,
}

/// Numbers as bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Numbers {
    pub real: Real,
    pub big_endian: bool,
}

impl Numbers {
    /// Number of bytes of a number.
    pub fn size(self) -> usize {
        match self.real {
            Real::Half => 2,
            Real::Single => 4,
            Real::Double => 8,
        }
    }

    /// The number at the start of `bytes`.
    pub fn get(self, bytes: &[u8]) -> f64 {
        let mut held = [0; 8];
        let size = self.size();
        held[..size].copy_from_slice(&bytes[..size]);
        if self.big_endian {
            held[..size].reverse();
        }
        let [a, b, c, d, ..] = held;
        match self.real {
            Real::Half => half::f16::from_le_bytes([a, b]).into(),
            Real::Single => f32::from_le_bytes([a, b, c, d]).into(),
            Real::Double => f64::from_le_bytes(held),
        }
    }

    /// Writes a number to the start of `bytes`.
    pub fn put(self, value: f64, bytes: &mut [u8]) {
        let size = self.size();
        let mut held = [0; 8];
        match self.real {
            Real::Half => held[..2].copy_from_slice(&half::f16::from_f64(value).to_le_bytes()),
            Real::Single => held[..4].copy_from_slice(&(value as f32).to_le_bytes()),
            Real::Double => held = value.to_le_bytes(),
        }
        if self.big_endian {
            held[..size].reverse();
        }
        bytes[..size].copy_from_slice(&held[..size]);
    }
}

/// Where a point lies in a record of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    /// Number of bytes of a record.
    pub stride: usize,
    /// The first byte of each coordinate in the record, and its type.
    pub at: [(usize, Numbers); 3],
}

impl Layout {
    /// Three numbers one after the other, and nothing else.
    pub fn plain(numbers: Numbers) -> Layout {
        let size = numbers.size();
        Layout { stride: 3 * size, at: [0, size, 2 * size].map(|at| (at, numbers)) }
    }

    pub fn get(&self, record: &[u8]) -> [f64; 3] {
        self.at.map(|(at, numbers)| numbers.get(&record[at..]))
    }

    pub fn put(&self, record: &mut [u8], point: &[f64; 3]) {
        for ((at, numbers), value) in self.at.iter().zip(point) {
            numbers.put(*value, &mut record[*at..]);
        }
    }
}

/// Reads a finite number of a text.
pub(super) fn number(what: &'static str, word: &str) -> Result<f64, ErrorKind> {
    word.trim()
        .parse()
        .ok()
        .filter(|value: &f64| value.is_finite())
        .ok_or_else(|| wrong(what, "a finite number", word))
}
