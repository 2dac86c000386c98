//! Tests of lesions: tissue that no stage compares.

use antsreg_core::io::{itk, nifti};
use antsreg_core::{DisplacementField, Volume};
use antsreg_tests::{Brain, Workplace, grid};
use nalgebra::{Matrix3, Point3};

const SPACING: f64 = 6.0;

/// Makes a folder with a fixed brain, a moving brain `m` of another shape, the same brain with a bright lesion as `h`, and
/// the mask of the lesion as two files, `l1` and `l2`. Returns the voxels of the lesion.
fn harmed() -> (Workplace, Vec<bool>) {
    let place = Workplace::new();
    let onto = grid(SPACING, [0.0; 3], Matrix3::identity());
    Brain::standard().write_image(&onto, &place.path("f.nii.gz"));
    let mut moving = Brain { warp_mm: 5.0, ..Brain::standard() }.image(&onto);
    nifti::write_volume(&place.path("m.nii.gz"), &moving).expect("an image");
    let [nx, ny, _] = onto.shape;
    let to_world = onto.voxel_to_world();
    let at = |n: usize| to_world.apply(&Point3::new(n % nx, n / nx % ny, n / (nx * ny)).map(|index| index as f64));
    let inside = |n: usize| (at(n) - Point3::new(-25.0, -10.0, 5.0)).norm() < 20.0;
    let lesion: Vec<bool> = (0..onto.len()).map(inside).collect();
    moving.voxels.iter_mut().zip(&lesion).filter(|(_, lesion)| **lesion).for_each(|(value, _)| *value = 2000.0);
    nifti::write_volume(&place.path("h.nii.gz"), &moving).expect("an image");
    for half in [0, 1] {
        let part = |n: usize| f32::from(u8::from(lesion[n] && (at(n).z > 5.0) == (half == 1)));
        let part = Volume { voxels: (0..onto.len()).map(part).collect(), grid: onto.clone() };
        nifti::write_volume(&place.path(&format!("l{}.nii.gz", half + 1)), &part).expect("a mask");
    }
    (place, lesion)
}

fn warp(place: &Workplace, prefix: &str) -> DisplacementField {
    itk::read_warp(&place.path(&format!("{prefix}1Warp.nii.gz"))).expect("a warp")
}

#[test]
fn a_lesion_with_a_mask_moves_nothing() {
    let (place, lesion) = harmed();
    // Without strong clipping, the bright lesion does harm if no mask is given.
    let options = "-f f.nii.gz -t syn-only --device cpu --brain none --gradient-step 0.3 --winsorise 0.005,0.995";
    place.succeed(&format!("register {options} -m m.nii.gz -o healthy_"));
    place.succeed(&format!("register {options} -m h.nii.gz -o without_"));
    place.succeed(&format!(
        "register {options} -m h.nii.gz -o with_ --lesion l1.nii.gz --moving-lesion l2.nii.gz --report"
    ));
    let healthy = warp(&place, "healthy_");
    let apart = |prefix: &str| {
        let found = warp(&place, prefix);
        let brain = place_brain(&place);
        let distance = |n: usize| {
            (0..3)
                .map(|axis| f64::from(found.vectors[n][axis] - healthy.vectors[n][axis]).powi(2))
                .sum::<f64>()
                .sqrt()
        };
        let mean = |of: &dyn Fn(usize) -> bool| {
            let of: Vec<usize> = (0..lesion.len()).filter(|n| brain[*n] && of(*n)).collect();
            of.iter().map(|n| distance(*n)).sum::<f64>() / of.len() as f64
        };
        [mean(&|n| lesion[n]), mean(&|n| !lesion[n])]
    };
    let ([inside, outside], [inside_without, outside_without]) = (apart("with_"), apart("without_"));
    assert!(outside < 0.3 && outside < 0.5 * outside_without, "{outside} mm, {outside_without} mm without the mask");
    assert!(inside < 1.5 && inside < 0.5 * inside_without, "{inside} mm, {inside_without} mm without the mask");

    let record = place.record("with_record.json");
    let written = &record["inputs"]["moving_lesion"];
    let cm3 = lesion.iter().filter(|lesion| **lesion).count() as f64 * SPACING.powi(3) / 1000.0;
    assert!((written["volume_cm3"].as_f64().expect("a volume") - cm3).abs() < 1e-6, "{written}");
    assert_eq!(written["paths"].as_array().map(Vec::len), Some(2));
    let page = String::from_utf8(place.read("with_report.html")).expect("text");
    assert!(page.contains(&format!("{cm3:.1} cm³, not compared")));

    place.file("t.csv", b"subject,image,lesion\nwith,h.nii.gz,\"l1.nii.gz,l2.nii.gz\"\nhealthy,m.nii.gz,\n");
    place.succeed(&format!("batch t.csv -o b {options}"));
    for name in ["with", "healthy"] {
        let [batch, alone] =
            [format!("b/{name}"), name.into()].map(|prefix| place.read(&format!("{prefix}_1Warp.nii.gz")));
        assert!(batch == alone, "{name}");
    }
    let mut table = csv::Reader::from_path(place.path("b/summary.csv")).expect("the summary");
    let column = table.headers().expect("a header").iter().position(|name| name == "lesion_cm3").expect("a column");
    let cells: Vec<String> = table.records().map(|row| row.expect("a row")[column].to_owned()).collect();
    assert!((cells[0].parse::<f64>().expect("a volume") - cm3).abs() < 1e-6 && cells[1].is_empty(), "{cells:?}");
}

fn place_brain(place: &Workplace) -> Vec<bool> {
    let fixed = nifti::read_volume(&place.path("f.nii.gz")).expect("an image");
    fixed.voxels.iter().map(|value| *value > 0.0).collect()
}

#[test]
fn masks_that_can_be_no_lesion_are_refused() {
    let place = Workplace::with_pair();
    let image = nifti::read_volume(&place.path("m.nii.gz")).expect("an image");
    let write = |name: &str, volume: &Volume| nifti::write_volume(&place.path(name), volume).expect("a mask");
    let of = |value: &dyn Fn(f32) -> bool| Volume {
        voxels: image.voxels.iter().map(|voxel| f32::from(u8::from(value(*voxel)))).collect(),
        grid: image.grid.clone(),
    };
    write("none.nii.gz", &of(&|_| false));
    write("most.nii.gz", &of(&|voxel| voxel > 100.0));
    write("other.nii.gz", &Volume::filled(grid(9.0, [0.0; 3], Matrix3::identity()), 1.0));
    place.file("t.csv", b"subject,image,lesion\na,m.nii.gz,most.nii.gz\n");
    for side in ["fixed", "moving"] {
        for (name, words) in [
            ("none.nii.gz", "the mask is empty"),
            ("most.nii.gz", "of the brain in"),
            ("other.nii.gz", "expected the grid of"),
            ("absent.nii.gz", "no such file"),
        ] {
            let line = format!("register -f f.nii.gz -m m.nii.gz -o p --{side}-lesion {name}");
            let message = place.refuse(1, &line);
            assert!(message.contains(name) && message.contains(words), "{message}");
        }
    }
    let run = place.run("batch t.csv -f f.nii.gz -o b --device cpu -t rigid");
    assert!(run.code == Some(1) && run.stderr.contains("most.nii.gz"), "{run:?}");
}
