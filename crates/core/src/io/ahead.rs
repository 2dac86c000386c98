//! Makes the pieces of a large uncompressed file on several threads, while earlier pieces are written.

use std::io::{Error, Result};
use std::sync::mpsc::sync_channel;
use std::thread::Builder;

/// Number of pieces from which further threads are worth their start.
const WORTH: usize = 32;
/// Largest number of further threads for a file. With more, writing is the slower part.
const MOST_THREADS: usize = 4;
/// Number of finished pieces of a thread that may wait until they are written. The thread makes one more meanwhile.
const AHEAD: usize = 2;

/// Calls `make(index, buffer)` for each piece, which appends the bytes of the piece to an empty buffer. Calls `write` with
/// the buffers in the order of the pieces; it returns a buffer for a later piece.
///
/// The pieces of a large file are made on threads of their own. The threads of rayon's pool are not used, because all of
/// them may be waiting for this file.
pub(super) fn write(
    pieces: usize,
    make: impl Fn(usize, &mut Vec<u8>) + Sync,
    mut write: impl FnMut(Vec<u8>) -> Result<Vec<u8>>,
) -> Result<()> {
    let threads = rayon::current_num_threads().min(MOST_THREADS);
    if pieces < WORTH || threads == 1 {
        return write_in_turn(pieces, &make, &mut write);
    }
    let make = &make;
    std::thread::scope(|scope| {
        let makers = (0..threads).map(|first| {
            let (made, ready) = sync_channel(AHEAD);
            let (back, free) = sync_channel::<Vec<u8>>(AHEAD + 1);
            let run = move || {
                for index in (first..pieces).step_by(threads) {
                    let mut buffer = free.try_recv().unwrap_or_default();
                    buffer.clear();
                    make(index, &mut buffer);
                    // Nobody receives any more if the file cannot be written.
                    if made.send(buffer).is_err() {
                        return;
                    }
                }
            };
            Builder::new().spawn_scoped(scope, run).map(|_| (ready, back))
        });
        let Ok(makers) = makers.collect::<Result<Vec<_>>>() else {
            return write_in_turn(pieces, make, &mut write);
        };
        for index in 0..pieces {
            let (ready, back) = &makers[index % threads];
            let piece = ready.recv().map_err(|_| Error::other("a thread that converts numbers has ended"))?;
            // A buffer for which there is no place is dropped.
            let _ = back.try_send(write(piece)?);
        }
        Ok(())
    })
}

/// Makes and writes one piece after the other.
fn write_in_turn(
    pieces: usize,
    make: &impl Fn(usize, &mut Vec<u8>),
    write: &mut impl FnMut(Vec<u8>) -> Result<Vec<u8>>,
) -> Result<()> {
    let mut buffer = Vec::new();
    for index in 0..pieces {
        buffer.clear();
        make(index, &mut buffer);
        buffer = write(buffer)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Appends a piece of a test file: a few bytes, whose number depends on the piece.
    fn make(index: usize, buffer: &mut Vec<u8>) {
        assert!(buffer.is_empty(), "the bytes of another piece");
        buffer.extend((0..index % 7).map(|n| (index + n) as u8));
    }

    fn on<T: Send>(threads: usize, run: impl FnOnce() -> T + Send) -> T {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads").install(run)
    }

    #[test]
    fn pieces_are_written_in_order_on_any_number_of_threads() {
        for pieces in [0, 1, WORTH - 1, WORTH, 10 * WORTH + 1] {
            let mut expected = Vec::new();
            for index in 0..pieces {
                let mut piece = Vec::new();
                make(index, &mut piece);
                expected.extend(piece);
            }
            for threads in [1, 2, 3, 8] {
                let mut written = Vec::new();
                let keep = |piece: Vec<u8>| {
                    written.extend_from_slice(&piece);
                    Ok(piece)
                };
                on(threads, || write(pieces, make, keep)).expect("a file");
                assert!(written == expected, "{pieces} pieces, {threads} threads");
            }
        }
    }

    #[test]
    fn an_error_of_writing_ends_all_threads() {
        for threads in [1, 3] {
            let mut written = 0;
            let fail = |piece| {
                written += 1;
                if written == 5 { Err(Error::other("full")) } else { Ok(piece) }
            };
            let error = on(threads, || write(100 * WORTH, make, fail)).expect_err("an error");
            assert_eq!((error.to_string().as_str(), written), ("full", 5));
        }
    }
}
