//! Tests of commands of ANTs and FSL that are links to `antsreg-gpu`: calls, refused command lines, and the fallback to
//! the original program.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use antsreg_core::io::itk;
use antsreg_core::io::nifti::{self, Series, Timing};
use antsreg_core::{DisplacementField, Grid, Volume};
use antsreg_tests::{Run, Workplace};

/// A shell script in place of an original program of ANTs or FSL. The script prints its arguments.
const REAL: &str = "#!/bin/sh\necho the real one: \"$@\"\nexit 7\n";

fn executable(place: &Workplace, name: &str, script: &str) {
    place.file(name, script.as_bytes());
    let path = place.path(name);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("an executable");
}

/// Runs a program in the folder `links`, which has links to `antsreg-gpu` under the names of other programs. PATH
/// contains this folder, then the folder `real`, which has scripts in place of the original programs.
fn call(place: &Workplace, words: &str, variables: &[(&str, &str)]) -> Run {
    let (name, arguments) = words.split_once(' ').unwrap_or((words, ""));
    let mut command = Command::new(place.path("links").join(name));
    command.args(arguments.split_whitespace()).current_dir(place.path("")).env_remove("ANTSREG_FALLBACK");
    let path = format!("{}:{}:/usr/bin:/bin", place.path("links").display(), place.path("real").display());
    let output = command.env("PATH", path).envs(variables.iter().copied()).output().expect("the link starts");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn linked() -> Workplace {
    let place = Workplace::with_pair();
    std::fs::create_dir(place.path("real")).expect("a folder");
    executable(&place, "real/antsAffineInitializer", REAL);
    place.succeed("links links");
    place
}

#[test]
fn links_are_made_for_all_commands_or_those_named_and_replace_nothing_else() {
    let place = linked();
    assert!(place.path("links/antsAffineInitializer").is_symlink());
    // The subcommand `links` makes links to `antsreg-gpu`. It may be repeated for the same folder. With `--only NAME`
    // it makes only the link with this name, here in the folder `other`.
    place.succeed("links links");
    let said = place.succeed("links other --only antsAffineInitializer").stdout;
    assert!(said.contains("export PATH=") && said.contains("/other:$PATH"), "{said}");
    assert_eq!(std::fs::read_dir(place.path("other")).expect("a folder").count(), 1);
    let refused = place.refuse(2, "links real");
    assert!(refused.contains("real/antsAffineInitializer: this file exists and is no link"), "{refused}");
    let refused = place.refuse(2, "links third --only N4");
    assert!(refused.contains("--only N4") && refused.contains("antsAffineInitializer"), "{refused}");
}

#[test]
fn a_link_and_the_verb_as_run_the_same_command() {
    let place = linked();
    let cpu = [("ANTSREG_DEVICE", "cpu"), ("NSLOTS", "2")];
    let run = call(&place, "antsAffineInitializer 3 f.nii.gz m.nii.gz a.mat 15 0.1 0 10", &cpu);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "{}", run.stderr);
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    assert!(run.stderr.contains("antsAffineInitializer: done by antsreg-gpu") && run.stderr.contains("on cpu"));
    let words = "as antsAffineInitializer 3 f.nii.gz m.nii.gz b.mat 15 0.1 0 10";
    let output = place.command(words.split(' ')).env("ANTSREG_DEVICE", "cpu").output().expect("the program starts");
    assert!(output.status.success());
    assert_eq!(place.read("a.mat"), place.read("b.mat"));
    let refused = place.refuse(2, "as antsAffine 3 f.nii.gz");
    assert!(refused.contains("as antsAffine") && refused.contains("use antsAffineInitializer"), "{refused}");
}

#[test]
fn what_cannot_be_honoured_is_refused_by_name_or_passed_on() {
    let place = linked();
    let before = place.names();
    let line = "antsAffineInitializer 3 f.nii.gz m.nii.gz a.h5 15";
    let refused = call(&place, line, &[]);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.stderr.contains("antsAffineInitializer: a.h5: expected an output name that ends in .mat"),
        "{}",
        refused.stderr
    );
    assert!(refused.stderr.contains("with ANTSREG_FALLBACK=1, the next"), "{}", refused.stderr);
    let passed = call(&place, line, &[("ANTSREG_FALLBACK", "1")]);
    assert_eq!((passed.code, passed.stdout.as_str()), (Some(7), "the real one: 3 f.nii.gz m.nii.gz a.h5 15\n"));
    assert!(passed.stderr.contains("real/antsAffineInitializer runs instead"), "{}", passed.stderr);
    assert_eq!(place.names(), before);
    let variable = call(&place, line, &[("ANTSREG_DEVICE", "gpu")]);
    assert_eq!(variable.code, Some(2));
    assert!(variable.stderr.contains("ANTSREG_DEVICE=gpu"), "{}", variable.stderr);
}

#[test]
fn a_fallback_never_leads_back_to_this_program() {
    let place = linked();
    let line = "antsAffineInitializer 3 f.nii.gz m.nii.gz a.h5";
    // The fallback finds a script on PATH that has the name of the ANTs command but calls `antsreg-gpu` again. The
    // program must detect this loop.
    let program = place.path("links/antsAffineInitializer");
    executable(&place, "real/antsAffineInitializer", &format!("#!/bin/sh\nexec {} \"$@\"\n", program.display()));
    let round = call(&place, line, &[("ANTSREG_FALLBACK", "1")]);
    assert_eq!(round.code, Some(2), "{}", round.stderr);
    assert!(round.stderr.contains("led back to antsreg-gpu"), "{}", round.stderr);
    // The original program is missing: PATH contains only links to `antsreg-gpu`.
    std::fs::remove_file(place.path("real/antsAffineInitializer")).expect("a file");
    let alone = call(&place, line, &[("ANTSREG_FALLBACK", "1")]);
    assert_eq!(alone.code, Some(2));
    assert!(alone.stderr.contains("finds no other antsAffineInitializer on PATH"), "{}", alone.stderr);
}

#[test]
fn points_outside_a_field_are_told() {
    let place = Workplace::new();
    let grid = Grid::axis_aligned([4, 4, 4], [1.0; 3]);
    let field = DisplacementField { vectors: vec![[0.5, 0.0, 0.0]; grid.len()], grid };
    itk::write_warp(&place.path("w.nii"), &field).expect("a warp");
    place.file("p.csv", b"x,y,z\n-1,-1,1\n1e6,0,0\n");
    let run = place.succeed("as antsApplyTransformsToPoints -d 3 -i p.csv -o q.csv -t w.nii");
    assert!(run.stderr.contains("warning: 1 of 2 points lie outside the field of w.nii"), "{}", run.stderr);
    place.file("p.csv", b"x,y,z\n-1,-1,1\n");
    let run = place.succeed("as antsApplyTransformsToPoints -d 3 -i p.csv -o q.csv -t w.nii");
    assert!(!run.stderr.contains("warning"), "{}", run.stderr);
}

/// Command lines that the program must refuse, each with words that its error message must contain. In the command
/// lines, `PAIR` stands for the fixed and the moving image, `SYN` and `RIGID` for all arguments of a stage, and `MORE`
/// for those after the transform.
const REFUSED: &[(&str, &str)] = &[
    (
        "antsRegistration -d 3 -t BSplineSyN[0.1,26,0,2] MORE -o o_",
        "BSplineSyN[0.1,26,0,2]: splines of other orders than 3 are not supported",
    ),
    (
        "antsRegistration -d 3 -t Exponential[0.1,3,0] MORE -o o_",
        "Exponential[0.1,3,0]: this transform is not supported",
    ),
    (
        "antsRegistration -d 3 -t TimeVaryingVelocityField[1,4,3,0,0,0] MORE -o o_",
        "--transform TimeVaryingVelocityField",
    ),
    (
        "antsRegistration -d 3 -t GaussianDisplacementField[0.1,3,0] MORE -o o_",
        "--transform GaussianDisplacementField",
    ),
    ("antsRegistration -d 3 -t BSpline[0.1,32] MORE -o o_", "--transform BSpline[0.1,32]"),
    ("antsRegistration -d 3 SYN RIGID -o o_", "--transform Rigid[0.1]: a linear stage after SyN is not supported"),
    ("antsRegistration -d 3 SYN SYN -z 0 -o o_", "--collapse-output-transforms 0"),
    ("antsRegistration -d 3 SYN -q [a,b] -o o_", "--initial-fixed-transform [a,b]: expected FILE"),
    ("antsRegistration -d 3 SYN -j a.h5 -o o_", "--save-state: this option is not supported"),
    ("antsRegistration -d 3 SYN -k a.h5 -o o_", "--restore-state: this option is not supported"),
    ("antsRegistration -d 3 SYN --minc 1 -o o_", "--minc: this option is not supported"),
    ("antsRegistration -d 3 RIGID -g 1x0x0x1x1x1 -o o_", "--restrict-deformation 1x0x0x1x1x1"),
    ("antsRegistration -d 3 SYN -n MultiLabel -o o_", "--interpolation MultiLabel"),
    ("antsRegistration -d 3 SYN -n Cubic -o o_", "--interpolation Cubic: expected"),
    ("antsRegistration -d 3 SYN -w [0.9,0.1] -o o_", "--winsorize-image-intensities [0.9,0.1]"),
    ("antsRegistration -d 3 SYN -x a.nii -x b.nii -o o_", "--masks: found 2 masks for 1 stages"),
    ("antsRegistration -d 3 SYN -r [a,b,c,d] -o o_", "--initial-moving-transform [a,b,c,d]"),
    ("antsRegistration -d 3 SYN -z 2 -o o_", "--collapse-output-transforms: expected 0 or 1"),
    ("antsRegistration -d 3 SYN --foo 1 -o o_", "--foo: this command has no such option"),
    ("antsRegistration -d 4 SYN -o o_", "dimension 4: expected 2 or 3"),
    ("antsRegistration -d 3 SYN", "--output: this option is missing"),
    ("antsRegistration -d 3 -t SyN[99,3,0] MORE -o o_", "gradient step"),
    (
        "antsRegistration -d 3 -t SyN[0.1] -m CC[PAIR,1,99] -c 1 -f 2 -s 1vox -o o_",
        "radius of the correlation window",
    ),
    (
        "antsRegistration -d 3 -t SyN[0.1] -m CC[PAIR,1,2] -c 1 -s 1vox -o o_",
        "--shrink-factors: this option is missing",
    ),
    (
        "antsRegistration -d 3 -t SyN[0.1] -m ICP[PAIR,1,2] -c 1 -f 2 -s 1vox -o o_",
        "metrics of point sets are not supported",
    ),
    ("antsRegistrationSyN.sh -d 3 -f f.nii.gz -m m.nii.gz -o o_ -t bx", "-t bx: expected the transform"),
    ("antsRegistrationSyNQuick.sh -d 3 -f f.nii.gz -m m.nii.gz -o o_ -q 1", "-q: this script has no such option"),
    ("antsAffineInitializer 3 f.nii.gz m.nii.gz o_a.h5", "o_a.h5: expected an output name that ends in .mat"),
    ("antsApplyTransforms -d 3 -i f.nii.gz -r m.nii.gz -o o_a.mnc", "o_a.mnc"),
    ("antsApplyTransforms -d 4 -i f.nii.gz -r m.nii.gz -o o_a.nii.gz", "dimension"),
    (
        "antsApplyTransforms -d 3 -i f.nii.gz -r m.nii.gz -n GenericLabel[Gaussian] -o o_a.nii.gz",
        "GenericLabel[Gaussian]",
    ),
    ("antsApplyTransformsToPoints -d 3 -i points.vtk -o o_p.csv", "--input points.vtk"),
    ("antsApplyTransformsToPoints -d 3 -i points.csv -o o_p.csv -f 1", "--forantsr"),
    ("antsApplyTransformsToTRX -i a.tck -o o_a.trx -t a.mat", "--input a.tck"),
    ("antsApplyTransformsToTRX -i a.trx -t a.mat", "--output"),
    ("antsApplyTransformsToGifti -i a.gii -o o_a.gii -r f.nii.gz -t a.mat", "--reference-image"),
    (
        "antsJointFusion -d 3 -t f.nii.gz -g m.nii.gz -l l.nii.gz -o [o_l.nii.gz,o_i.nii.gz,o_p%d.nii.gz,o_v%d.nii.gz]",
        "votes of atlases are not written",
    ),
    (
        "antsJointFusion -d 3 -t f.nii.gz -g m.nii.gz -l l.nii.gz -s 2x3x2 -o o_l.nii.gz",
        "use one radius for all axes",
    ),
    (
        "antsJointFusion -d 3 -t f.nii.gz -g m.nii.gz -l l.nii.gz -o [,,o_p.nii.gz]",
        "expected a placeholder for the label",
    ),
    ("antsJointLabelFusion.sh -d 3 -t f.nii.gz -o o_ -g m.nii.gz -l l.nii.gz", "-g and -l: expected two or more"),
    ("antsJointLabelFusion.sh -d 3 -t f.nii.gz -o o_ -g a -l b -g c -l d -y bx", "-t bx: expected the transform"),
    ("CreateJacobianDeterminantImage 3 warp.nii.gz", "arguments: expected 3 to 5, found 2"),
    ("ImageMath 3 o_a.nii.gz BlobDetector f.nii.gz 2", "BlobDetector: is not supported"),
    ("ImageMath 3 o_a.nii.gz PadImage f.nii.gz 30000", "the result needs"),
    ("ResampleImage 3 f.nii.gz o_a.nii.gz 1e-4x1e-4x1e-4 0", "the result needs"),
    ("ResampleImageBySpacing 3 f.nii.gz o_a.nii.gz 1e-4 1e-4 1e-4 0", "the result needs"),
    ("flirt -in f.nii.gz -ref m.nii.gz -out o_a.nii.gz -schedule s.sch", "-schedule"),
    ("flirt -in f.nii.gz -ref m.nii.gz -out o_a.nii.gz -cost bbr", "-wmseg"),
    ("mcflirt -in f.nii.gz -out o_a.nii.gz -cost woods", "-cost woods"),
    ("convert_xfm -omat o_a.mat -inverse -concat f.nii.gz m.nii.gz", "only one of"),
    ("antsApplyTransforms -d 3 -i x.nrrd -r m.nii.gz -o o_a.nii.gz", "-i x.nrrd: x.nrrd: the field `encoding`"),
    ("antsApplyTransforms -d 3 -i s.nii.gz -r m.nii.gz -o o_a.nii.gz", "-i s.nii.gz: "),
    ("antsRegistration -d 3 -t Rigid[0.1] -m CC[s.nii.gz,m.nii.gz,1,2] -c 1 -f 1 -s 0vox -o o_", "-m CC[s.nii.gz,"),
    ("antsRegistration -d 3 RIGID -o [o_,o_w.png]", "o_w.png: is not supported"),
    ("N4BiasFieldCorrection -d 3 -i x.nrrd -o o_a.nii.gz", "-i x.nrrd"),
    ("mcflirt -in one -out o_a", "-in one"),
    ("c3d_affine_tool i.txt -o o_a.mat i.txt -sform f.nii.gz", "-sform"),
    ("c3d_affine_tool i.txt -o o_a.mat zero.txt -inv", "-inv: the matrix on the stack is singular"),
    ("convert_xfm -omat o_a.mat -inverse zero.txt", "zero.txt: the matrix is singular"),
    ("c3d_affine_tool a.mat -sform f.nii.gz -o o_b.mat", "-sform"),
];

#[test]
fn each_call_that_cannot_be_honoured_is_refused_by_name_or_passed_on_as_it_is() {
    const PAIR: &str = "f.nii.gz,m.nii.gz";
    let place = linked();
    let more = format!("-m CC[{PAIR},1,2] -c 1 -f 2 -s 1vox");
    // Inputs that the program cannot process: another format, a series, a slice, a singular matrix.
    place.file("x.nrrd", b"NRRD0005\ntype: uchar\ndimension: 3\nsizes: 2 2 2\nencoding: bzip2\n\n");
    let image = nifti::read_volume(&place.path("f.nii.gz")).expect("an image");
    let timing = Timing { start: 0.0, step: 1.0, unit: Timing::SECONDS };
    let series = Series { volumes: vec![image.clone(), image], timing };
    nifti::write_series(&place.path("s.nii.gz"), &series).expect("written");
    let slice = Volume::filled(Grid::axis_aligned([9, 9, 1], [4.0; 3]), 1.0);
    let series = Series { volumes: vec![slice.clone(), slice], timing };
    nifti::write_series(&place.path("one.nii.gz"), &series).expect("written");
    place.file("i.txt", b"1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n");
    place.file("zero.txt", b"1 0 0 0\n0 1 0 0\n0 0 0 0\n0 0 0 1\n");
    let (syn, rigid) = (format!("-t SyN[0.1,3,0] {more}"), format!("-t Rigid[0.1] {more}"));
    for (line, expected) in REFUSED {
        let line = line.replace("SYN ", &format!("{syn} ")).replace("RIGID", &rigid).replace("MORE", &more);
        let line = line.replace("PAIR", PAIR).replace(" SYN", &format!(" {syn}"));
        let (name, arguments) = line.split_once(' ').expect("arguments");
        executable(&place, &format!("real/{name}"), REAL);
        let before = place.names();
        let refused = call(&place, &line, &[("ANTSREG_DEVICE", "cpu"), ("ANTSREG_FALLBACK", "0")]);
        assert_eq!(refused.code, Some(2), "{line}\n{}", refused.stderr);
        assert!(refused.stderr.starts_with(&format!("error: {name}: ")), "{line}\n{}", refused.stderr);
        assert!(refused.stderr.contains(expected), "{line}\n`{expected}` is missing in: {}", refused.stderr);
        assert!(refused.stderr.contains(&format!("ANTSREG_FALLBACK=1, the next {name}")), "{}", refused.stderr);
        let passed = call(&place, &line, &[("ANTSREG_FALLBACK", "1")]);
        assert_eq!(
            (passed.code, passed.stdout),
            (Some(7), format!("the real one: {arguments}\n")),
            "{}",
            passed.stderr
        );
        assert_eq!(place.names(), before, "{line}");
    }
}

#[test]
fn an_empty_prefix_is_refused() {
    let place = Workplace::with_pair();
    let words = "as antsRegistration -d 3 -t Rigid[0.1] -m MI[f.nii.gz,m.nii.gz,1,32] -c 1 -f 4 -s 1vox -o";
    let before = place.names();
    let output = place.command(words.split(' ').chain([""])).output().expect("the program starts");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert_eq!(place.names(), before);
}

#[test]
fn an_operation_that_is_not_served_runs_the_next_program() {
    let place = linked();
    executable(&place, "real/ImageMath", REAL);
    let line = "ImageMath 3 a.nii.gz NoSuchOperation f.nii.gz";
    let passed = call(&place, line, &[]);
    assert_eq!(passed.stdout, "the real one: 3 a.nii.gz NoSuchOperation f.nii.gz\n", "{}", passed.stderr);
    assert_eq!(call(&place, line, &[("ANTSREG_FALLBACK", "0")]).code, Some(2));
    std::fs::remove_file(place.path("real/ImageMath")).expect("a file");
    let alone = call(&place, line, &[]);
    assert_eq!(alone.code, Some(2));
    assert!(alone.stderr.contains("no other ImageMath is on PATH"), "{}", alone.stderr);
}
