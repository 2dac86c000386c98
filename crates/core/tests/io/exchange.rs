//! Tests of transforms in the formats of other programs. Files of other programs are compared in
//! `scripts/clients/formats.py`.

use antsreg_core::io::ErrorKind;
use antsreg_core::io::exchange::{Spaces, TransformFormat};
use antsreg_core::{AffineTransform, DisplacementField, Grid, Transform};
use nalgebra::{Matrix3, Point3, Rotation3, Vector3};

use crate::support::{grids, save};

/// Numbers at random, the same in every run.
struct Random(u64);

impl Random {
    /// A number from −1 to 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    fn affine(&mut self) -> AffineTransform {
        let turn = Rotation3::from_euler_angles(self.next(), self.next(), self.next());
        let stretch = Matrix3::from_fn(|row, column| f64::from(u8::from(row == column)) + 0.2 * self.next());
        let translation = Vector3::from_fn(|_, _| 50.0 * self.next());
        AffineTransform { matrix: turn.matrix() * stretch, translation }
    }
}

fn only(mut transforms: Vec<Transform>) -> Transform {
    assert_eq!(transforms.len(), 1);
    transforms.remove(0)
}

#[test]
fn fifty_affines_come_back_from_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random(1);
    for n in 0..50 {
        let affine = random.affine();
        // AFNI's matrices are for images that are not oblique.
        let [fixed, moving] = [n % 4, (n + 1) % 4].map(|at| grids().remove(at).1);
        let spaces = Spaces { fixed: Some(&fixed), moving: Some(&moving) };
        for (name, format) in TransformFormat::ALL {
            let path = folder.path().join(match name {
                "x5" => "a.x5",
                "afni" => "a.aff12.1D",
                _ => "a.txt",
            });
            if format == TransformFormat::Spm {
                let kind = format.write(&path, &Transform::Affine(affine), spaces).unwrap_err().kind;
                assert!(matches!(kind, ErrorKind::NotHeld { .. }), "{kind}");
                continue;
            }
            format.write(&path, &Transform::Affine(affine), spaces).unwrap();
            let Transform::Affine(back) = only(format.read(&path, spaces).unwrap()) else {
                panic!("{name}: a field")
            };
            let corner = Point3::new(100.0, -90.0, 80.0);
            let apart = (back.apply(&corner) - affine.apply(&corner)).norm();
            assert!(apart < 1e-9, "{name}: {apart} mm");
            let found = TransformFormat::of_content(&path).unwrap();
            let expected = match name {
                "mrtrix" | "niftyreg" | "niftyreg-disp" => TransformFormat::Fsl,
                _ => format,
            };
            assert_eq!(found, expected, "{name}");
        }
    }
}

#[test]
fn five_warps_come_back_from_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random(2);
    for (which, grid) in grids().into_iter().take(5) {
        let grid = Grid { origin: Point3::new(-90.0, 120.0, -70.0), ..grid };
        let vectors = (0..grid.len()).map(|_| std::array::from_fn(|_| 9.0 * random.next() as f32)).collect();
        let field = DisplacementField { grid, vectors };
        for (name, format) in TransformFormat::ALL {
            let path = folder.path().join(if name == "x5" { "a.x5" } else { "a.nii.gz" });
            let written = format.write(&path, &Transform::Displacement(field.clone()), Spaces::default());
            if matches!(name, "fsl" | "lta" | "afni") {
                assert!(matches!(written.unwrap_err().kind, ErrorKind::NotHeld { .. }), "{name}");
                continue;
            }
            written.unwrap();
            let read = format.read(&path, Spaces::default()).unwrap();
            let Transform::Displacement(back) = only(read) else { panic!("{name}: an affine map") };
            let differences = back.vectors.iter().flatten().zip(field.vectors.iter().flatten());
            let apart = differences.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(apart < 1e-4, "{which} {name}: {apart} mm");
            let found = TransformFormat::of_content(&path).unwrap();
            let expected = match format {
                TransformFormat::Spm => TransformFormat::Itk,
                TransformFormat::NiftyRegDisplacements => TransformFormat::NiftyReg,
                other => other,
            };
            assert_eq!(found, expected, "{name}");
        }
    }
}

#[test]
fn an_lta_of_voxels_is_the_map_of_its_geometries() {
    let (_, grid) = grids().remove(5);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.lta");
    let spaces = Spaces { fixed: Some(&grid), moving: Some(&grid) };
    let affine = Random(3).affine();
    TransformFormat::Lta.write(&path, &Transform::Affine(affine), spaces).unwrap();
    // The same map as a matrix of voxel indices, from moving to fixed.
    let (to_world, to_voxel) = (grid.voxel_to_world(), grid.world_to_voxel());
    let voxels = to_voxel.after(&affine.inverse().unwrap()).after(&to_world).to_homogeneous();
    let rows: Vec<String> =
        voxels.row_iter().map(|row| format!("{} {} {} {}", row[0], row[1], row[2], row[3])).collect();
    let text = std::fs::read_to_string(&path).unwrap().replace("type      = 1", "# a comment\ntype      = 0");
    let (before, after) = (text.split("1 4 4").next().unwrap(), text.split_once("src volume").unwrap().1);
    let text = format!("{before}1 4 4\n{}\nsrc volume{after}", rows.join("\n"));
    let path = save(folder.path(), "b.lta", text.as_bytes());
    let Transform::Affine(back) = only(TransformFormat::Lta.read(&path, Spaces::default()).unwrap()) else {
        panic!()
    };
    let corner = Point3::new(60.0, -40.0, 30.0);
    assert!((back.apply(&corner) - affine.apply(&corner)).norm() < 1e-9);
    let kind = TransformFormat::Lta
        .read(&save(folder.path(), "c.lta", text.replace("= 0", "= 14").as_bytes()), Spaces::default())
        .unwrap_err()
        .kind;
    assert!(matches!(kind, ErrorKind::FieldNotServed { .. }), "{kind}");
}

#[test]
fn afni_refuses_oblique_images_and_fsl_unknown_ones() {
    let (_, oblique) = grids().remove(4);
    let path = std::path::Path::new("a.1D");
    let affine = Transform::Affine(AffineTransform::identity());
    let spaces = Spaces { fixed: Some(&oblique), moving: None };
    let refused = |format: TransformFormat| format.write(path, &affine, spaces).unwrap_err().kind;
    assert!(matches!(refused(TransformFormat::Afni), ErrorKind::Oblique));
    assert!(matches!(refused(TransformFormat::Fsl), ErrorKind::SpacesUnknown));
    assert!(matches!(refused(TransformFormat::Lta), ErrorKind::SpacesUnknown));
}
