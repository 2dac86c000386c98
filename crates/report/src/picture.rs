//! Pictures as PNG in `data:` addresses.

use antsreg_core::Volume;
use base64::Engine;

use crate::Error;

/// Number of grey levels in a picture. More levels would not be visible and would take more bytes.
const SHADES: f32 = 63.0;

/// A picture whose pixels are indices into a palette.
#[derive(Debug, Clone)]
pub struct Indexed {
    /// Width and height of the picture, pixels.
    pub size: [usize; 2],
    /// Palette index of each pixel, row by row.
    pub pixels: Vec<u8>,
    /// Colours of the palette: red, green, blue.
    pub palette: Vec<[u8; 3]>,
}

impl Indexed {
    /// Makes a picture of a slice in shades of grey. `range` has the intensities of black and white.
    pub fn grey(slice: &Volume, (black, white): (f32, f32)) -> Indexed {
        let scale = SHADES / (white - black).max(f32::MIN_POSITIVE);
        let pixels = slice.voxels.iter().map(|value| ((value - black) * scale).clamp(0.0, SHADES).round() as u8);
        let shade = |n: u8| [(f32::from(n) * 255.0 / SHADES).round() as u8; 3];
        let [width, height, _] = slice.grid.shape;
        Indexed { size: [width, height], pixels: pixels.collect(), palette: (0..=SHADES as u8).map(shade).collect() }
    }

    /// The picture as a PNG file in a `data:` address.
    pub fn address(&self) -> Result<String, Error> {
        self.encoded(&[])
    }

    /// The picture as a `data:` address, with colour 0 transparent.
    pub fn address_of_overlay(&self) -> Result<String, Error> {
        self.encoded(&[0])
    }

    /// The picture as a PNG file in a `data:` address. `opacities` has the opacities of the first colours of the
    /// palette; the others are opaque.
    fn encoded(&self, opacities: &'static [u8]) -> Result<String, Error> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.size[0] as u32, self.size[1] as u32);
        encoder.set_color(png::ColorType::Indexed);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_palette(self.palette.concat());
        if !opacities.is_empty() {
            encoder.set_trns(opacities);
        }
        encoder.set_compression(png::Compression::Balanced);
        encoder.write_header()?.write_image_data(&self.pixels)?;
        Ok(format!("data:image/png;base64,{}", base64::engine::general_purpose::STANDARD.encode(bytes)))
    }

    /// Joins pictures with one palette side by side, centred vertically. The space around them has colour 0 of the
    /// palette.
    pub fn beside(pictures: &[Indexed]) -> Indexed {
        let width = pictures.iter().map(|picture| picture.size[0]).sum();
        let height = pictures.iter().map(|picture| picture.size[1]).max().unwrap_or(0);
        let mut pixels = vec![0; width * height];
        let mut left = 0;
        for Indexed { size: [across, down], pixels: own, .. } in pictures {
            let top = (height - down) / 2;
            for (row, from) in own.chunks_exact(*across).enumerate() {
                pixels[(top + row) * width + left..][..*across].copy_from_slice(from);
            }
            left += across;
        }
        let palette = pictures.first().map(|picture| picture.palette.clone()).unwrap_or_default();
        Indexed { size: [width, height], pixels, palette }
    }
}

#[cfg(test)]
mod tests {
    use antsreg_core::Grid;

    use super::*;

    #[test]
    fn pictures_are_read_back_as_they_were_drawn() {
        let slice = Volume {
            grid: Grid::axis_aligned([3, 2, 1], [1.0; 3]),
            voxels: vec![-1.0, 0.0, 5.0, 10.0, 20.0, f32::NAN],
        };
        let picture = Indexed::grey(&slice, (0.0, 10.0));
        let address = picture.address().expect("a picture");
        let encoded = address.strip_prefix("data:image/png;base64,").expect("an address of a PNG");
        let bytes = base64::engine::general_purpose::STANDARD.decode(encoded).expect("base64");
        let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().expect("a PNG");
        let mut pixels = vec![0; reader.output_buffer_size().expect("a size")];
        reader.next_frame(&mut pixels).expect("pixels");
        let red: Vec<u8> = pixels.chunks_exact(3).map(|pixel| pixel[0]).collect();
        assert_eq!(red, [0, 0, 130, 255, 255, 0]);
    }

    #[test]
    fn pictures_side_by_side_keep_their_pixels() {
        let picture = |size: [usize; 2], number| Indexed {
            size,
            pixels: vec![number; size[0] * size[1]],
            palette: vec![[0; 3]; 3],
        };
        let both = Indexed::beside(&[picture([1, 3], 1), picture([2, 1], 2)]);
        assert_eq!((both.size, both.pixels), ([3, 3], vec![1, 0, 0, 1, 2, 2, 1, 0, 0]));
    }
}
