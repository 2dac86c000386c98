//! Tests of outputs that cannot or must not be written: they are refused before anything is computed, with the name
//! of the file, and existing files are kept.

use antsreg_tests::Workplace;

#[test]
fn places_that_cannot_be_written() {
    let place = Workplace::with_pair();
    let line = "register -f f.nii.gz -m m.nii.gz -t syn-only";
    let message = place.refuse(1, &format!("{line} -o missing/p"));
    assert!(message.contains("missing: no such folder"), "{message}");
    let message = place.refuse(1, "apply -i m.nii.gz -r f.nii.gz -o missing/w.nii.gz");
    assert!(message.contains("missing: no such folder"), "{message}");
    let message = place.refuse(1, "apply -i m.nii.gz -r f.nii.gz -o w.png");
    assert!(message.contains("w.png") && message.contains("expected .nii.gz, .nii"), "{message}");
    std::fs::create_dir(place.path("folder.nii.gz")).expect("a folder");
    let message = place.refuse(1, "apply -i m.nii.gz -r f.nii.gz -o folder.nii.gz");
    assert!(message.contains("folder.nii.gz: the path leads to a folder"), "{message}");
    // Renaming a finished file would replace a write-protected file. So the program must check for such files before it
    // computes.
    let protected = place.path("protected.nii.gz");
    std::fs::copy(place.path("m.nii.gz"), &protected).expect("a copy");
    let mut permissions = std::fs::metadata(&protected).expect("the copy").permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&protected, permissions).expect("protected");
    let message = place.refuse(1, "apply -i f.nii.gz -r f.nii.gz -o protected.nii.gz");
    assert!(message.contains("protected.nii.gz: the file is write-protected"), "{message}");
    assert_eq!(place.read("protected.nii.gz"), place.read("m.nii.gz"));
    // Two problems with names of outputs must be found before anything is computed: a folder with the name of an
    // output, and a name that is too long.
    std::fs::create_dir(place.path("pWarped.nii.gz")).expect("a folder");
    let message = place.refuse(1, &format!("{line} -o p --dry-run"));
    assert!(message.contains("pWarped.nii.gz: the path leads to a folder"), "{message}");
    std::fs::remove_dir(place.path("pWarped.nii.gz")).expect("an empty folder");
    let message = place.refuse(1, &format!("{line} -o {} --dry-run", "p".repeat(238)));
    assert!(message.contains("too long"), "{message}");
    // The command line is refused, because an output would replace an input.
    std::fs::copy(place.path("m.nii.gz"), place.path("pWarped.nii.gz")).expect("a copy");
    let message = place.refuse(2, "register -f f.nii.gz -m pWarped.nii.gz -o p -t syn-only");
    assert!(message.contains("pWarped.nii.gz") && message.contains("input"), "{message}");
}

#[test]
fn nothing_is_written_over_what_is_read() {
    let place = Workplace::with_pair();
    place.succeed(
        "register -f f.nii.gz -m m.nii.gz -o p -t syn-only --device cpu --shrink-factors 2 --smoothing-sigmas 0 \
         --iterations 1 --log run.log",
    );
    place.succeed("register -f f.nii.gz -m m.nii.gz -o p -t syn-only --dry-run --log run.log");
    for name in ["pLabels.nii.gz", "poverlap.csv"] {
        std::fs::copy(place.path("fl.nii.gz"), place.path(name)).expect("a copy");
    }
    // The command line is refused, because a list of labels has the name of an output table.
    place.file("loverlap.csv", b"1,2\n");
    place.file("subjects.csv", b"image,labels\nm.nii.gz,fl.nii.gz\n");
    std::fs::create_dir(place.path("out")).expect("a folder");
    place.file("out/summary.csv", b"1,2\n");
    place.file("out/m_overlap.csv", b"1,2\n");
    let files = [
        "loverlap.csv",
        "out/summary.csv",
        "out/m_overlap.csv",
        "f.nii.gz",
        "m.nii.gz",
        "fl.nii.gz",
        "p1Warp.nii.gz",
        "p0GenericAffine.mat",
        "pLabels.nii.gz",
        "poverlap.csv",
    ];
    let before = files.map(|name| place.read(name));
    for line in [
        "apply -i m.nii.gz -r f.nii.gz -o ./m.nii.gz",
        "apply -i m.nii.gz -r f.nii.gz -o f.nii.gz",
        "apply -i m.nii.gz -r f.nii.gz -t p1Warp.nii.gz -o p1Warp.nii.gz",
        "jacobian p1Warp.nii.gz -o p1Warp.nii.gz",
        "convert p0GenericAffine.mat p0GenericAffine.mat --to itk",
        "overlap fl.nii.gz fl.nii.gz --csv fl.nii.gz",
        "overlap fl.nii.gz fl.nii.gz --label-list loverlap.csv --csv loverlap.csv",
        "register -f f.nii.gz -m m.nii.gz --fixed-labels fl.nii.gz --moving-labels fl.nii.gz --label-list loverlap.csv -o l",
        "batch subjects.csv -f f.nii.gz --fixed-labels fl.nii.gz --label-list out/summary.csv -o out",
        "batch subjects.csv -f f.nii.gz --fixed-labels fl.nii.gz --label-list out/m_overlap.csv -o out",
        "labels -l pLabels.nii.gz -r f.nii.gz -o p --apply p0GenericAffine.mat",
        "labels -l fl.nii.gz -r f.nii.gz -o p --apply p0GenericAffine.mat -g poverlap.csv",
    ] {
        assert!(place.refuse(2, line).contains("both an input and an output"), "{line}");
    }
    for name in files {
        let message = place.refuse(1, &format!("info f.nii.gz --log {name}"));
        assert!(message.contains(name) && message.contains("no log"), "{message}");
    }
    let message =
        place.refuse(2, "register -f f.nii.gz -m m.nii.gz -o p -t rigid --initial-transform p0GenericAffine.mat");
    assert!(message.contains("p0GenericAffine.mat: this file is both an input and an output"), "{message}");
    let message = place.refuse(2, "brain -i f.nii.gz -o b.nii.gz --mask ./b.nii.gz");
    assert!(message.contains("./b.nii.gz: two outputs have this same name"), "{message}");
    // The run is refused, because its log has the name of an output.
    let run = place.run("register -f f.nii.gz -m m.nii.gz -o run --dry-run --log runrecord.json");
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("runrecord.json: the log and an output have this same name"), "{}", run.stderr);
    assert!(files.map(|name| place.read(name)) == before, "a file has changed");
    let message = place.refuse(2, "register -f f.nii.gz -m m.nii.gz -o . --dry-run");
    assert!(message.contains("give ./"), "{message}");
    // FLIRT's `-o` is the name of one file. In `register`, `-o` is the beginning of several names, so the name of a
    // file is refused.
    for verb in ["register -f f.nii.gz -m m.nii.gz", "labels -l fl.nii.gz -r f.nii.gz --apply identity"] {
        let message = place.refuse(2, &format!("{verb} -o out.nii.gz"));
        assert!(message.contains("common start of the names") && message.contains("found `out.nii.gz`"), "{message}");
    }
    std::fs::create_dir(place.path("sub")).expect("a folder");
    let run = place.succeed("register -f f.nii.gz -m m.nii.gz -o sub --dry-run");
    assert!(run.stderr.contains("sub is a folder") && run.stderr.contains("give sub/"), "{}", run.stderr);
    let run = place.succeed("register -f f.nii.gz -m m.nii.gz -o sub/ --dry-run");
    assert!(!run.stderr.contains("is a folder"), "{}", run.stderr);
    // Outputs of an earlier run with other options exist. A message must say that they are not from this run.
    let run = place.succeed("register -f f.nii.gz -m m.nii.gz -o p -t rigid --no-search --device cpu");
    assert!(run.stderr.contains("p1Warp.nii.gz is from an earlier run"), "{}", run.stderr);
    assert!(!run.stderr.contains("pWarped.nii.gz is"), "{}", run.stderr);
}

#[cfg(unix)]
#[test]
fn no_file_takes_the_place_of_a_pipe_or_a_device() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    let place = Workplace::with_pair();
    for name in ["pipe.nii", "pipe.csv", "pWarped.nii.gz"] {
        let made = std::process::Command::new("mkfifo").arg(place.path(name)).status().expect("mkfifo");
        assert!(made.success());
    }
    // The link stands for /dev/stdout, which leads to an ordinary file if the output is redirected.
    symlink("/proc/self/exe", place.path("stream.csv")).expect("a link");
    for line in [
        "apply -i m.nii.gz -r f.nii.gz -o pipe.nii",
        "overlap fl.nii.gz fl.nii.gz --csv pipe.csv",
        "overlap fl.nii.gz fl.nii.gz --csv stream.csv",
        "register -f f.nii.gz -m m.nii.gz -o p --dry-run",
    ] {
        let message = place.refuse(1, line);
        assert!(message.contains("the path leads to a pipe or a device"), "{line}: {message}");
    }
    let kind = |name: &str| std::fs::symlink_metadata(place.path(name)).expect("still there").file_type();
    assert!(kind("pipe.nii").is_fifo() && kind("pipe.csv").is_fifo() && kind("stream.csv").is_symlink());
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_takes_no_files() {
    let place = Workplace::with_pair();
    // Not even the root user can create files in /proc, so these outputs must be refused.
    for line in [
        "register -f f.nii.gz -m m.nii.gz -o /proc/p -t syn-only",
        "apply -i m.nii.gz -r f.nii.gz -o /proc/w.nii.gz",
        "convert m.mat /proc/m.txt --to itk",
    ] {
        let message = place.refuse(1, line);
        assert!(message.contains("/proc: no file can be made in this folder"), "{message}");
    }
}

#[test]
fn the_distances_of_landmarks_are_printed() {
    let place = Workplace::new();
    place.file("f.csv", b"x,y,z,label\n1,2,3,ac\n4,5,6,pc\n");
    place.file("m.csv", b"label,x,y,z\npc,14,5,6\nac,11,2,7\n");
    let shift = "#Insight Transform File V1.0\n#Transform 0\nTransform: AffineTransform_double_3_3\n\
                 Parameters: 1 0 0 0 1 0 0 0 1 10 0 0\nFixedParameters: 0 0 0\n";
    place.file("shift.txt", shift.as_bytes());
    let text = place.succeed("compare --fixed-points f.csv --moving-points m.csv -t shift.txt").stdout;
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[1..3], [["ac", "4.0000"], ["pc", "0.0000"]]);
    assert!(rows[3..].iter().map(|row| row[1]).eq(["2.0000", "2.0000", "4.0000"]), "{text}");
    place.file("other.csv", b"label,x,y,z\nxx,0,0,0\n");
    let message = place.refuse(1, "compare --fixed-points f.csv --moving-points other.csv");
    assert!(message.contains("other.csv") && message.contains("no landmark in common"), "{message}");
}
