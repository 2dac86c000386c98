//! What can go wrong on a device.

/// A whole-volume operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Two operands do not have the shape the operation needs.
    #[error("{operation}: expected a volume of shape {expected:?}, found {found:?}")]
    Shape {
        /// The operation that refused.
        operation: &'static str,
        /// The shape it needs.
        expected: [usize; 3],
        /// The shape it was given.
        found: [usize; 3],
    },
}
