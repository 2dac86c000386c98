//! Commands of ANTs and FSL under their own names: how they are called, refused and passed on.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use antsreg_core::io::itk;
use antsreg_core::{DisplacementField, Grid};
use antsreg_tests::{Run, Workplace};

/// A shell script that says that it ran, and with what.
const REAL: &str = "#!/bin/sh\necho the real one: \"$@\"\nexit 7\n";

fn executable(place: &Workplace, name: &str, script: &str) {
    place.file(name, script.as_bytes());
    let path = place.path(name);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("an executable");
}

/// Runs a program of the folder `links`, with the folders `links` and `real` on PATH.
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
    // Again, and one alone.
    place.succeed("links links");
    let said = place.succeed("links other --only antsAffineInitializer").stdout;
    assert!(said.contains("export PATH=") && said.contains("/other:$PATH"), "{said}");
    assert_eq!(std::fs::read_dir(place.path("other")).expect("a folder").count(), 1);
    let refused = place.refuse(2, "links real");
    assert!(refused.contains("real/antsAffineInitializer: exists and is no link"), "{refused}");
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
        refused.stderr.contains("antsAffineInitializer: a.h5: expected a name that ends in .mat"),
        "{}",
        refused.stderr
    );
    assert!(refused.stderr.contains("ANTSREG_FALLBACK=1 would run"), "{}", refused.stderr);
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
    // A script of the same name that calls this program again.
    let program = place.path("links/antsAffineInitializer");
    executable(&place, "real/antsAffineInitializer", &format!("#!/bin/sh\nexec {} \"$@\"\n", program.display()));
    let round = call(&place, line, &[("ANTSREG_FALLBACK", "1")]);
    assert_eq!(round.code, Some(2), "{}", round.stderr);
    assert!(round.stderr.contains("led back to antsreg-gpu"), "{}", round.stderr);
    // Only links to this program are on PATH.
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
