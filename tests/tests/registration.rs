//! Tests of the whole program on a synthetic brain with a known transform: from two images to files, and from the
//! files back to the images.

use antsreg_core::AffineTransform;
use antsreg_core::io::{itk, nifti};
use antsreg_tests::{Brain, Workplace, grid};
use nalgebra::{Matrix3, Point3, Rotation3, Vector3};
use serde_json::Value;

/// Voxel size of the synthetic brains, mm. It is coarse, so that a registration takes a second.
const SPACING: f64 = 4.0;

/// The true transform from fixed to moving points: rotation, scale and translation.
fn truth() -> AffineTransform {
    let turn = Rotation3::from_euler_angles(0.15, -0.1, 0.25).into_inner();
    AffineTransform {
        matrix: turn * Matrix3::new(1.06, 0.03, 0.0, 0.0, 0.95, 0.02, 0.0, 0.0, 1.03),
        translation: Vector3::new(9.0, -14.0, 21.0),
    }
}

/// Makes a folder with a fixed and a moving brain and their labels. The moving brain is placed by `truth`, on a grid
/// with other axes; the fixed brain is also warped.
fn pair(warp_mm: f64) -> Workplace {
    let place = Workplace::new();
    let (fixed, moving) = (Brain { warp_mm, ..Brain::standard() }, Brain::moved(&truth()));
    let on_fixed = grid(SPACING, [0.0; 3], Matrix3::identity());
    // The axes of the moving image run to the left, front and top, as in the files of many scanners.
    let on_moving = grid(SPACING, [9.0, -14.0, 21.0], Matrix3::from_diagonal(&Vector3::new(-1.0, 1.0, 1.0)));
    place.write_pair((&fixed, &on_fixed), (&moving, &on_moving));
    place
}

/// Largest distance between the two points to which two affines map a point of the fixed brain, mm.
fn farthest(a: &AffineTransform, b: &AffineTransform) -> f64 {
    let steps = || (-4..=4).map(|n| f64::from(n) / 4.0);
    let points = steps().flat_map(|x| steps().flat_map(move |y| steps().map(move |z| Vector3::new(x, y, z))));
    let inside =
        points.filter(|p| p.norm() <= 1.0).map(|p| Point3::from(p.component_mul(&Vector3::new(62.0, 78.0, 56.0))));
    inside.map(|p| (a.apply(&p) - b.apply(&p)).norm()).fold(0.0, f64::max)
}

#[test]
fn an_affine_is_found_and_written_both_ways() {
    let place = pair(0.0);
    place.succeed("register -f f.nii.gz -m m.nii.gz -o p -t affine");
    let expected =
        ["p0GenericAffine.mat", "pInverseWarped.nii.gz", "pWarped.nii.gz", "precord.json"].map(String::from);
    let written: Vec<String> = place.names().into_iter().filter(|name| name.starts_with('p')).collect();
    assert_eq!(written, expected);
    let found = itk::read_affine(&place.path("p0GenericAffine.mat")).expect("the affine");
    // The found affine must map each point to within half a voxel of the true position.
    let error = farthest(&found, &truth());
    assert!(error < 0.5 * SPACING, "{error} mm off");
    // After the conversion ITK → FSL → ITK the affine must be the same.
    place.succeed("convert p0GenericAffine.mat fsl.mat -f f.nii.gz -m m.nii.gz");
    place.succeed("convert fsl.mat back.txt -f f.nii.gz -m m.nii.gz");
    let back = itk::read_affine(&place.path("back.txt")).expect("the affine");
    let error = farthest(&back, &found);
    assert!(error < 1e-9, "{error} mm off");
    let record = place.record("precord.json");
    let stages = &record["parameters"]["options"]["stages"];
    assert_eq!((stages.as_array().map(Vec::len), &stages[0]["linear"]["dof"]), (Some(1), &Value::from("affine")));
    assert_eq!(record["syn"], Value::Null);
    assert_eq!(record["outputs"].as_array().map(Vec::len), Some(4));
    for row in 0..3 {
        for column in 0..3 {
            let recorded = record["affine_ras"][row][column].as_f64().expect("a number");
            // The affine in the record may differ by 1e-12 from that in the file, because the JSON parser rounds the
            // last digit.
            assert!((recorded - found.matrix[(row, column)]).abs() < 1e-12, "{row} {column}: {recorded}");
        }
    }
}

#[test]
fn a_warp_is_found_and_its_files_do_what_the_run_did() {
    let place = pair(4.0);
    let labels = "--fixed-labels fl.nii.gz --moving-labels ml.nii.gz";
    place.succeed(&format!("register -f f.nii.gz -m m.nii.gz -o a_ -t affine {labels}"));
    // Steps as long as the preset's go past the optimum of a grid with so few voxels.
    let options = "--gradient-step 0.3 --log s.log --exact";
    let run = place.succeed(&format!("register -f f.nii.gz -m m.nii.gz -o s_ {labels} {options}"));
    assert!(run.stdout.contains("mean Jaccard"), "{}", run.stdout);
    let (affine, syn) = (place.record("a_record.json"), place.record("s_record.json"));
    let jaccard = |record: &Value| record["overlap"]["mean_jaccard"].as_f64().expect("a score");
    assert!(jaccard(&syn) > jaccard(&affine) + 0.05, "{} after {}", jaccard(&syn), jaccard(&affine));
    for warp in ["warp", "inverse_warp"] {
        assert_eq!(syn["jacobian"][warp]["folded"], 0, "{warp}");
        assert_eq!(syn["jacobian"][warp]["corner_folded"], 0, "{warp}");
        assert!(syn["jacobian"][warp]["corner_minimum"].as_f64().is_some_and(|least| least > 0.0), "{warp}");
        assert!(syn["jacobian"][warp]["minimum"].as_f64().is_some_and(|least| least > 0.0), "{warp}");
    }
    let levels = syn["syn"]["levels"].as_array().expect("levels");
    assert_eq!(levels.len(), 3, "a factor of 8 would leave 5 voxels");
    for level in levels {
        let energies = level["energies"].as_array().expect("energies");
        assert_eq!(Some(energies.len() as u64), level["iterations"].as_u64());
    }
    let coarsest = levels[0]["energies"].as_array().expect("energies");
    assert!(coarsest.last().and_then(Value::as_f64) < coarsest[0].as_f64(), "the energy falls: {coarsest:?}");
    let log = String::from_utf8(place.read("s.log")).expect("text");
    let last = levels.last().and_then(|level| level["iterations"].as_u64()).unwrap_or_default();
    assert!(log.contains(&format!("iteration {last} of ")), "{log}");

    // Without --exact, displacements are rounded in the file of the warp, and the record contains the size of the
    // rounding step.
    place.succeed("register -f f.nii.gz -m m.nii.gz -o r_ --gradient-step 0.3");
    let rounded = place.record("r_record.json");
    assert_eq!(
        (&syn["displacements_rounded_to_mm"], &rounded["displacements_rounded_to_mm"]),
        (&Value::Null, &Value::from(1.0 / 256.0))
    );
    for name in ["1Warp.nii.gz", "1InverseWarp.nii.gz"] {
        let [exact, rounded] =
            ["s_", "r_"].map(|prefix| itk::read_warp(&place.path(&format!("{prefix}{name}"))).expect("a warp"));
        let pairs = exact.vectors.as_flattened().iter().zip(rounded.vectors.as_flattened());
        assert!(
            pairs
                .clone()
                .all(|(exact, rounded)| (256.0 * rounded).fract() == 0.0 && (exact - rounded).abs() <= 1.0 / 512.0)
        );
        assert!(pairs.clone().any(|(exact, rounded)| exact != rounded), "{name}");
        let size = |prefix: &str| place.read(&format!("{prefix}{name}")).len();
        assert!(100 * size("r_") < 80 * size("s_"), "{name}: {} of {} bytes", size("r_"), size("s_"));
    }

    // `apply` with the written transforms must give the images and labels that the run wrote, in both directions.
    let forward = "-t s_1Warp.nii.gz -t s_0GenericAffine.mat";
    let backward = "-t [s_0GenericAffine.mat,1] -t s_1InverseWarp.nii.gz";
    for (command, written) in [
        (format!("apply -i m.nii.gz -r f.nii.gz -o w.nii.gz {forward}"), "s_Warped.nii.gz"),
        (format!("apply -i f.nii.gz -r m.nii.gz -o w.nii.gz {backward}"), "s_InverseWarped.nii.gz"),
    ] {
        place.succeed(&command);
        let [a, b] = ["w.nii.gz", written].map(|name| nifti::read_volume(&place.path(name)).expect("an image"));
        let worst = a.voxels.iter().zip(&b.voxels).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        // Intensities may differ by 0.05 in a range to 1000: affine and grid are rounded in files, because headers have
        // single precision. The rounding moves a point by 1e-5 mm, where the gradient is 300 per voxel.
        assert!(worst < 0.05, "{command}: {worst}");
    }
    place.succeed(&format!("apply -i ml.nii.gz -r f.nii.gz -o l.nii.gz -n generic-label {forward}"));
    let [a, b] = ["l.nii.gz", "s_Labels.nii.gz"].map(|name| nifti::read_labels(&place.path(name)).expect("labels"));
    let different = a.voxels.iter().zip(&b.voxels).filter(|(a, b)| a != b).count();
    assert!(different <= a.voxels.len() / 10_000, "{different} labels differ");

    // The registration has resampled the moving labels and recorded their overlap with the fixed labels. The
    // subcommands `labels` and `overlap`, applied to the written transforms, must give the same overlap.
    let labels = "--apply s_1Warp.nii.gz --apply s_0GenericAffine.mat -l ml.nii.gz -g fl.nii.gz";
    place.succeed(&format!("labels {labels} -o t_"));
    place.succeed("overlap t_Labels.nii.gz fl.nii.gz --csv o.csv");
    assert_eq!(place.read("o.csv"), place.read("t_overlap.csv"));
    let csv = String::from_utf8(place.read("s_overlap.csv")).expect("text");
    let jaccards: Vec<f64> = csv.lines().skip(2).filter_map(|line| line.split(',').nth(2)?.parse().ok()).collect();
    assert_eq!(jaccards.len(), 9, "{csv}");
    let mean = jaccards.iter().sum::<f64>() / 9.0;
    assert!((mean - jaccard(&syn)).abs() < 1e-6, "six decimals: {mean}, {}", jaccard(&syn));
}

#[test]
fn points_go_to_the_moving_brain_and_back() {
    let place = pair(4.0);
    place.succeed("register -f f.nii.gz -m m.nii.gz -o s_");
    let points = "x,y,z,name\n10.5,-20,15,\"a, quoted\"\n-31,12.25,-8,b\n";
    place.file("p.csv", points.as_bytes());
    place.succeed("apply --points p.csv -o there.csv -t s_1Warp.nii.gz -t s_0GenericAffine.mat --coordinates ras");
    place.succeed(
        "apply --points there.csv -o back.csv -t [s_0GenericAffine.mat,1] -t s_1InverseWarp.nii.gz --coordinates ras",
    );
    let read = |name: &str| -> Vec<Vec<f64>> {
        let text = String::from_utf8(place.read(name)).expect("text");
        assert!(text.starts_with("x,y,z,name\n") && text.contains("\"a, quoted\""), "{text}");
        text.lines()
            .skip(1)
            .map(|line| line.split(',').take(3).map(|v| v.parse().expect("a number")).collect())
            .collect()
    };
    let distance = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
    for (start, back) in read("p.csv").iter().zip(read("back.csv")) {
        // The inverse warp is exact only to a fraction of a voxel.
        assert!(distance(start, &back) < 0.25 * SPACING, "{start:?} came back as {back:?}");
    }
    for (start, there) in read("p.csv").iter().zip(read("there.csv")) {
        // The expected point: the synthetic warp of the fixed brain is applied to the fixed point, then the true
        // affine.
        let [x, y, z] = [start[0], start[1], start[2]];
        let wave = |a: f64, b: f64| 4.0 * (a / 21.0).sin() * (b / 25.0).cos();
        let target = truth().apply(&Point3::new(x + wave(y, z), y + wave(z, x), z + wave(x, y)));
        let error = distance(&there, target.coords.as_slice());
        assert!(error < 0.75 * SPACING, "{start:?} went to {there:?}, expected {target}");
    }
    // In LPS coordinates x and y of the same points have the opposite sign.
    place.file("l.csv", b"x,y,z\n-10.5,20,15\n");
    place.succeed("apply --points l.csv -o l2.csv -t s_1Warp.nii.gz -t s_0GenericAffine.mat");
    let text = String::from_utf8(place.read("l2.csv")).expect("text");
    let lps: Vec<f64> =
        text.lines().nth(1).expect("a point").split(',').map(|v| v.parse().expect("a number")).collect();
    let ras = &read("there.csv")[0];
    assert!(distance(&[-lps[0], -lps[1], lps[2]], ras) < 1e-5, "{lps:?} {ras:?}");
}

#[test]
fn the_number_of_threads_changes_no_byte() {
    let place = pair(4.0);
    for threads in [1, 2] {
        let labels = "--fixed-labels fl.nii.gz --moving-labels ml.nii.gz";
        place.succeed(&format!(
            "register -f f.nii.gz -m m.nii.gz -o t{threads}_ --threads {threads} --device cpu {labels}"
        ));
    }
    let names: Vec<String> =
        place.names().into_iter().filter_map(|name| Some(name.strip_prefix("t1_")?.to_owned())).collect();
    assert_eq!(names.len(), 8, "{names:?}");
    for name in names.iter().filter(|name| *name != "record.json") {
        assert!(place.read(&format!("t1_{name}")) == place.read(&format!("t2_{name}")), "{name} differs");
    }
    assert_eq!(place.record("t1_record.json")["threads"], 1);
}

#[test]
fn masks_keep_out_what_they_cover() {
    let place = pair(0.0);
    // The moving image has a bright tumour, which the mask excludes.
    let path = place.path("m.nii.gz");
    let mut moving = nifti::read_volume(&path).expect("an image");
    let mut mask = moving.clone();
    let to_world = moving.grid.voxel_to_world();
    let [nx, ny, _] = moving.grid.shape;
    for n in 0..moving.voxels.len() {
        let index = Point3::new((n % nx) as f64, (n / nx % ny) as f64, (n / nx / ny) as f64);
        let inside = (to_world.apply(&index) - Point3::new(45.0, 10.0, 45.0)).norm() < 28.0;
        mask.voxels[n] = if inside { 0.0 } else { 1.0 };
        if inside {
            moving.voxels[n] = 2500.0;
        }
    }
    nifti::write_volume(&path, &moving).expect("an image is written");
    nifti::write_volume(&place.path("mask.nii.gz"), &mask).expect("a mask is written");
    let error = |prefix: &str, option: &str| {
        place.succeed(&format!("register -f f.nii.gz -m m.nii.gz -o {prefix} -t affine {option}"));
        let name = format!("{prefix}0GenericAffine.mat");
        farthest(&itk::read_affine(&place.path(&name)).expect("the affine"), &truth())
    };
    let (without, with) = (error("n_", ""), error("y_", "--moving-mask mask.nii.gz"));
    assert!(with < 0.5 * SPACING && with < without, "{with} mm off with the mask, {without} mm without");
}

#[test]
fn a_given_start_is_kept_by_syn_only() {
    let place = pair(4.0);
    itk::write_affine(&place.path("start.mat"), &truth(), Point3::origin()).expect("the affine is written");
    place.succeed(
        "register -f f.nii.gz -m m.nii.gz -o s_ -t syn-only --initial-transform start.mat --no-warped --format nii",
    );
    let kept = itk::read_affine(&place.path("s_0GenericAffine.mat")).expect("the affine");
    assert!(farthest(&kept, &truth()) < 1e-9);
    let written: Vec<String> = place.names().into_iter().filter(|name| name.starts_with("s_")).collect();
    assert_eq!(written, ["s_0GenericAffine.mat", "s_1InverseWarp.nii", "s_1Warp.nii", "s_record.json"]);
    let record = place.record("s_record.json");
    assert_eq!(record["parameters"]["start"]["file"]["path"], "start.mat");
    assert_eq!(record["linear"], Value::Null);
    // `[inverse.mat,1]` inverts the inverse of the true transform, so the registration must start from the true
    // transform.
    let inverse = truth().inverse().expect("an inverse");
    itk::write_affine(&place.path("inverse.mat"), &inverse, Point3::origin()).expect("the affine is written");
    place.succeed(
        "register -f f.nii.gz -m m.nii.gz -o i_ -t syn-only --initial-transform [inverse.mat,1] --no-inverse",
    );
    let kept = itk::read_affine(&place.path("i_0GenericAffine.mat")).expect("the affine");
    assert!(farthest(&kept, &truth()) < 1e-9);
}

#[test]
fn an_image_stays_where_it_is_and_the_user_is_told_why() {
    let place = pair(12.0);
    let run = place.succeed("register -f f.nii.gz -m f.nii.gz -o s -t syn-only");
    assert!(
        run.stderr.contains("syn 1/3: this level was undone")
            && run.stderr.contains("syn 3/3: this level was undone"),
        "{}",
        run.stderr
    );
    let warp = itk::read_warp(&place.path("s1Warp.nii.gz")).expect("the warp");
    assert!(warp.vectors.iter().all(|vector| vector.iter().all(|component| *component == 0.0)));
    let run = place.succeed("register -f f.nii.gz -m m.nii.gz -o m");
    assert!(!run.stderr.contains("syn 3/3: this level was undone"), "{}", run.stderr);
}

#[test]
fn a_dry_run_says_all_and_does_nothing() {
    let place = pair(0.0);
    let parameters = "--search-degrees 30,30,60 --coarse-step-degrees 45 --fine-step-degrees 15 --bins 128 --finest-mm 4 \
        --robust-range 0.01,0.99 --shrink-factors 4x2x1 --smoothing-sigmas 2x1x0 --iterations 40x20x5 \
        --gradient-step 0.25 --update-variance 3 --total-variance 0.5 --cc-radius 3 --cc-derivative centre \
        --convergence-window 8 --convergence-threshold 1e-5 --noise 0.01 --reinvert-every 3 --winsorise 0.01,0.99";
    let line = format!("register -f f.nii.gz -m m.nii.gz -o p --dry-run --device cpu --threads 2 {parameters}");
    let before = place.names();
    let plan = place.succeed(&line).stdout;
    assert_eq!(place.names(), before);
    insta::with_settings!({ filters => vec![(r"about \d+\.\d\d GB", "about [MEMORY]")] }, {
        insta::assert_snapshot!("plan", plan);
    });
    // The plan that a dry run prints ends with a command line. This command line must print the same plan.
    let command =
        plan.trim_end().lines().last().and_then(|line| line.trim().strip_prefix("antsreg-gpu ")).expect("a command");
    assert_eq!(place.succeed(&format!("{command} --dry-run")).stdout, plan);
    // The printed plan of a dry run ends with a command line that must produce the same plan. This is tested with
    // further transform models and options.
    for rest in [
        "-t rigid --no-search --format nii",
        "-t syn-only --no-warped --no-inverse --preset fast",
        "--metric MI --metric-bins 48",
        "--channel f.nii.gz,m.nii.gz,Mattes,0.5 --channel f.nii.gz,m.nii.gz --cc-radius 3 --metric-bins 24",
        "--preset best --dof 9 --no-principal-axes --fixed-mask f.nii.gz --moving-mask m.nii.gz \
            --fixed-labels fl.nii.gz --moving-labels ml.nii.gz --label-list 1,2 --label-interpolation nearest -n sinc",
    ] {
        let plan =
            place.succeed(&format!("register -f f.nii.gz -m m.nii.gz -o p --dry-run --device cpu {rest}")).stdout;
        let command = plan.trim_end().lines().last().and_then(|line| line.trim().strip_prefix("antsreg-gpu "));
        let again = place.succeed(&format!("{} --dry-run", command.expect("a command"))).stdout;
        assert_eq!(again, plan);
    }
    // If the output files exist already, the plan that a dry run prints says that they will be replaced.
    place.file("pWarped.nii.gz", b"old");
    assert!(place.succeed(&line).stdout.contains("pWarped.nii.gz  (will be replaced)"));
}

#[test]
fn quiet_is_quiet_and_verbose_is_not() {
    let place = pair(0.0);
    let line = "register -f f.nii.gz -m m.nii.gz -o p -t rigid";
    assert_eq!(place.succeed(&format!("{line} --quiet")).stderr, "");
    let lines = |option: &str| place.succeed(&format!("{line} {option}")).stderr.lines().count();
    assert!(lines("--verbose") > lines(""));
}

#[test]
fn a_brain_of_other_contrast_is_warped_by_mutual_information_or_through_a_further_pair() {
    let place = pair(4.0);
    // The moving image has the contrast of another scanner: its intensities do not identify the tissue uniquely.
    let path = place.path("m.nii.gz");
    let mut other = nifti::read_volume(&path).expect("an image");
    other.voxels.iter_mut().for_each(|v| *v = if *v > 0.0 { (1200.0 - *v).abs().sqrt() * 20.0 } else { 0.0 });
    nifti::write_volume(&place.path("m2.nii.gz"), &other).expect("an image is written");
    itk::write_affine(&place.path("start.mat"), &truth(), Point3::origin()).expect("the affine is written");
    let score = |options: &str| {
        let start = "-t syn-only --initial-transform start.mat --fixed-labels fl.nii.gz --moving-labels ml.nii.gz";
        place.succeed(&format!("register -f f.nii.gz -m m2.nii.gz -o p_ {start} {options}"));
        let record = place.record("p_record.json");
        assert_eq!(record["jacobian"]["warp"]["folded"], 0, "{options}");
        assert_eq!(record["jacobian"]["inverse_warp"]["folded"], 0, "{options}");
        (record["overlap"]["mean_jaccard"].as_f64().expect("a score"), record)
    };
    let (still, _) = score("--iterations 0x0x0");
    let (mattes, record) = score("--metric Mattes");
    assert!(mattes > still + 0.05, "{mattes} after {still}");
    let parameters = &record["parameters"]["options"]["stages"][0]["deformable"];
    assert_eq!(
        (&parameters["channels"][0]["metric"], &parameters["bins"]),
        (&Value::from("mattes"), &Value::from(32))
    );
    // The two images of the second channel have the same contrast, so this channel determines the warp, although the
    // contrasts of the first channel differ. The second moving image has another grid than the first.
    let coarse = grid(5.0, [9.0, -14.0, 21.0], Matrix3::identity());
    Brain::moved(&truth()).write_image(&coarse, &place.path("m3.nii.gz"));
    let (both, record) = score("--metric mattes --channel f.nii.gz,m3.nii.gz,cc,2 --cc-radius 3");
    assert!(both > still + 0.05, "{both} after {still}");
    assert_eq!(record["parameters"]["options"]["stages"][0]["deformable"]["channels"][1]["weight"], 2.0);
    assert_eq!(record["inputs"]["channels"][0][1]["path"], "m3.nii.gz");
}
