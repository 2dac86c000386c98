//! Tests of output files, which appear complete or not at all, alone and in sets.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use antsreg_core::io::outputs::{
    NamesPath, OutputError, OutputErrorKind, Outputs, check, check_name, make_folder, protect, remove_unfinished,
    stop_commits, write_file,
};
use antsreg_core::{Grid, Volume, io};

/// A lock that lets one test run at a time, because an interruption concerns all outputs of the process.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn volume() -> Volume {
    Volume::filled(Grid::axis_aligned([3, 4, 5], [1.0; 3]), 1.0)
}

#[test]
fn a_set_appears_together() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("b")).unwrap();
    std::fs::write(folder.path().join("old.txt"), "old").unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut outputs = Outputs::new();
    outputs.write(&at("old.txt"), |path| write_file(path, b"new")).unwrap();
    outputs.write(&at("b/image.nii.gz"), |path| io::nifti::write_volume(path, &volume())).unwrap();
    let (first, second) = (at("1.txt"), at("2.txt"));
    let write =
        |text: &'static [u8]| -> io::outputs::Writing<OutputError> { Box::new(move |path| write_file(path, text)) };
    outputs.write_all(vec![(&first, write(b"1")), (&second, write(b"2"))]).unwrap();
    assert!(!first.exists() && !at("b/image.nii.gz").exists());
    assert_eq!(std::fs::read(at("old.txt")).unwrap(), b"old");
    let written = outputs.commit().unwrap();
    assert_eq!(written, [at("old.txt"), at("b/image.nii.gz"), first, second]);
    assert_eq!(std::fs::read(at("old.txt")).unwrap(), b"new");
    assert_eq!(names(folder.path()), ["1.txt", "2.txt", "b", "old.txt"]);
    assert_eq!(names(&folder.path().join("b")), ["image.nii.gz"]);
}

#[test]
fn a_set_that_fails_leaves_nothing_and_names_the_output() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("image.wrong");
    let mut outputs = Outputs::new();
    outputs.write(&folder.path().join("a.txt"), |path| write_file(path, b"a")).unwrap();
    let error = outputs.write(&target, |path| io::nifti::write_volume(path, &volume())).unwrap_err();
    assert_eq!(error.path, target);
    // If several output files cannot be written, the error of the first file is returned.
    let targets: Vec<PathBuf> = ["x.txt", "y.txt"].iter().map(|name| folder.path().join(name)).collect();
    let fails = |n: usize| -> io::outputs::Writing<OutputError> {
        Box::new(move |path| write_file(&path.join(n.to_string()), b"a file is no folder"))
    };
    let error = outputs.write_all(targets.iter().zip([0, 1]).map(|(path, n)| (path.as_path(), fails(n))).collect());
    let error = error.unwrap_err();
    assert!(error.path == targets[0] && matches!(error.kind, OutputErrorKind::NoFolder), "{error}");
    drop(outputs);
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

#[test]
fn files_in_the_background_appear_with_the_others() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut outputs = Outputs::new();
    let (go, wait) = std::sync::mpsc::channel();
    let late = move |to: io::Target| {
        wait.recv().expect("the other file is written");
        io::nifti::write_volume(to, &volume())
    };
    outputs.write_in_background(&at("late.nii"), late).unwrap();
    outputs.write(&at("soon.txt"), |path| write_file(path, b"soon")).unwrap();
    assert!(outputs.contains(&at("late.nii")) && outputs.contains(&at("soon.txt")));
    assert!(!outputs.contains(&at("never.txt")));
    go.send(()).unwrap();
    assert_eq!(outputs.written().unwrap(), [(at("late.nii"), 352 + 4 * 60), (at("soon.txt"), 4)]);
    assert!(!at("late.nii").exists());
    outputs.commit().unwrap();
    assert_eq!(io::nifti::read_volume(&at("late.nii")).unwrap(), volume());
    assert_eq!(names(folder.path()), ["late.nii", "soon.txt"]);
}

#[test]
fn reserved_space_does_not_show() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut outputs = Outputs::new();
    for (name, bytes) in [("more.nii", 100_000), ("less.nii", 400), ("never.nii", 5000)] {
        outputs.reserve(&at(name), bytes).unwrap();
    }
    for name in ["more.nii", "less.nii"] {
        outputs.write_in_background(&at(name), |to| io::nifti::write_volume(to, &volume())).unwrap();
    }
    assert_eq!(outputs.written().unwrap(), [(at("more.nii"), 592), (at("less.nii"), 592)]);
    outputs.commit().unwrap();
    assert_eq!(names(folder.path()), ["less.nii", "more.nii"]);
    for name in ["more.nii", "less.nii"] {
        assert_eq!(io::nifti::read_volume(&at(name)).unwrap(), volume());
    }
    let mut outputs = Outputs::new();
    outputs.reserve(&at("given-up.nii"), 5000).unwrap();
    drop(outputs);
    assert_eq!(names(folder.path()), ["less.nii", "more.nii"]);
}

#[test]
fn a_file_that_fails_in_the_background_fails_the_set() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("image.wrong");
    let failing = || {
        let mut outputs = Outputs::new();
        outputs.write_in_background(&target, |to| io::nifti::write_volume(to, &volume())).unwrap();
        outputs.write(&folder.path().join("a.txt"), |path| write_file(path, b"a")).unwrap();
        outputs
    };
    for error in [failing().wait().unwrap_err(), failing().commit().unwrap_err()] {
        assert_eq!(error.path, target);
        assert!(error.to_string().contains(".nii.gz, .nii"), "{error}");
    }
    // A set that is given up waits for its files, so that none appears in a folder that was removed.
    drop(failing());
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

#[test]
fn an_interruption_removes_what_is_unfinished_and_nothing_else() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    write_file(&folder.path().join("before.txt"), b"before").unwrap();
    let mut outputs = Outputs::new();
    outputs.write(&folder.path().join("a.txt"), |path| write_file(path, b"a")).unwrap();
    assert_eq!(names(folder.path()).len(), 2);
    {
        let mut stopped = stop_commits();
        assert!(stopped.any_output_written());
        assert!(stopped.remove_unfinished().is_empty());
    }
    assert_eq!(names(folder.path()), ["before.txt"]);
    let error = outputs.commit().unwrap_err();
    assert!(error.path.ends_with("a.txt") && matches!(error.kind, OutputErrorKind::Write(_)), "{error}");
    assert!(remove_unfinished().is_empty());
    assert_eq!(names(folder.path()), ["before.txt"]);
}

#[test]
fn an_interruption_waits_for_a_set_that_gets_its_names() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..20 {
        let targets: Vec<PathBuf> = (0..30).map(|n| folder.path().join(format!("{n}.txt"))).collect();
        let mut outputs = Outputs::new();
        for target in &targets {
            outputs.write(target, |path| write_file(path, b"a")).unwrap();
        }
        std::thread::scope(|scope| {
            scope.spawn(|| drop(outputs.commit()));
            let mut stopped = stop_commits();
            stopped.remove_unfinished();
            let there = targets.iter().filter(|target| target.exists()).count();
            assert!(there == 0 || there == targets.len(), "{there}");
        });
        assert!(targets.iter().all(|target| !target.exists() || std::fs::remove_file(target).is_ok()));
    }
}

#[test]
fn a_set_of_which_one_file_gets_no_name_is_undone() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("old.txt"), "old").unwrap();
    let mut outputs = Outputs::new();
    for name in ["old.txt", "new.txt", "taken.txt"] {
        outputs.write(&at(name), |path| write_file(path, b"new")).unwrap();
    }
    // Another program has created a folder with the name of the third output. A file cannot replace a folder, so
    // renaming fails.
    std::fs::create_dir_all(at("taken.txt/sub")).unwrap();
    let error = outputs.commit().unwrap_err();
    assert!(error.path == at("taken.txt") && matches!(error.kind, OutputErrorKind::Write(_)), "{error}");
    assert_eq!(std::fs::read(at("old.txt")).unwrap(), b"old");
    assert_eq!(names(folder.path()), ["old.txt", "taken.txt"]);
}

#[test]
fn names_that_no_output_can_have() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let kind = |path: &Path| check_name(path).unwrap_err();
    check_name(&at("free.txt")).unwrap();
    assert!(
        matches!(kind(&at("none/a.txt")), OutputError { path, kind: OutputErrorKind::NoFolder } if path == at("none"))
    );
    assert!(matches!(kind(folder.path()).kind, OutputErrorKind::IsFolder));
    assert!(matches!(kind(Path::new("/")).kind, OutputErrorKind::IsFolder));
    assert!(matches!(kind(&at(&"n".repeat(300))).kind, OutputErrorKind::Write(_)));
    std::fs::write(at("file.txt"), "old").unwrap();
    check_name(&at("file.txt")).unwrap();
    let mut permissions = std::fs::metadata(at("file.txt")).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(at("file.txt"), permissions).unwrap();
    assert!(matches!(write_file(&at("file.txt"), b"new").unwrap_err().kind, OutputErrorKind::WriteProtected));
    assert_eq!(std::fs::read(at("file.txt")).unwrap(), b"old");
    std::fs::write(at("run.log"), "log").unwrap();
    protect(&at("run.log"), "the log");
    let error = write_file(&folder.path().join(".").join("run.log"), b"new").unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("run.log: the log and an output have this same name; give another name for one of them")
    );
    make_folder(&at("x/y/z")).unwrap();
    make_folder(&at("x/y/z")).unwrap();
    assert!(matches!(make_folder(&at("run.log")).unwrap_err().kind, OutputErrorKind::NotAFolder));
    assert!(matches!(make_folder(&at("run.log/x")).unwrap_err().kind, OutputErrorKind::ClosedFolder(_)));
    #[cfg(unix)]
    {
        assert!(matches!(kind(Path::new("/dev/null")).kind, OutputErrorKind::IsDevice));
        std::os::unix::fs::symlink("/proc/self/exe", at("stream")).unwrap();
        assert!(matches!(kind(&at("stream")).kind, OutputErrorKind::IsDevice));
    }
    #[cfg(target_os = "linux")]
    assert!(matches!(unread(&["/proc/a.txt".into()]).unwrap_err().kind, OutputErrorKind::ClosedFolder(_)));
}

/// Checks the outputs of a command that reads no inputs.
fn unread(outputs: &[PathBuf]) -> Result<(), OutputError> {
    check(outputs, std::iter::empty::<&Path>())
}

#[test]
fn every_output_of_a_command_is_checked() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("sub")).unwrap();
    unread(&[at("a.txt"), at("b.txt"), at("sub/a.txt")]).unwrap();
    assert_eq!(names(folder.path()), ["sub"], "nothing is left");
    assert!(matches!(unread(&[at("a.txt"), at("none/b.txt")]).unwrap_err().kind, OutputErrorKind::NoFolder));
    assert!(matches!(unread(&[at("a.txt"), at("sub")]).unwrap_err().kind, OutputErrorKind::IsFolder));
}

#[test]
fn two_outputs_have_different_names() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("sub")).unwrap();
    check([at("a.nii"), at("b.nii"), at("sub/a.nii")], [""; 0]).unwrap();
    let error = check([at("a.nii"), at("b.nii"), at("sub/../a.nii")], [""; 0]).unwrap_err();
    assert!(error.path == at("sub/../a.nii") && matches!(error.kind, OutputErrorKind::IsOtherOutput), "{error}");
}

#[test]
fn an_input_is_not_an_output() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("in.nii"), "image").unwrap();
    let inputs = [at("in.nii"), at("missing.nii")];
    check([at("out.nii")], &inputs).unwrap();
    check([at("missing.nii")], &inputs).unwrap();
    let again = folder.path().join("../").join(folder.path().file_name().unwrap()).join("in.nii");
    let error = check([&at("out.nii"), &again], &inputs).unwrap_err();
    assert!(error.path == again && matches!(error.kind, OutputErrorKind::IsInput), "{error}");
    assert_eq!(error.about(Path::new("x")).path, Path::new("x"));
}
