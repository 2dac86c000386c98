//! Files of points, surfaces and tracts, whose points are moved. All other data of a file stays as it is, and the copy
//! has the format of the original. Large tracts are read and written block by block.
//!
//! Each format is a module. The module finds how the coordinates of a file lie in the world (RAS mm), from the header of the file
//! where it says so.

mod carry;
mod fault;
mod fcsv;
mod format;
mod freesurfer;
mod gifti;
mod json;
mod ply;
mod read;
mod table;
mod tck;
mod trk;
mod trx;
mod vtk;
mod world;

use std::path::Path;

use super::replace::replace;
use super::source::Source;
use super::{Error, ErrorKind};
use crate::Grid;

use carry::Carrier;
use fault::{Fault, Sink};
use read::Reader;

pub use format::GeometryFormat;
pub use world::World;

/// How the points of a file are moved.
pub struct Moving<'a> {
    /// Moves points, RAS mm, in their place. It is called for one block of points after the other.
    pub map: &'a mut dyn FnMut(&mut [[f64; 3]]),
    /// The coordinate system of a file that does not say which it has. `None` leaves the choice to the format: LPS for
    /// tables and lists, an error for the others.
    pub undeclared: Option<World>,
    /// The grid of the space in which the points end. Formats whose header has a grid
    /// ([`GeometryFormat::has_grid`]) get this one; `None` keeps the grid of the file.
    pub onto: Option<&'a Grid>,
}

/// What was moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moved {
    /// Number of points.
    pub points: u64,
    /// How the coordinates of the file lie in the world, for messages.
    pub coordinates: &'static str,
}

/// Reads the file `from`, moves its points and writes the copy `to` in the same format. The copy appears complete or
/// not at all.
///
/// # Errors
/// `from` cannot be read, is not of this format, or does not say how its coordinates lie in the world; `to` cannot be
/// written.
pub fn carry_file(format: GeometryFormat, from: &Path, to: &Path, moving: Moving) -> Result<Moved, Error> {
    let Moving { map, undeclared, onto } = moving;
    let mut carrier = Carrier::new(map, undeclared, onto);
    let mut source = Some(Source::open(from)?);
    let mut fault = None;
    let written = replace(to, |file| {
        if format == GeometryFormat::Trx {
            return kept(trx::carry(from, file, &mut carrier), &mut fault).map(|text| carrier.coordinates = text);
        }
        let mut sink = Sink::new(file);
        let input = source.take().map(Reader::new).ok_or_else(|| std::io::Error::other("read twice"))?;
        let done = match format {
            GeometryFormat::Csv => table::carry(from, &mut sink, &mut carrier),
            GeometryFormat::Fcsv => fcsv::carry(input, &mut sink, &mut carrier),
            GeometryFormat::Tck => tck::carry(input, &mut sink, &mut carrier),
            GeometryFormat::Trk => trk::carry(input, &mut sink, &mut carrier),
            GeometryFormat::FreeSurfer => freesurfer::carry(from, &mut sink, &mut carrier),
            GeometryFormat::Gifti | GeometryFormat::Trx => gifti::carry(from, &mut sink, &mut carrier),
            GeometryFormat::Vtk => vtk::carry(input, &mut sink, &mut carrier),
            GeometryFormat::Ply => ply::carry(input, &mut sink, &mut carrier),
            GeometryFormat::Markups | GeometryFormat::Json => json::carry(from, &mut sink, &mut carrier),
        };
        let done = done.and_then(|coordinates| sink.end().map(|()| coordinates));
        kept(done, &mut fault).map(|text| carrier.coordinates = text)
    });
    match fault {
        Some(kind) => Err(Error::new(from, kind)),
        None => written.map(|()| Moved { points: carrier.points(), coordinates: carrier.coordinates }),
    }
}

/// The result for the writer of the copy. An error of the input is kept in `fault`.
fn kept(done: Result<&'static str, Fault>, fault: &mut Option<ErrorKind>) -> std::io::Result<&'static str> {
    done.map_err(|error| match error {
        Fault::Output(error) => error,
        Fault::Input(kind) => {
            *fault = Some(kind);
            std::io::Error::other("the input cannot be read")
        }
    })
}
