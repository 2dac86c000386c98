//! The operations of N4 on a CUDA device. The samples and the bias field stay on the device. After each iteration the
//! host reads one small buffer.

mod axes;
mod launches;
mod mesh;

use super::Cuda;
use super::buffer::{Buffer, grown};
use super::image::Image;
use crate::Error;
use crate::bias::{BiasBackend, Histogram, MeshAxis, Samples, Sharpened, Step, check_mesh};
use axes::{ASKED, Axes, Axis, REACHED, SQUARED};
use launches::Table;
use mesh::Tally;

pub use mesh::BiasMesh;

impl BiasBackend for Cuda {
    type Mesh = BiasMesh;

    fn bias_histogram(&self, left: &Image, weights: &Image, bins: usize) -> Result<Histogram, Error> {
        Error::check_shape("bias_histogram", weights.shape, left.shape)?;
        Error::check_bias_bins(bins)?;
        let [nx, ny, nz] = left.shape;
        let mut tally = Tally::new(&self.device, ny * nz)?;
        // The addresses of the logarithms and of the field's planes are null, so the kernel does not subtract the
        // field. It leaves `left` as it is and computes only the range of its values.
        self.bias_subtract([0, weights.read(), left.read()], 0, [nx, ny].map(Axis::without_points), ny * nz, &tally)?;
        Ok(self.bias_outcome([left, weights], bins, ny * nz, &mut tally)?.histogram)
    }

    fn bias_mesh(&self, weights: &Image, axes: &[MeshAxis; 3], control_points: &[f64]) -> Result<BiasMesh, Error> {
        check_mesh("bias_mesh", axes, weights.shape, control_points.len())?;
        let [_, ny, nz] = weights.shape;
        let kinds = [axes.each_ref().map(MeshAxis::asked), axes.each_ref().map(MeshAxis::squared)];
        let axes = Axes::new(&self.device, axes, &kinds)?;
        let [rows, planes, points] = axes.sizes()?;
        let buffer = |len| Buffer::uninitialised(&self.device, len);
        let mut mesh = BiasMesh {
            squares: buffer(points)?,
            field: Buffer::from_slice(&self.device, control_points)?,
            expected: None,
            residuals: buffer(weights.len())?,
            rows: buffer(rows)?,
            planes: buffer(planes)?,
            sums: buffer(points)?,
            tally: Tally::new(&self.device, ny * nz)?,
            axes,
        };
        // The kernel subtracts expected logarithms from the samples. This table has none, so the kernel returns the
        // weights of the samples instead.
        self.bias_residuals([0, weights.read()], weights.len(), Table::default(), &mesh)?;
        self.bias_sums(&mesh, SQUARED)?;
        std::mem::swap(&mut mesh.squares, &mut mesh.sums);
        Ok(mesh)
    }

    fn bias_step(
        &self,
        samples: Samples<'_, Image>,
        sharpened: &Sharpened,
        mesh: &mut BiasMesh,
        left: &mut Image,
    ) -> Result<Step, Error> {
        let Samples { logarithms, weights } = samples;
        Error::check_shapes("bias_step", mesh.axes.lengths, [left.shape, logarithms.shape, weights.shape])?;
        let bins = sharpened.expected.len();
        Error::check_bias_bins(bins)?;
        let [_, ny, nz] = left.shape;
        let expected = grown(&mut mesh.expected, bins, &self.device)?;
        expected.upload(sharpened.expected)?;
        let table =
            Table { low: sharpened.low, width: sharpened.width, expected: expected.pointer(), bins: bins as i32 };
        self.bias_residuals([left.read(), weights.read()], weights.len(), table, mesh)?;
        self.bias_sums(mesh, ASKED)?;
        self.bias_add(mesh)?;
        self.bias_planes(&mesh.field, &mesh.axes, &mesh.planes)?;
        let [x, y] = [0, 1].map(|axis| mesh.axes.axis(axis, REACHED));
        let values = [logarithms.read(), weights.read(), left.write()];
        self.bias_subtract(values, mesh.planes.pointer(), [x, y], ny * nz, &mesh.tally)?;
        self.bias_outcome([left, weights], bins, ny * nz, &mut mesh.tally)
    }

    fn bias_field(&self, mesh: &BiasMesh) -> Result<Vec<f64>, Error> {
        mesh.field.download(mesh.field.len())
    }

    fn bias_divide(&self, axes: &[MeshAxis; 3], control_points: &[f64], image: &mut Image) -> Result<(), Error> {
        check_mesh("bias_divide", axes, image.shape, control_points.len())?;
        self.bias_each_voxel(axes, control_points, image, true)
    }

    fn bias_factors(&self, axes: &[MeshAxis; 3], control_points: &[f64], image: &mut Image) -> Result<(), Error> {
        check_mesh("bias_factors", axes, image.shape, control_points.len())?;
        self.bias_each_voxel(axes, control_points, image, false)
    }
}
