//! Images and fields in the memory of a device.

mod deflate;
pub(super) mod layout;
mod lend;

use antsreg_core::io::Deflated;
use nalgebra::Matrix3;

use super::buffer::Buffer;
use super::planes::planes;
use super::{Cuda, Field, Image};
use crate::ops::Memory;
use crate::{Error, Lent, Place};

impl Memory for Cuda {
    type Image = Image;
    type Field = Field;

    fn place(&self) -> Place {
        Place::Cuda(self.info().index)
    }

    fn release_kept_memory(&self) -> Result<(), Error> {
        self.device.release_kept_memory()
    }

    fn image(&self, shape: [usize; 3]) -> Result<Image, Error> {
        Ok(Image::of(shape, planes(&self.device, shape, 1, true)?))
    }

    fn upload(&self, shape: [usize; 3], voxels: &[f32]) -> Result<Image, Error> {
        Error::check_length("upload", shape, voxels.len())?;
        let mut image = Image::uninitialised(&self.device, shape)?;
        image.voxels.upload(voxels)?;
        Ok(image)
    }

    fn download(&self, image: &Image) -> Result<Vec<f32>, Error> {
        image.voxels().download(image.len())
    }

    fn copy(&self, image: &Image) -> Result<Image, Error> {
        image.duplicate_on(&self.device)
    }

    fn field(&self, shape: [usize; 3]) -> Result<Field, Error> {
        Field::zeroed(&self.device, shape)
    }

    fn field_pair(&self, shape: [usize; 3]) -> Result<[Field; 2], Error> {
        Field::pair(&self.device, shape)
    }

    fn upload_field(&self, shape: [usize; 3], vectors: &[[f32; 3]]) -> Result<Field, Error> {
        self.upload_vectors(shape, vectors, None)
    }

    fn upload_field_in(
        &self,
        shape: [usize; 3],
        vectors: &[[f32; 3]],
        matrix: &Matrix3<f32>,
    ) -> Result<Field, Error> {
        self.upload_vectors(shape, vectors, Some(matrix))
    }

    fn download_field(&self, field: &Field) -> Result<Vec<[f32; 3]>, Error> {
        self.download_vectors(field, None)
    }

    fn download_field_in(
        &self,
        field: &Field,
        matrix: &Matrix3<f32>,
        step: Option<f32>,
    ) -> Result<Vec<[f32; 3]>, Error> {
        self.download_vectors(field, Some((matrix, step)))
    }

    fn deflate_field_in(
        &self,
        field: &Field,
        matrix: &Matrix3<f32>,
        step: Option<f32>,
        factors: &[f32],
    ) -> Result<Deflated, Error> {
        let numbers = self.turned_planes(field, matrix, step, factors)?;
        self.deflate_numbers(&numbers, numbers.len())
    }

    fn deflate_image(&self, image: &Image) -> Result<Deflated, Error> {
        self.deflate_numbers(image.voxels(), image.len())
    }

    fn lend_image(&self, image: &Image) -> Result<Lent, Error> {
        let copy = Buffer::copy_of(&self.device, image.voxels())?;
        self.lend(copy, image.shape, Lent::voxels)
    }

    fn lend_field(&self, field: &Field, matrix: &Matrix3<f32>, step: Option<f32>) -> Result<Lent, Error> {
        self.lend(self.joined_vectors(field, Some((matrix, step)))?, field.shape, Lent::vectors)
    }
}
