//! Whether outputs have their final names is known for the whole process, so this is a separate test program with one
//! test.

use antsreg_core::io::outputs::{Outputs, stop_commits, write_file};

#[test]
fn an_output_is_written_when_it_has_its_final_name() {
    let folder = tempfile::tempdir().unwrap();
    let is_written = || stop_commits().any_output_written();
    assert!(!is_written());
    let mut outputs = Outputs::new();
    outputs.write(&folder.path().join("a.txt"), |path| write_file(path, b"a")).unwrap();
    assert!(!is_written(), "the file is in the hidden folder");
    outputs.commit().unwrap();
    assert!(is_written());
}
