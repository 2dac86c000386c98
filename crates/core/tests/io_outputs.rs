//! Tests of sets of output files: where the files are before they get their names, and what is told about them.

use std::path::Path;

use antsreg_core::io::outputs::{OutputErrorKind, Outputs, check_name, write_file};

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn each_folder_has_one_hidden_folder_for_its_outputs() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("a")).unwrap();
    std::fs::create_dir(at("b")).unwrap();
    let mut outputs = Outputs::new();
    for name in ["a/1.txt", "b/2.txt", "a/3.txt", "b/4.txt"] {
        outputs.write(&at(name), |path| write_file(path, name.as_bytes())).unwrap();
    }
    for (name, expected) in [("a", ["1.txt", "3.txt"]), ("b", ["2.txt", "4.txt"])] {
        let [hidden] = &names(&at(name))[..] else { panic!("{:?}", names(&at(name))) };
        assert!(hidden.starts_with(".antsreg-partial-"), "{hidden}");
        assert_eq!(names(&at(name).join(hidden)), expected);
    }
    outputs.commit().unwrap();
    assert_eq!(names(&at("a")), ["1.txt", "3.txt"]);
    assert_eq!(names(&at("b")), ["2.txt", "4.txt"]);
}

#[test]
fn the_sizes_of_outputs_are_known_before_they_have_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut outputs = Outputs::new();
    assert_eq!(outputs.written().unwrap(), []);
    outputs.write(&at("b.txt"), |path| write_file(path, b"12345")).unwrap();
    outputs.write(&at("a.txt"), |path| write_file(path, b"123")).unwrap();
    assert_eq!(outputs.written().unwrap(), [(at("b.txt"), 5), (at("a.txt"), 3)]);
}

#[test]
fn an_output_whose_earlier_file_could_not_be_kept_stays_when_the_set_is_undone() {
    let folder = tempfile::tempdir().unwrap();
    // File systems allow names of 255 bytes. The second name of the earlier file would be longer.
    let long = folder.path().join("n".repeat(250));
    let taken = folder.path().join("taken.txt");
    std::fs::write(&long, "old").unwrap();
    let mut outputs = Outputs::new();
    for target in [&long, &taken] {
        outputs.write(target, |path| write_file(path, b"new")).unwrap();
    }
    // A file cannot replace a folder that has contents.
    std::fs::create_dir_all(taken.join("sub")).unwrap();
    assert_eq!(outputs.commit().unwrap_err().path, taken);
    assert_eq!(std::fs::read(&long).unwrap(), b"new");
}

#[test]
fn a_name_needs_no_folder_but_a_folder_needs_a_name() {
    check_name(Path::new("free-name.txt")).unwrap();
    for path in ["", "..", "./.."] {
        let kind = check_name(Path::new(path)).unwrap_err().kind;
        assert!(matches!(kind, OutputErrorKind::IsFolder), "{path}: {kind}");
    }
}
