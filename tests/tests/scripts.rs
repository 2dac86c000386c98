//! Tests of the shell scripts for users of ANTs, on small brains.

use std::path::Path;
use std::process::{Command, Output};

use antsreg_core::io::nifti;
use antsreg_core::{AffineTransform, Overlap};
use antsreg_tests::{Brain, Workplace, grid};
use nalgebra::{Matrix3, Rotation3, Vector3};

const SPACING: f64 = 8.0;

/// Makes a folder with labelled brains at different positions: images `in/a.nii.gz`, `in/b.nii.gz` and so on, and label
/// maps `a_labels.nii.gz` and so on.
fn brains() -> Workplace {
    let place = Workplace::new();
    std::fs::create_dir(place.path("in")).expect("a folder");
    for (n, name) in ["a", "b", "c"].into_iter().enumerate() {
        let n = n as f64;
        let to_world = AffineTransform {
            matrix: Rotation3::from_euler_angles(0.06 * n, -0.05 * n, 0.0).into_inner(),
            translation: Vector3::new(4.0 * n, -3.0 * n, 2.0),
        };
        let grid = grid(SPACING, [2.0 * n, 0.0, 1.0], Matrix3::identity());
        let brain = Brain { warp_mm: 2.0 * n, ..Brain::moved(&to_world) };
        brain.write_image(&grid, &place.path(&format!("in/{name}.nii.gz")));
        brain.write_labels(&grid, &place.path(&format!("{name}_labels.nii.gz")));
    }
    place
}

/// Runs a script of the folder `scripts` in the test folder.
fn script(place: &Workplace, name: &str, line: &str) -> Output {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts").join(name);
    // The scripts read the path of the program from the environment variable ANTSREG_GPU.
    let program = place.command([] as [&str; 0]).get_program().to_owned();
    let mut command = Command::new("bash");
    command.arg(path).args(line.split_whitespace()).current_dir(place.path(".")).env("ANTSREG_GPU", program);
    command.output().expect("bash starts")
}

/// Runs one of the shell scripts for users of ANTs, and checks its exit code. Returns the texts on standard output and
/// on standard error.
fn ends(place: &Workplace, code: i32, name: &str, line: &str) -> [String; 2] {
    let output = script(place, name, line);
    let [stdout, stderr] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("text is UTF-8"));
    assert_eq!(output.status.code(), Some(code), "{name} {line}\n{stdout}\n{stderr}");
    [stdout, stderr]
}

#[test]
fn several_atlases_label_a_target_and_are_scored() {
    let place = brains();
    let atlases = "-g in/b.nii.gz -l b_labels.nii.gz -g in/c.nii.gz -l c_labels.nii.gz";
    let line = format!("-d 3 -t in/a.nii.gz -o j_ {atlases} -k 1 -e a_labels.nii.gz -s 1,2,9 -- -t affine");
    let [stdout, _] = ends(&place, 0, "joint_label_fusion.sh", &line);
    assert!(stdout.contains("Jaccard"), "{stdout}");
    let score = String::from_utf8(place.read("j_score.csv")).expect("text");
    assert_eq!(
        score.lines().map(|line| line.split(',').next().unwrap_or_default()).collect::<Vec<_>>(),
        ["Label", "All", "1", "2", "9"]
    );
    // Labels by the script must equal those of `antsreg-gpu labels` with the options that correspond to the script's.
    place.succeed(
        "labels -a in/b.nii.gz=b_labels.nii.gz -a in/c.nii.gz=c_labels.nii.gz -f in/a.nii.gz -o k_ -t affine",
    );
    assert_eq!(place.read("j_Labels.nii.gz"), place.read("k_Labels.nii.gz"));
    assert!(place.path("j_c_0GenericAffine.mat").exists());
    // An atlas that cannot be read is left out, and the exit code shows it.
    place.file("bad.nii", &b"not an image at all, but a longer text\n".repeat(20));
    let line = format!("-t in/a.nii.gz -o b_ {atlases} -g bad.nii -l b_labels.nii.gz -e a_labels.nii.gz");
    let [_, stderr] = ends(&place, 3, "joint_label_fusion.sh", &format!("{line} -- -t affine --keep-going"));
    assert!(stderr.contains("bad.nii"), "{stderr}");
    assert!(place.path("b_score.csv").exists());
    let line = format!("-o v_ {atlases} -m 0 -c -- -t rigid");
    let [stdout, _] = ends(&place, 0, "joint_label_fusion.sh", &line);
    assert!(stdout.contains("Best single"), "{stdout}");
    assert!(place.path("v_jaccard.svg").exists());
}

#[test]
fn a_folder_is_normalised_and_labelled() {
    let place = brains();
    place.file("in/bad.nii", &b"not an image at all, but a longer text\n".repeat(20));
    // Outputs of an earlier run with a warp exist in the folder. This run must not use them.
    std::fs::create_dir(place.path("out")).expect("a folder");
    place.file("out/b_1InverseWarp.nii.gz", b"from an earlier run");
    place.file("out/z_0GenericAffine.mat", b"of another program");
    let line = "-d 3 -f in/a.nii.gz -i in -o out -l a_labels.nii.gz -- -t affine";
    let [_, stderr] = ends(&place, 3, "normalise_folder.sh", line);
    assert!(stderr.contains("bad failed"), "{stderr}");
    for name in ["b", "c"] {
        assert!(place.path(&format!("out/{name}_Warped.nii.gz")).exists(), "{name}");
        let read = |path: String| nifti::read_labels(&place.path(&path)).expect("labels");
        let carried = read(format!("out/{name}_TemplateLabels.nii.gz"));
        let truth = read(format!("{name}_labels.nii.gz"));
        let jaccard = Overlap::between(&carried, &truth, None).expect("one grid").mean()[1];
        // The required mean Jaccard index is only 0.75: the brains differ also by warps, which an affine cannot
        // correct, and the voxels are coarse. Without the inversion of the affine it would be below 0.6.
        assert!(jaccard > 0.75, "{name}: {jaccard}");
    }
    std::fs::remove_file(place.path("in/bad.nii")).expect("removed");
    let before =
        std::fs::metadata(place.path("out/b_Warped.nii.gz")).and_then(|file| file.modified()).expect("a time");
    let line = "-f in/a.nii.gz -i in -o out -r -- -t affine";
    ends(&place, 0, "normalise_folder.sh", line);
    let after =
        std::fs::metadata(place.path("out/b_Warped.nii.gz")).and_then(|file| file.modified()).expect("a time");
    assert_eq!(before, after, "what was done is not done again");
}

#[test]
fn names_with_quotes_are_normalised_and_labelled() {
    let place = brains();
    std::fs::rename(place.path("in/b.nii.gz"), place.path("in/b \"it's\" [1].nii.gz")).expect("renamed");
    let line = "-f in/a.nii.gz -i in -o out -l a_labels.nii.gz -- --dof 6 --no-search --shrink-factors 1 \
                --smoothing-sigmas 0 --iterations 2";
    ends(&place, 0, "normalise_folder.sh", line);
    for name in ["b \"it's\" [1]", "c"] {
        let carried = place.path(&format!("out/{name}_TemplateLabels.nii.gz"));
        let truth = place.path(&format!("{}_labels.nii.gz", &name[..1]));
        let [carried, truth] = [carried, truth].map(|path| nifti::read_labels(&path).expect("labels"));
        let jaccard = Overlap::between(&carried, &truth, None).expect("one grid").mean()[1];
        // If only the affine or only the warp were applied to the labels, their mean Jaccard index would be below 0.6.
        assert!(jaccard > 0.7, "{name}: {jaccard}");
    }
}

#[test]
fn a_template_is_built_and_taken_up_again() {
    let place = brains();
    let line = "-d 3 -o t -i 1 -g 0.2 -s 1 in/a.nii.gz in/b.nii.gz in/c.nii.gz -- --preset fast";
    ends(&place, 0, "build_template.sh", line);
    let template = nifti::read_volume(&place.path("t/template.nii.gz")).expect("a template");
    assert!(template.range().is_some_and(|(low, high)| high > low + 100.0));
    let plan: serde_json::Value = serde_json::from_slice(&place.read("t/atlas.json")).expect("the plan is JSON");
    let options = &plan["options"];
    assert_eq!(
        (&options["passes"], &options["shape_step"], &options["sharpen"]),
        (&1.into(), &0.2.into(), &true.into())
    );
    assert_eq!(plan["recipe"]["preset"], "fast");
    // If build_template.sh is called again with the same arguments, it must find all steps done and keep the template.
    let before = place.read("t/template.nii.gz");
    ends(&place, 0, "build_template.sh", line);
    assert_eq!(place.read("t/template.nii.gz"), before);
}

#[test]
fn a_script_without_the_program_says_how_to_get_it() {
    let place = brains();
    for (name, line) in [
        ("build_template.sh", "-o t in/a.nii.gz in/b.nii.gz"),
        ("normalise_folder.sh", "-f in/a.nii.gz -i in -o out"),
        ("joint_label_fusion.sh", "-t in/a.nii.gz -o p -g in/b.nii.gz -l b_labels.nii.gz"),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts").join(name);
        let mut command = Command::new("bash");
        command.arg(path).args(line.split_whitespace()).current_dir(place.path("."));
        let output = command.env("ANTSREG_GPU", "no-such-program").output().expect("bash starts");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains("no-such-program: no such program; cargo install"), "{message}");
    }
}

#[test]
fn what_a_script_does_not_understand_it_says_with_its_usage() {
    let place = brains();
    for (name, line, word) in [
        ("build_template.sh", "in/a.nii.gz", "-o FOLDER is needed"),
        ("build_template.sh", "-o t -d 2 in/a.nii.gz", "-d 2"),
        ("build_template.sh", "-o t", "no image was given"),
        ("normalise_folder.sh", "-f in/a.nii.gz -i nowhere -o out", "nowhere: no such folder"),
        ("normalise_folder.sh", "-f in/a.nii.gz -i in", "-o FOLDER is needed"),
        ("joint_label_fusion.sh", "-t in/a.nii.gz -o p -g in/b.nii.gz", "1 images (-g) but 0 label maps"),
        ("joint_label_fusion.sh", "-o p -g in/b.nii.gz -l b_labels.nii.gz", "-t TARGET is needed"),
        ("joint_label_fusion.sh", "-q", "-q is unknown"),
        ("joint_label_fusion.sh", "-o", "-o needs a value"),
    ] {
        let [_, stderr] = ends(&place, 2, name, line);
        assert!(stderr.contains(word) && stderr.contains("ANTSREG_GPU names the program"), "{name} {line}: {stderr}");
        let [stdout, _] = ends(&place, 0, name, "-h");
        assert!(stdout.starts_with(name), "{stdout}");
    }
}

#[test]
fn ants_own_label_fusion_is_served_with_the_files_that_its_script_leaves() {
    let place = brains();
    let atlases = "-g in/b.nii.gz -l b_labels.nii.gz -g in/c.nii.gz -l c_labels.nii.gz";
    let begin = format!("as antsJointLabelFusion.sh -d 3 -t in/a.nii.gz -y r {atlases}");
    place.succeed(&format!("{begin} -o new/k_ -k 1 -c 0 -j 2"));
    let kept = |name: &str| place.path(&format!("new/k_{name}")).exists();
    for atlas in ["b_0_", "c_1_"] {
        for file in ["0GenericAffine.mat", "Warped.nii.gz", "InverseWarped.nii.gz", "WarpedLabels.nii.gz"] {
            assert!(kept(&format!("{atlas}{file}")), "{atlas}{file}");
        }
    }
    let voting = "TargetMaskImageMajorityVoting";
    assert!(kept("Intensity.nii.gz") && kept(&format!("{voting}.nii.gz")) && kept(&format!("{voting}_Mask.nii.gz")));
    let labels = |name: &str| nifti::read_labels(&place.path(name)).expect("labels");
    let overlap = Overlap::between(&labels("new/k_Labels.nii.gz"), &labels("a_labels.nii.gz"), None).expect("alike");
    assert!(overlap.all().dice() > 0.7, "{}", overlap.all().dice());
    // The second call must use the registrations that the first call has kept, because the files of the atlases are
    // removed.
    let again = place.succeed(&format!("{begin} -o new/k_ -x none -p new/p%03d.nii.gz"));
    assert_eq!(again.stderr.matches("not registered again").count(), 2, "{}", again.stderr);
    assert!(!kept("b_0_Warped.nii.gz") && !kept("c_1_WarpedLabels.nii.gz"));
    let fused = labels("new/k_Labels.nii.gz");
    let volume = |name: &str| nifti::read_volume(&place.path(name)).expect("a volume").voxels;
    let (first, image) = (volume("new/p001.nii.gz"), volume("new/k_Intensity.nii.gz"));
    assert!(
        first.iter().zip(&fused.voxels).all(|(share, label)| (*label == 1 || *share <= 0.501) && *share <= 1.001)
    );
    let (target, background) = (volume("in/a.nii.gz"), image.iter().filter(|value| **value == 0.0).count());
    assert!(background < image.len() && image.len() == target.len());
    place.succeed(&format!("{begin} -o m_ -m 1"));
    assert!(place.path("m_MajorityVotingLabels.nii.gz").exists() && !place.path("m_Labels.nii.gz").exists());
}

#[test]
fn joint_fusion_writes_what_its_output_names() {
    let place = brains();
    // antsJointFusion needs atlases on the target's grid, so their images and labels are resampled first.
    for name in ["b", "c"] {
        for (file, how) in
            [(format!("in/{name}.nii.gz"), "Linear"), (format!("{name}_labels.nii.gz"), "NearestNeighbor")]
        {
            let to = file.replace('/', "_");
            place.succeed(&format!("as antsApplyTransforms -d 3 -i {file} -r in/a.nii.gz -n {how} -o on_{to}"));
        }
    }
    let line = "as antsJointFusion -d 3 -t in/a.nii.gz -g on_in_b.nii.gz on_in_c.nii.gz";
    let labels = "-l on_b_labels.nii.gz on_c_labels.nii.gz";
    place.succeed(&format!("{line} {labels} -o [l.nii.gz,i%02d.nii.gz,p%d.nii.gz]"));
    place.succeed(&format!("{line} -o only.nii.gz"));
    for name in ["l.nii.gz", "i01.nii.gz", "p1.nii.gz", "p2.nii.gz"] {
        assert!(place.path(name).exists(), "{name}");
    }
    assert!(!place.path("p0.nii.gz").exists());
    let volume = |name: &str| nifti::read_volume(&place.path(name)).expect("a volume").voxels;
    assert_eq!(volume("i01.nii.gz"), volume("only.nii.gz"));
    let refused = place.refuse(2, &format!("{line} {labels} -o [l.nii.gz,,on_in_b.nii.gz]"));
    assert!(refused.contains("expected a placeholder for the label"), "{refused}");
}
