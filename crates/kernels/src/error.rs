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
    /// A buffer does not fill its shape.
    #[error("{operation}: expected {expected} values, found {found}")]
    Length {
        /// The operation that refused.
        operation: &'static str,
        /// Voxels of the shape.
        expected: usize,
        /// Values in the buffer.
        found: usize,
    },
}

impl Error {
    /// Refuses an operand of another shape.
    pub(crate) fn check_shape(operation: &'static str, expected: [usize; 3], found: [usize; 3]) -> Result<(), Error> {
        if expected == found { Ok(()) } else { Err(Error::Shape { operation, expected, found }) }
    }

    /// Refuses a buffer whose length does not fill the shape.
    pub(crate) fn check_length(operation: &'static str, shape: [usize; 3], found: usize) -> Result<(), Error> {
        let expected = shape.iter().product();
        if expected == found { Ok(()) } else { Err(Error::Length { operation, expected, found }) }
    }
}
