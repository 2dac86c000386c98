//! Images and fields in main memory.

use std::sync::Arc;

use antsreg_core::memory;
use nalgebra::{Matrix3, Vector3};
use rayon::prelude::*;

use super::{Cpu, Field, Image};
use crate::ops::Memory;
use crate::rounding::rounded;
use crate::{Error, Lent, Place};

impl Memory for Cpu {
    type Image = Image;
    type Field = Field;

    fn place(&self) -> Place {
        Place::Main
    }

    fn image(&self, shape: [usize; 3]) -> Result<Image, Error> {
        memory::check_volume(shape, size_of::<f32>())?;
        Ok(Image::zeros(shape))
    }

    fn upload(&self, shape: [usize; 3], voxels: &[f32]) -> Result<Image, Error> {
        Image::from_voxels(shape, voxels)
    }

    fn download(&self, image: &Image) -> Result<Vec<f32>, Error> {
        Ok(image.voxels.to_vec())
    }

    fn copy(&self, image: &Image) -> Result<Image, Error> {
        Ok(image.clone())
    }

    fn field(&self, shape: [usize; 3]) -> Result<Field, Error> {
        memory::check_volume(shape, size_of::<[f32; 3]>())?;
        Ok(Field::zeros(shape))
    }

    fn upload_field(&self, shape: [usize; 3], vectors: &[[f32; 3]]) -> Result<Field, Error> {
        Field::from_vectors(shape, vectors)
    }

    fn download_field(&self, field: &Field) -> Result<Vec<[f32; 3]>, Error> {
        Ok(field.vectors().to_vec())
    }

    fn download_field_in(
        &self,
        field: &Field,
        matrix: &Matrix3<f32>,
        step: Option<f32>,
    ) -> Result<Vec<[f32; 3]>, Error> {
        let vectors = field.vectors().par_iter();
        Ok(vectors.map(|u| rounded((matrix * Vector3::from(*u)).into(), step)).collect())
    }

    fn lend_image(&self, image: &Image) -> Result<Lent, Error> {
        let voxels = image.voxels.to_vec();
        Ok(Lent::voxels(Place::Main, voxels.as_ptr().expose_provenance(), image.shape, Arc::new(voxels)))
    }

    fn lend_field(&self, field: &Field, matrix: &Matrix3<f32>, step: Option<f32>) -> Result<Lent, Error> {
        let vectors = self.download_field_in(field, matrix, step)?;
        Ok(Lent::vectors(Place::Main, vectors.as_ptr().expose_provenance(), field.shape, Arc::new(vectors)))
    }
}
