//! Allocates GPU memory until only the given MB are free, and holds it until standard input ends: `hold_memory MB`.
//! It shows how other programs behave when GPU memory is short.

use antsreg_kernels::ops::Memory;
use antsreg_register::DeviceChoice;

/// Shape of each image that is allocated to occupy GPU memory, in voxels: 16 MB per image.
const PIECE: [usize; 3] = [1 << 22, 1, 1];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let left_mb: u64 = std::env::args().nth(1).ok_or("usage: hold_memory MB")?.parse()?;
    let device = DeviceChoice::Cuda(0).open()?.device;
    let cuda = device.cuda().ok_or("no GPU")?;
    let mut held = Vec::new();
    let free_mb = || -> Result<u64, Box<dyn std::error::Error>> {
        Ok(device.memory()?.map_or(0, |memory| memory.free) / 1_000_000)
    };
    while free_mb()? > left_mb + 16 {
        match cuda.image(PIECE) {
            Ok(piece) => held.push(piece),
            // The memory that was free a moment ago has been taken by another process.
            Err(_) => break,
        }
    }
    println!("this process holds {} MB of GPU memory; {} MB are free", held.len() * 16, free_mb()?);
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    Ok(())
}
