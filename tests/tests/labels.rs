//! Tests of labelling by several atlases: resampling, fusion and scores of the labels, and atlases that cannot be used.

use antsreg_core::io::nifti;
use antsreg_core::{AffineTransform, Overlap};
use antsreg_tests::{Brain, Workplace, grid};
use nalgebra::{Matrix3, Rotation3, Vector3};

/// Voxel size of the synthetic brains, mm. It is coarse, so that a registration takes a second.
const SPACING: f64 = 6.0;

/// Makes a folder with four labelled brains, each rotated, warped and placed differently. The images are `a.nii.gz` to
/// `d.nii.gz`, the label maps `al.nii.gz` to `dl.nii.gz`.
fn brains() -> Workplace {
    let place = Workplace::new();
    for (n, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
        let n = n as f64;
        let to_world = AffineTransform {
            matrix: Rotation3::from_euler_angles(0.05 * n, 0.1 - 0.06 * n, 0.04 * n).into_inner()
                * Matrix3::from_diagonal(&Vector3::new(1.0 + 0.02 * n, 1.03 - 0.02 * n, 1.0)),
            translation: Vector3::new(3.0 * n, -4.0, 5.0 - 2.0 * n),
        };
        let brain = Brain { warp_mm: 3.0 * n - 4.0, ..Brain::moved(&to_world) };
        let grid = grid(SPACING, [2.0 * n, -3.0, 4.0], Matrix3::identity());
        brain.write_image(&grid, &place.path(&format!("{name}.nii.gz")));
        brain.write_labels(&grid, &place.path(&format!("{name}l.nii.gz")));
    }
    place
}

const THREE: &str = "-a b.nii.gz=bl.nii.gz -a c.nii.gz=cl.nii.gz -a d.nii.gz=dl.nii.gz";

#[test]
fn pages_show_labels_of_atlases_carried_labels_and_scores() {
    let place = brains();
    let quick = "-t rigid --device cpu";
    place.succeed(&format!("labels -f a.nii.gz -g al.nii.gz {THREE} -o t_ --keep-transforms --report {quick}"));
    place.succeed(&format!("labels --leave-one-out {THREE} -o s_ --report=scores.html {quick}"));
    place.succeed("labels --apply t_b_0GenericAffine.mat -l bl.nii.gz -r a.nii.gz -g al.nii.gz -o c_ --report");
    for (name, all) in [
        (
            "t_report.html",
            &["Labels of a", "Outline of Target", "Atlas ", "Overlap with the true labels", "atlases used"][..],
        ),
        ("scores.html", &["3 atlases scored", "majority", "data-name=\"b\"", "s_summary.csv"]),
        ("c_report.html", &["bl onto a", "Labelled part", "t_b_0GenericAffine.mat", "mean Dice"]),
    ] {
        let page = String::from_utf8(place.read(name)).expect("text");
        for words in all {
            assert!(page.contains(words), "{name} has no `{words}`");
        }
    }
    // A report (HTML page) that cannot or must not be written is refused before anything is computed, like any other
    // output.
    place.file("list.html", b"1 2 3");
    for (code, line, words) in [
        (2, format!("labels -f a.nii.gz {THREE} -o r_ --report=r_Labels.nii.gz"), ".html"),
        (1, format!("labels -f a.nii.gz {THREE} -o r_ --report=none/page.html"), "none"),
        (1, format!("labels --leave-one-out {THREE} -o r_ --report=none/page.html"), "none"),
        (
            2,
            format!("labels -f a.nii.gz -g al.nii.gz {THREE} --label-list list.html -o r_ --report=list.html"),
            "list.html",
        ),
        (2, format!("labels --leave-one-out {THREE} --label-list list.html -o r_ --report=list.html"), "list.html"),
        (
            1,
            "labels --apply t_b_0GenericAffine.mat -l bl.nii.gz -r a.nii.gz -o r_ --report=none/page.html".into(),
            "none",
        ),
    ] {
        let told = place.refuse(code, &line);
        assert!(told.contains(words), "{line}: {told}");
    }
    assert_eq!(beginning(&place, "r_"), Vec::<String>::new());
}

fn jaccard(place: &Workplace, labels: &str, truth: &str) -> f64 {
    let [labels, truth] = [labels, truth].map(|name| nifti::read_labels(&place.path(name)).expect("labels"));
    Overlap::between(&labels, &truth, None).expect("one grid").mean()[1]
}

/// Names of the files in the folder that begin with `prefix`.
fn beginning(place: &Workplace, prefix: &str) -> Vec<String> {
    place.names().into_iter().filter(|name| name.starts_with(prefix)).collect()
}

#[test]
fn several_atlases_label_a_target() {
    let place = brains();
    // The range of rotations is limited, because with voxels of 6 mm both ends of the synthetic brain look similar.
    let upright = "--search-degrees 40";
    let run = place
        .succeed(&format!("labels {THREE} -f a.nii.gz -g al.nii.gz -o j_ --keep-transforms --posteriors {upright}"));
    assert!(
        run.stdout.contains("Jaccard") && run.stderr.contains("3 atlases fused"),
        "{}\n{}",
        run.stdout,
        run.stderr
    );
    let joint = jaccard(&place, "j_Labels.nii.gz", "al.nii.gz");
    let single = ["b", "c", "d"].map(|name| jaccard(&place, &format!("j_{name}_Labels.nii.gz"), "al.nii.gz"));
    let best = single.into_iter().fold(0.0, f64::max);
    assert!(joint > best && joint > 0.8, "{joint}, alone {single:?}");
    let kept = ["0GenericAffine.mat", "1InverseWarp.nii.gz", "1Warp.nii.gz", "Labels.nii.gz", "Warped.nii.gz"];
    assert_eq!(beginning(&place, "j_b_"), kept.map(|rest| format!("j_b_{rest}")));
    // The written transforms, applied to the atlas's labels, must give the labels that the command wrote.
    place
        .succeed("labels --apply j_b_1Warp.nii.gz --apply j_b_0GenericAffine.mat -l bl.nii.gz -r a.nii.gz -o again_");
    let [used, again] = ["j_b_Labels.nii.gz", "again_Labels.nii.gz"]
        .map(|name| nifti::read_labels(&place.path(name)).expect("labels").voxels);
    let different = used.iter().zip(&again).filter(|(used, again)| used != again).count();
    // Warps are stored in single precision, so labels may differ where interpolation weights are equal.
    assert!(different <= used.len() / 10_000, "{different} voxels differ");
    // For each label 0 to 9 of the brain, a file with the label's share of the votes at each voxel must exist.
    let posteriors = beginning(&place, "j_Posterior");
    let expected: Vec<String> = (0..10).map(|label| format!("j_Posterior{label:04}.nii.gz")).collect();
    assert_eq!(posteriors, expected);
    let fused = nifti::read_labels(&place.path("j_Labels.nii.gz")).expect("labels");
    let shares: Vec<Vec<f32>> =
        posteriors.iter().map(|name| nifti::read_volume(&place.path(name)).expect("shares").voxels).collect();
    for (voxel, label) in fused.voxels.iter().enumerate() {
        let here: Vec<f32> = shares.iter().map(|share| share[voxel]).collect();
        let most = here.iter().copied().fold(0.0, f32::max);
        assert!((here.iter().sum::<f32>() - 1.0).abs() < 1e-5, "voxel {voxel}: {here:?}");
        // The fused label must have the largest share of the votes. Its share may be smaller by 1e-5, because shares
        // can be equal and are rounded to single precision.
        assert!(here[*label as usize] > most - 1e-5, "voxel {voxel}, label {label}: {here:?}");
    }
    let record = place.record("j_record.json");
    assert_eq!(record["parameters"]["fusion"]["kind"], "joint");
    assert_eq!(record["parameters"]["fusion"]["search_radius"], 3);
    let target = &record["targets"][0];
    assert!((target["mean_jaccard"].as_f64().expect("a number") - joint).abs() < 1e-9);
    assert!(target["undecided_voxels"].as_u64().expect("a number") > 100);
    assert_eq!(target["atlases"].as_array().map(Vec::len), Some(3));
    assert_eq!(target["atlases"][2]["name"], "d");
}

#[test]
fn a_majority_is_what_most_atlases_say_and_threads_change_nothing() {
    let place = brains();
    let quick = "-t affine --fusion majority --keep-transforms --format nii";
    place.succeed(&format!("labels {THREE} -f a.nii.gz -o m_ {quick}"));
    let read = |name: &str| nifti::read_labels(&place.path(name)).expect("labels").voxels;
    let maps = ["b", "c", "d"].map(|name| read(&format!("m_{name}_Labels.nii")));
    for (voxel, found) in read("m_Labels.nii").into_iter().enumerate() {
        let [b, c, d] = [0, 1, 2].map(|map| maps[map][voxel]);
        let expected = if b == c || b == d {
            b
        } else if c == d {
            c
        } else {
            b.min(c).min(d)
        };
        assert_eq!(found, expected, "voxel {voxel}");
    }
    for threads in [1, 3] {
        let prefix = format!("t{threads}_");
        place.succeed(&format!("labels {THREE} -f a.nii.gz -o {prefix} -t affine --device cpu --threads {threads}"));
    }
    assert_eq!(place.read("t1_Labels.nii.gz"), place.read("t3_Labels.nii.gz"));
}

#[test]
fn each_labelled_image_is_scored_by_the_others() {
    let place = brains();
    place.file(
        "set.csv",
        b"subject,image,labels\none,a.nii.gz,al.nii.gz\ntwo,b.nii.gz,bl.nii.gz\nthree,c.nii.gz,cl.nii.gz\n",
    );
    let run = place.succeed("labels --leave-one-out -a set.csv -o s_ --label-list 1,2,3,9,77");
    let summary = String::from_utf8(place.read("s_summary.csv")).expect("text");
    let rows: Vec<Vec<&str>> = summary.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows[0], ["Target", "BestAtlas", "BestSingle", "Majority", "Joint"]);
    assert_eq!(rows.iter().skip(1).map(|row| row[0]).collect::<Vec<_>>(), ["one", "two", "three", "Mean"]);
    let number = |text: &str| text.parse::<f64>().expect("a number");
    let means: Vec<f64> =
        (2..5).map(|column| rows[1..4].iter().map(|row| number(row[column])).sum::<f64>() / 3.0).collect();
    for (column, mean) in means.iter().enumerate() {
        // The mean score in the table may differ by 2e-6 from the mean of the scores in its rows, because the table has
        // six digits.
        assert!((number(rows[4][column + 2]) - mean).abs() < 2e-6, "{summary}");
    }
    assert!(means[2] > 0.8, "{summary}");
    assert!(run.stdout.contains("Best single") && run.stdout.contains("Mean "), "{}", run.stdout);
    // In the table of --leave-one-out, the score of a target must be the mean overlap of its written labels with its
    // true labels. The mean is over the requested labels that exist in the images.
    let [labels, truth] =
        ["s_two_Labels.nii.gz", "bl.nii.gz"].map(|name| nifti::read_labels(&place.path(name)).expect("labels"));
    let own = Overlap::between(&labels, &truth, Some(&[1, 2, 3, 9])).expect("one grid").mean()[1];
    assert!((number(rows[2][4]) - own).abs() < 1e-6, "{own}, {summary}");
    let csv = String::from_utf8(place.read("s_jaccard.csv")).expect("text");
    // The table must have a row for each of five labels and each of four results (two single atlases, two fusions) of
    // three targets.
    assert_eq!(csv.lines().count(), 1 + 3 * 4 * 5);
    assert!(csv.contains("\none,two,77,NaN,NaN\n"), "{csv}");
    let svg = String::from_utf8(place.read("s_jaccard.svg")).expect("text");
    assert!(svg.starts_with("<svg") && svg.contains("three"), "{svg}");
    assert_eq!(place.record("s_record.json")["targets"].as_array().map(Vec::len), Some(3));
}

#[test]
fn an_atlas_that_cannot_be_used_is_named() {
    let place = brains();
    place.file("text.nii", &b"not an image at all, but a longer text\n".repeat(20));
    place.file("masked.csv", b"image,labels,mask\nd.nii.gz,dl.nii.gz,cl.nii.gz\n");
    for (bad, words) in [
        ("-a masked.csv", ["atlas d: cl.nii.gz", "expected the grid of d.nii.gz"]),
        ("-a none.nii.gz=al.nii.gz", ["none", "no such file"]),
        ("-a text.nii=al.nii.gz", ["text", "not an image"]),
        ("-a d.nii.gz=cl.nii.gz", ["atlas d", "expected the grid of d.nii.gz"]),
    ] {
        let line = format!("labels -a b.nii.gz=bl.nii.gz {bad} -a c.nii.gz=cl.nii.gz -f a.nii.gz -o p_ -t rigid");
        let message = place.refuse(1, &line);
        for word in words {
            assert!(message.contains(word), "`{word}` is missing in: {message}");
        }
        // With `--keep-going` the other atlases are used, and the exit code shows that some were left out.
        let run = place.run(&format!("{line} --keep-going"));
        assert_eq!(run.code, Some(3), "{}", run.stderr);
        assert!(run.stderr.contains("left out") && run.stderr.contains("1 of the 3 atlases"), "{}", run.stderr);
        let record = place.record("p_record.json");
        let used = record["targets"][0]["atlases"].as_array().expect("atlases").iter().map(|a| a["used"] == true);
        assert_eq!(used.collect::<Vec<_>>(), [true, false, true]);
        for name in beginning(&place, "p_") {
            std::fs::remove_file(place.path(&name)).expect("removed");
        }
    }
    let message = place.refuse(1, "labels -a none.nii.gz=al.nii.gz -f a.nii.gz -o p_ --keep-going");
    assert!(message.contains("none of the 1 atlases can be used"), "{message}");
}

#[test]
fn an_atlas_that_cannot_be_registered_is_named() {
    let place = brains();
    // The header of this image places it a metre away, so that it cannot be registered.
    let mut image = nifti::read_volume(&place.path("c.nii.gz")).expect("an image");
    let mut labels = nifti::read_labels(&place.path("cl.nii.gz")).expect("labels");
    image.grid.origin.x += 1000.0;
    labels.grid.origin.x += 1000.0;
    nifti::write_volume(&place.path("far.nii.gz"), &image).expect("written");
    nifti::write_labels(&place.path("farl.nii.gz"), &labels).expect("written");
    let options = "-a b.nii.gz=bl.nii.gz -a far.nii.gz=farl.nii.gz -t rigid --initial-transform headers";
    let message = place.refuse(1, &format!("labels {options} -f a.nii.gz -o p_"));
    assert!(message.contains("atlas far: a.nii.gz and far.nii.gz do not overlap"), "{message}");
    let run = place.run(&format!("labels {options} -f a.nii.gz -o p_ --keep-going"));
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    assert!(run.stderr.contains("1 of the 2 atlases"), "{}", run.stderr);
    // The image `far` could not be registered to the other images, so it was left out as an atlas. For the same reason
    // it cannot be labelled, and is left out as a target as well.
    let run = place.run(&format!("labels {options} -a a.nii.gz=al.nii.gz --leave-one-out -o s_ --keep-going"));
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    assert!(run.stderr.contains("far: no atlas could be registered to it"), "{}", run.stderr);
    let summary = String::from_utf8(place.read("s_summary.csv")).expect("text");
    let targets: Vec<&str> = summary.lines().filter_map(|line| line.split(',').next()).collect();
    assert_eq!(targets, ["Target", "b", "a", "Mean"]);
}

#[test]
fn what_makes_no_sense_with_atlases_is_refused() {
    let place = brains();
    for (line, word) in [
        (format!("labels {THREE} -o p_"), "--fixed"),
        (format!("labels {THREE} -f a.nii.gz -o p_ --fusion majority --alpha 0.2"), "--alpha"),
        ("labels --leave-one-out -a a.nii.gz=al.nii.gz -o p_".into(), "two or more"),
        ("labels -a a.nii.gz=al.nii.gz -a a.nii.gz=bl.nii.gz -f b.nii.gz -o p_".into(), "two atlases are called a"),
        ("labels -a b.nii.gz=bl.nii.gz -f a.nii.gz -o b_ -t affine --cc-radius 2".into(), "--cc-radius"),
    ] {
        let message = place.refuse(2, &line);
        assert!(message.contains(word), "`{word}` is missing in: {message}");
    }
    // Options that belong to another method of labelling are refused.
    let (given, registered) = ("-l al.nii.gz --apply identity -r b.nii.gz", "-l al.nii.gz -f b.nii.gz -m a.nii.gz");
    let several = "-a a.nii.gz=al.nii.gz -f b.nii.gz";
    let of_several = [
        "--keep-going",
        "--keep-transforms",
        "--fusion joint",
        "--posteriors",
        "--patch-radius 1",
        "--search-radius 1",
        "--alpha 0.2",
        "--beta 1",
    ];
    let pairs = [given, registered].into_iter().flat_map(|way| of_several.map(|option| (way, option)));
    let others = [(several, "--dry-run"), (several, "-r b.nii.gz"), (registered, "-r b.nii.gz")];
    // Options of the registration are refused if existing transforms are applied instead of a registration.
    let registering = ["-t rigid", "--device cpu", "--cost ncc", "--metric cc"].map(|option| (given, option));
    for (way, option) in pairs.chain(others).chain(registering) {
        let message = place.refuse(2, &format!("labels {way} -o p_ {option}"));
        assert!(message.contains("cannot be used with"), "{way} {option}: {message}");
    }
    // The command line is refused, because an output is also an input.
    std::fs::rename(place.path("bl.nii.gz"), place.path("xLabels.nii.gz")).expect("renamed");
    let message = place.refuse(2, "labels -a b.nii.gz=xLabels.nii.gz -f a.nii.gz -o x");
    assert!(message.contains("both an input and an output"), "{message}");
}

#[test]
fn tables_lists_and_transforms_that_are_read_are_not_replaced() {
    let place = brains();
    let table = b"subject,image,labels\na,a.nii.gz,al.nii.gz\nb,b.nii.gz,bl.nii.gz\n";
    let list = b"1,2,3\n";
    for name in ["tjaccard.csv", "tsummary.csv", "toverlap.csv"] {
        place.file(name, table);
    }
    place.file("loverlap.csv", list);
    place.file("ljaccard.csv", list);
    let matrix = place.file("s_b_0GenericAffine.mat", b"looked at by its name alone");
    std::fs::copy(place.path("bl.nii.gz"), place.path("pPosterior0001.nii.gz")).expect("copied");
    let one = "-a b.nii.gz=bl.nii.gz -f a.nii.gz";
    for line in [
        "--leave-one-out -a tjaccard.csv -o t".to_owned(),
        "--leave-one-out -a tsummary.csv -o t".to_owned(),
        "-a toverlap.csv -f c.nii.gz -o t".to_owned(),
        format!("{one} -g al.nii.gz --label-list loverlap.csv -o l"),
        "--leave-one-out -a tjaccard.csv --label-list ljaccard.csv -o l".to_owned(),
        "-l bl.nii.gz --apply identity -r b.nii.gz -g bl.nii.gz --label-list loverlap.csv -o l".to_owned(),
        "-l bl.nii.gz -f a.nii.gz -m b.nii.gz -g al.nii.gz --label-list loverlap.csv -o l".to_owned(),
        format!("{one} --keep-transforms --initial-transform {matrix} -o s_"),
        // The names of the files of label probabilities (posteriors) depend on the labels, so they are known only after
        // the fusion.
        "-a b.nii.gz=pPosterior0001.nii.gz -f a.nii.gz --posteriors -o p".to_owned(),
    ] {
        let message = place.refuse(2, &format!("labels {line}"));
        assert!(message.contains("both an input and an output"), "{line}: {message}");
    }
    assert_eq!(place.read("tjaccard.csv"), table);
    assert_eq!(place.read("loverlap.csv"), list);
}
