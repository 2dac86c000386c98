//! Tests of invalid input: it is refused before anything is computed, the message names the file, what was expected
//! and what was found, and no file is left.

use antsreg_core::io::nifti;
use antsreg_core::{LabelVolume, Volume};
use antsreg_tests::{Brain, Workplace, grid};
use nalgebra::Matrix3;

const SPACING: f64 = 8.0;

fn image() -> Volume {
    Brain::standard().image(&grid(SPACING, [0.0; 3], Matrix3::identity()))
}

fn write(place: &Workplace, name: &str, volume: &Volume) {
    nifti::write_volume(&place.path(name), volume).expect("a volume is written");
}

/// Checks that the moving image is refused with a message that contains these words.
fn refused_as_image(place: &Workplace, name: &str, words: &[&str]) {
    for line in [
        format!("register -f f.nii.gz -m {name} -o p -t syn-only"),
        format!("register -f {name} -m m.nii.gz -o p -t rigid"),
        format!("register -f f.nii.gz -m {name} -o p --dry-run"),
    ] {
        let message = place.refuse(1, &line);
        for word in [name].iter().chain(words) {
            assert!(message.contains(word), "`{word}` is missing in: {message}");
        }
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

#[test]
fn files_that_are_no_image() {
    let place = Workplace::with_pair();
    refused_as_image(&place, "none.nii.gz", &["no such file"]);
    place.file("empty.nii.gz", b"");
    refused_as_image(&place, "empty.nii.gz", &["empty"]);
    place.file("text.nii", &b"not an image at all, but a longer text\n".repeat(20));
    refused_as_image(&place, "text.nii", &["not an image", "found"]);
    let whole = place.read("m.nii.gz");
    place.file("cut.nii.gz", &whole[..whole.len() / 2]);
    refused_as_image(&place, "cut.nii.gz", &["truncated"]);
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle..middle + 40].fill(0x55);
    place.file("bits.nii.gz", &damaged);
    refused_as_image(&place, "bits.nii.gz", &["gzip"]);
}

#[test]
fn images_without_sense() {
    let place = Workplace::with_pair();
    let mut volume = image();
    volume.voxels.fill(7.0);
    write(&place, "flat.nii.gz", &volume);
    refused_as_image(&place, "flat.nii.gz", &["every voxel is 7"]);
    volume.voxels.fill(0.0);
    write(&place, "zero.nii.gz", &volume);
    refused_as_image(&place, "zero.nii.gz", &["every voxel is 0"]);
    volume.voxels.fill(f32::NAN);
    write(&place, "nan.nii.gz", &volume);
    refused_as_image(&place, "nan.nii.gz", &["every voxel is 0"]);
    let mut volume = image();
    volume.voxels.iter_mut().for_each(|value| *value = f32::from(u8::from(*value > 100.0)));
    write(&place, "mask.nii.gz", &volume);
    refused_as_image(&place, "mask.nii.gz", &["a label map or a mask", "antsRegistration"]);
    for (name, factor) in [("large.nii.gz", 1e20), ("small.nii.gz", 1e-25)] {
        let mut volume = image();
        volume.voxels.iter_mut().for_each(|value| *value *= factor);
        write(&place, name, &volume);
        refused_as_image(&place, name, &["voxel values from 0e0 to", "expected a range between 1e-15 and 1e15"]);
    }
    let message = place.refuse(1, "apply -i large.nii.gz -r f.nii.gz -o o.nii.gz --integer");
    assert!(message.contains("large.nii.gz") && message.contains("leave --integer out"), "{message}");
}

#[test]
fn masks_and_labels_that_do_not_fit() {
    let place = Workplace::with_pair();
    let mut volume = image();
    volume.voxels.fill(0.0);
    write(&place, "none.nii.gz", &volume);
    let mut other = image();
    other.grid.origin.x += 4.0;
    write(&place, "other.nii.gz", &other);
    let mut coarse = image();
    coarse.grid = coarse.grid.shrink([2; 3]);
    coarse.voxels.truncate(coarse.grid.len());
    write(&place, "coarse.nii.gz", &coarse);
    let line = "register -f f.nii.gz -m m.nii.gz -o p -t syn-only";
    for option in ["--fixed-mask", "--moving-mask"] {
        let message = place.refuse(1, &format!("{line} {option} none.nii.gz"));
        assert!(message.contains("none.nii.gz: the mask is empty"), "{message}");
        for name in ["other.nii.gz", "coarse.nii.gz"] {
            let message = place.refuse(1, &format!("{line} {option} {name}"));
            let image = if option == "--fixed-mask" { "f.nii.gz" } else { "m.nii.gz" };
            assert!(message.contains(name) && message.contains(image) && message.contains("expected"), "{message}");
        }
    }
    let labels = LabelVolume { grid: other.grid.clone(), voxels: vec![1; other.grid.len()] };
    nifti::write_labels(&place.path("labels.nii.gz"), &labels).expect("labels are written");
    let message = place.refuse(1, &format!("{line} --moving-labels labels.nii.gz"));
    assert!(message.contains("labels.nii.gz") && message.contains("m.nii.gz"), "{message}");
    let message = place.refuse(1, &format!("{line} --moving-labels fl.nii.gz --fixed-labels labels.nii.gz"));
    assert!(message.contains("labels.nii.gz") && message.contains("f.nii.gz"), "{message}");
    let message = place.refuse(1, &format!("{line} --moving-labels none.nii.gz"));
    assert!(message.contains("none.nii.gz: no voxel has a label"), "{message}");
    let mut fractions = image();
    fractions.voxels[5] = 1.5;
    write(&place, "fractions.nii.gz", &fractions);
    let message = place.refuse(1, &format!("{line} --moving-labels fractions.nii.gz"));
    assert!(message.contains("fractions.nii.gz") && message.contains("whole numbers"), "{message}");
    assert!(message.contains("-n generic-label"), "{message}");
    place.file("other.txt", b"41\n42\n0\n");
    for (list, word) in [("1,two", "two"), ("list.txt", "1.5"), ("void.txt", "empty"), ("other.txt", "fl.nii.gz")] {
        place.file("list.txt", b"1 2\n1.5\n");
        place.file("void.txt", b"\n");
        let labels = "--moving-labels fl.nii.gz --fixed-labels fl.nii.gz";
        let message = place.refuse(1, &format!("{line} {labels} --label-list {list}"));
        assert!(message.contains(list) && message.contains(word), "{message}");
    }
}

#[test]
fn images_that_do_not_overlap_at_the_start() {
    let place = Workplace::with_pair();
    let mut far = image();
    far.grid.origin.z += 1000.0;
    write(&place, "far.nii.gz", &far);
    let line = "register -f f.nii.gz -m far.nii.gz -o p --dry-run";
    let message = place.refuse(1, &format!("{line} --initial-transform headers"));
    for word in ["f.nii.gz", "far.nii.gz", "do not overlap", "headers", "centre-of-mass"] {
        assert!(message.contains(word), "`{word}` is missing in: {message}");
    }
    // The changed command line follows the advice of the message and must succeed.
    place.succeed(line);
}

#[test]
fn images_too_small_for_any_search() {
    let place = Workplace::with_pair();
    let mut crumb = image();
    crumb.grid.spacing /= 1000.0;
    write(&place, "crumb.nii.gz", &crumb);
    let message = place.refuse(1, "register -f f.nii.gz -m crumb.nii.gz -o p --dry-run");
    for word in ["crumb.nii.gz", "0.008", "centre-of-mass", "are in mm"] {
        assert!(message.contains(word), "`{word}` is missing in: {message}");
    }
    // The program checks at test points whether two images overlap. A thin image (slab) that overlaps, but lies between
    // the first test points, must be accepted.
    let slab = grid(4.0, [0.0; 3], Matrix3::identity());
    let mut slab = Brain::standard().image(&slab);
    let [nx, ny, nz] = slab.grid.shape;
    slab.grid.origin.z += (nz / 2) as f64 * slab.grid.spacing.z;
    slab.voxels = slab.voxels[nx * ny * (nz / 2)..nx * ny * (nz / 2 + 2)].to_vec();
    slab.grid.shape[2] = 2;
    write(&place, "slab.nii.gz", &slab);
    place.succeed("register -f f.nii.gz -m slab.nii.gz -o p --initial-transform headers --dry-run");
}

#[test]
fn numbers_out_of_all_proportion() {
    let place = Workplace::with_pair();
    for (option, words) in [
        ("--smoothing-sigmas 1e9", "from 0 to 100"),
        ("--update-variance 1e99", "from 0 to 10000"),
        ("--total-variance nan", "from 0 to 10000"),
        ("--gradient-step 1e99", "at most 10"),
        ("--edge-weight 1e38", "from 0 to 1000"),
        ("--channel f.nii.gz,m.nii.gz,cc,1e99", "from 0.001 to 1000"),
        ("--threads 100000", "from 1 to 1024"),
        ("--iterations -3", "whole numbers from 0, one per level"),
    ] {
        let message = place.refuse(2, &format!("register -f f.nii.gz -m m.nii.gz -o p {option}"));
        let name = option.split(' ').next().unwrap_or_default();
        assert!(message.contains(name) && message.contains(words), "{message}");
    }
    for (option, words) in [("--outside nan", "finite"), ("--shrink 11", "fewer than 2 voxels of the 21")] {
        let message = place.refuse(2, &format!("apply -i m.nii.gz -r f.nii.gz -o o.nii.gz {option}"));
        assert!(message.contains(words), "{message}");
    }
    place.succeed("apply -i m.nii.gz -r f.nii.gz -o o.nii.gz --shrink 10 --outside -1024");
    place.succeed("info o.nii.gz");
}

#[test]
fn starts_that_are_no_transform() {
    let place = Workplace::with_pair();
    let refused = |name: &str, words: &[&str]| {
        let message = place.refuse(1, &format!("register -f f.nii.gz -m m.nii.gz -o p --initial-transform {name}"));
        for word in [name].iter().chain(words) {
            assert!(message.contains(word), "`{word}` is missing in: {message}");
        }
    };
    refused("header", &["no such file"]);
    refused("f.nii.gz", &["not a displacement field"]);
    place.file("fsl.mat", b"1 0 0 5\n0 1 0 0\n0 0 1 0\n0 0 0 1\n");
    refused("fsl.mat", &["FSL", "convert"]);
    let text = |parameters: &str| {
        format!(
            "#Insight Transform File V1.0\n#Transform 0\nTransform: AffineTransform_double_3_3\n\
             Parameters: {parameters}\nFixedParameters: 0 0 0\n"
        )
    };
    place.file("nan.txt", text("1 0 0 0 nan 0 0 0 1 0 0 0").as_bytes());
    refused("nan.txt", &["finite"]);
    place.file("flat.txt", text("1 0 0 0 1 0 0 0 0 0 0 0").as_bytes());
    refused("flat.txt", &["singular"]);
    let in_time = text("1 0 0 1 0 0").replace("_3_3", "_4_4");
    place.file("in_time.txt", in_time.as_bytes());
    refused("in_time.txt", &["AffineTransform_double_4_4", "expected"]);
}

#[cfg(unix)]
#[test]
fn names_that_no_record_can_hold() {
    use std::os::unix::ffi::OsStrExt;
    let place = Workplace::with_pair();
    let name = std::ffi::OsStr::from_bytes(b"m\xff.nii.gz");
    std::fs::copy(place.path("m.nii.gz"), place.path("m.nii.gz").with_file_name(name)).expect("a copy");
    let mut command = place.command(["register", "-f", "f.nii.gz", "-o", "p", "--device", "cpu", "-m"]);
    let output = command.arg(name).output().expect("the program");
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("not UTF-8"), "{message}");
}

#[test]
fn chains_and_points_that_do_not_fit() {
    let place = Workplace::with_pair();
    let shift = |x: f64| {
        format!(
            "#Insight Transform File V1.0\n#Transform 0\nTransform: AffineTransform_double_3_3\n\
             Parameters: 1 0 0 0 1 0 0 0 1 {x} 0 0\nFixedParameters: 0 0 0\n"
        )
    };
    place.file("far.txt", shift(5000.0).as_bytes());
    let message = place.refuse(1, "apply -i m.nii.gz -r f.nii.gz -o w.nii.gz -t far.txt");
    assert!(message.contains("the grids do not overlap") && message.contains("the input image"), "{message}");
    let message = place.refuse(1, "apply -i m.nii.gz -r f.nii.gz -o w.nii.gz -t m.nii.gz");
    assert!(message.contains("m.nii.gz: not a displacement field"), "{message}");
    // Both of the following transforms are refused: `flat.txt` maps all points to a line, and `slices.txt` is
    // two-dimensional.
    place.file("flat.txt", shift(0.0).replace("1 0 0 0 1 0 0 0 1", "1 0 0 0 0 0 0 0 0").as_bytes());
    let of_slices = shift(0.0).replace("_3_3", "_2_2").replace("1 0 0 0 1 0 0 0 1 0 0 0", "1 0 0 1 2 3");
    place.file("slices.txt", of_slices.replace("FixedParameters: 0 0 0", "FixedParameters: 0 0").as_bytes());
    for (name, words) in [("flat.txt", "singular"), ("slices.txt", "two-dimensional")] {
        for line in [
            format!("apply -i m.nii.gz -r f.nii.gz -o w.nii.gz -t {name}"),
            format!("labels -l fl.nii.gz -r f.nii.gz -o q --apply {name}"),
            format!("register -f f.nii.gz -m m.nii.gz -o q --initial-transform {name}"),
        ] {
            let message = place.refuse(1, &line);
            assert!(message.contains(name) && message.contains(words), "{line}: {message}");
        }
    }
    for (name, text, words) in [
        ("a.csv", "x,y\n1,2\n", "no column \"z\""),
        ("b.csv", "x,y,z\n1,2,3\n4,five,6\n", "line 3: expected a finite number, found \"five\""),
        ("c.csv", "x,y,z\n1,2,inf\n", "finite"),
        ("d.csv", "x,y,z\n1,2\n", "fields"),
        ("e.csv", "", "empty"),
    ] {
        place.file(name, text.as_bytes());
        let message = place.refuse(1, &format!("apply --points {name} -o out.csv -t far.txt"));
        assert!(message.contains(name) && message.contains(words), "{message}");
    }
    let message = place.refuse(1, "apply --points g.csv -o out.csv -t far.txt");
    assert!(message.contains("g.csv"), "{message}");
}

#[test]
fn comparisons_across_grids() {
    let place = Workplace::with_pair();
    let mut other = image();
    other.grid.origin.x += 4.0;
    write(&place, "other.nii.gz", &other);
    let message = place.refuse(1, "compare f.nii.gz other.nii.gz");
    assert!(message.contains("other.nii.gz") && message.contains("antsreg-gpu apply"), "{message}");
    let mut labels = Brain::standard().labels(&other.grid);
    labels.grid.origin.x += 4.0;
    nifti::write_labels(&place.path("l.nii.gz"), &labels).expect("labels are written");
    let message = place.refuse(1, "overlap l.nii.gz fl.nii.gz");
    assert!(message.contains("l.nii.gz") && message.contains("fl.nii.gz"), "{message}");
    let message = place.refuse(1, "jacobian f.nii.gz");
    assert!(message.contains("f.nii.gz: not a displacement field"), "{message}");
}

#[test]
fn a_batch_of_which_nothing_is_done_has_failed() {
    let place = Workplace::with_pair();
    let run = place.run("batch -f f.nii.gz -o out none.nii.gz -t rigid --device cpu");
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("1 of 1 subjects failed"), "{}", run.stderr);
    let run = place.run("batch -f f.nii.gz -o out none.nii.gz m.nii.gz -t rigid --no-search --device cpu");
    assert_eq!(run.code, Some(3), "{}", run.stderr);
}

#[test]
fn conversions_that_lack_something() {
    let place = Workplace::with_pair();
    place.file("fsl.mat", b"1 0 0 5\n0 1 0 0\n0 0 1 0\n0 0 0 1\n");
    let message = place.refuse(2, "convert fsl.mat out.txt");
    assert!(message.contains("--fixed is missing"), "{message}");
    let message = place.refuse(2, "convert fsl.mat out.xfm -f f.nii.gz -m m.nii.gz");
    assert!(message.contains("out.xfm") && message.contains("--to"), "{message}");
    let message = place.refuse(1, "convert fsl.mat out.xfm --to itk -f f.nii.gz -m m.nii.gz");
    assert!(message.contains("out.xfm"), "{message}");
    place.file("commas.mat", b"1, 0, 0, 5\n0, 1, 0, 0\n0, 0, 1, 0\n0, 0, 0, 1\n");
    let message = place.refuse(1, "convert commas.mat out.txt -f f.nii.gz -m m.nii.gz");
    assert!(message.contains("commas.mat: not an ITK transform"), "{message}");
    place.file("short.mat", b"1 0 0 5\n0 1 0 0\n");
    let message = place.refuse(1, "convert short.mat out.txt -f f.nii.gz -m m.nii.gz");
    assert!(message.contains("short.mat") && message.contains("expected 16 numbers, found 8"), "{message}");
}

#[test]
fn further_pairs_that_do_not_fit() {
    let place = Workplace::with_pair();
    let mut far = image();
    far.grid.origin.z += 1000.0;
    write(&place, "far.nii.gz", &far);
    let mut flat = image();
    flat.voxels.fill(3.0);
    write(&place, "flat.nii.gz", &flat);
    let line = "register -f f.nii.gz -m m.nii.gz -o p -t syn-only --dry-run --channel";
    for (channel, words) in [
        ("f.nii.gz,far.nii.gz", ["far.nii.gz", "does not overlap with m.nii.gz"]),
        ("far.nii.gz,m.nii.gz", ["far.nii.gz", "does not overlap with f.nii.gz"]),
        ("flat.nii.gz,m.nii.gz", ["flat.nii.gz", "every voxel is 3"]),
        ("f.nii.gz,none.nii.gz", ["none.nii.gz", "no such file"]),
    ] {
        let message = place.refuse(1, &format!("{line} {channel}"));
        for word in words {
            assert!(message.contains(word), "`{word}` is missing in: {message}");
        }
    }
    std::fs::copy(place.path("m.nii.gz"), place.path("pWarped.nii.gz")).expect("a copy");
    let message = place.refuse(2, "register -f f.nii.gz -m m.nii.gz -o p --channel f.nii.gz,pWarped.nii.gz");
    assert!(message.contains("pWarped.nii.gz") && message.contains("input"), "{message}");
}

#[test]
fn options_of_a_stage_that_does_not_run_are_refused_each() {
    let place = Workplace::with_pair();
    let help = place.succeed("register --help").stdout;
    // This test adds every option to a command line that must refuse the option. Options with a value need a valid
    // value: the values are taken from the command lines that three dry runs print.
    let mut typed = Vec::new();
    let boundary = "-t rigid --cost bbr --white-matter f.nii.gz";
    let seldom =
        "--metric cc --restrict-deformation 1x1x0 --winsorise-over all --update-mesh 8x8x8 --total-mesh 8x8x8";
    for options in ["--cost nmi --metric mattes", seldom, boundary] {
        let plan = place.succeed(&format!("register -f f.nii.gz -m m.nii.gz -o p --dry-run {options}")).stdout;
        let command =
            plan.lines().find(|line| line.trim_start().starts_with("antsreg-gpu register ")).expect("a line");
        typed.extend(command.split_whitespace().map(str::to_owned));
    }
    for (stage, model) in [("Affine stage", "syn-only"), ("SyN stage", "affine")] {
        let (_, section) = help.split_once(&format!("\n{stage}:\n")).expect("a heading");
        let section = section.lines().take_while(|line| line.is_empty() || line.starts_with(' '));
        let options: Vec<&str> = section.map(str::trim_start).filter(|line| line.starts_with("--")).collect();
        assert!(options.len() >= 12, "{stage}: {options:?}");
        for option in options {
            let name = option.split_whitespace().next().expect("a name");
            let value = match option.contains('<') {
                true => {
                    let at =
                        typed.iter().position(|word| word == name).unwrap_or_else(|| panic!("no value of {name}"));
                    typed[at + 1].as_str()
                }
                false => "",
            };
            let message =
                place.refuse(2, &format!("register -f f.nii.gz -m m.nii.gz -o p -t {model} {name} {value}"));
            let expected = format!("{name} has no effect with --transform {model}");
            assert!(message.contains(&expected), "`{expected}` is missing in: {message}");
        }
    }
}

#[test]
fn boundary_based_registration_of_many_is_refused() {
    let place = Workplace::with_pair();
    for line in [
        "batch -f f.nii.gz -o out m.nii.gz",
        "normalise m.nii.gz -o out -f f.nii.gz",
        "atlas f.nii.gz m.nii.gz -o out",
        "labels -f f.nii.gz -a m.nii.gz=m.nii.gz -o p",
    ] {
        let message = place.refuse(2, &format!("{line} --cost bbr --device cpu"));
        assert!(message.contains("--cost bbr") && message.contains("register"), "{line}: {message}");
    }
}
