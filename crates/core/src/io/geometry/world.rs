//! Coordinate systems of the world.

/// A coordinate system of the world, in mm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum World {
    /// x to the right, y to the front, z up: NIfTI and FreeSurfer.
    Ras,
    /// x to the left, y to the back, z up: ITK and ANTs.
    Lps,
}

/// The coordinate system of this name; `None` if the name is another one.
pub(super) fn world_of(name: &str) -> Option<World> {
    match name.trim().to_ascii_uppercase().as_str() {
        "RAS" => Some(World::Ras),
        "LPS" => Some(World::Lps),
        _ => None,
    }
}

/// The words for a coordinate system that the file names.
pub(super) fn declared(world: World) -> &'static str {
    match world {
        World::Ras => "RAS, as the file says",
        World::Lps => "LPS, as the file says",
    }
}
