//! Tables with the columns x, y and z.

use std::path::Path;

use super::super::points::PointTable;
use super::carry::{Carrier, Place};
use super::fault::{Fault, Sink};
use super::world::World;

pub(super) fn carry(from: &Path, sink: &mut Sink, carrier: &mut Carrier) -> Result<&'static str, Fault> {
    let mut table = PointTable::read(from).map_err(|error| error.kind)?;
    let (place, coordinates) = carrier.undeclared(Some(World::Lps))?;
    // The table has its coordinates as RAS, from LPS of the file. Those of a file in RAS are mirrored, and mirrored
    // back when they are written.
    let of_memory = if place == Place::LPS { Place::RAS } else { Place::LPS };
    let mut points: Vec<[f64; 3]> = table.points().iter().map(|point| (*point).into()).collect();
    carrier.carry(&of_memory, &mut points)?;
    table.points_mut().iter_mut().zip(points).for_each(|(point, moved)| *point = moved.into());
    let mut bytes = Vec::new();
    table.write_to(&mut bytes).map_err(Fault::Output)?;
    sink.put(&bytes)?;
    Ok(coordinates)
}
