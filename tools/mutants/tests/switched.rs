//! Mutants behind the switch behave like the same changes of the text.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use antsreg_mutants::list::Mutant;
use antsreg_mutants::schema;
use antsreg_mutants::source::Source;

/// The fixture and its mutants. `tests/fixture/Cargo.toml` says how the list is made.
fn fixture() -> (Source, Vec<Mutant>) {
    let list = serde_json::from_str(include_str!("fixture/mutants.json")).unwrap();
    (Source::new(include_str!("fixture/src/lib.rs").to_owned()), list)
}

/// Prints what `probe` of a module returns, or that it panics.
const PRINT: &str = "fn print(probe: fn() -> String) {
    println!(\"{}\", std::panic::catch_unwind(probe).unwrap_or_else(|_| \"panic\".to_owned()));
}\n";

fn compile(folder: &Path, name: &str) -> PathBuf {
    let program = folder.join(name);
    let status = Command::new("rustc")
        .args(["--edition=2024", "--cap-lints=allow", "-Cdebug-assertions=on", "-o"])
        .arg(&program)
        .arg(folder.join(format!("{name}.rs")))
        .status()
        .unwrap();
    assert!(status.success(), "{name}.rs does not compile");
    program
}

/// What the fixture prints with each of the mutants in its text: one program, one module for each mutant.
fn by_hand(folder: &Path, source: &Source, mutants: &[Mutant]) -> Vec<String> {
    let mut text = PRINT.to_owned();
    let mut calls = String::new();
    for (n, mutant) in mutants.iter().enumerate() {
        let mut mutated = source.text().to_owned();
        mutated.replace_range(source.bytes(&mutant.span), &mutant.replacement);
        text += &format!("mod m{n} {{\n{}\n}}\n", mutated.replace("//!", "//"));
        calls += &format!("print(m{n}::probe);\n");
    }
    fs::write(folder.join("by_hand.rs"), format!("{text}fn main() {{\n{calls}}}\n")).unwrap();
    let output = Command::new(compile(folder, "by_hand")).output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// Compiles the fixture with all mutants behind the switch. Returns the program and the order of the mutants.
fn switched(folder: &Path, source: &Source, mutants: &[Mutant]) -> (PathBuf, Vec<usize>) {
    let listed: Vec<(usize, &Mutant)> = mutants.iter().enumerate().collect();
    let rewritten = schema::rewrite(source, &listed, 1).unwrap();
    let module = schema::MODULE;
    fs::write(folder.join(format!("{module}.rs")), schema::runtime(mutants.len())).unwrap();
    let text = format!("{}\nmod {module};\n{PRINT}fn main() {{ print(probe) }}\n", rewritten.text());
    fs::write(folder.join("switched.rs"), text).unwrap();
    (compile(folder, "switched"), rewritten.order().to_vec())
}

fn run(program: &Path, variable: &str, value: &str) -> String {
    let output = Command::new(program).env(variable, value).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

#[test]
fn each_mutant_does_what_the_change_of_the_text_does() {
    let (source, mutants) = fixture();
    let folder = tempfile::tempdir().unwrap();
    let by_hand = by_hand(folder.path(), &source, &mutants);
    let (program, order) = switched(folder.path(), &source, &mutants);
    assert_eq!(order.len(), mutants.len(), "every mutant of the fixture can be switched");

    let original = run(&program, "MUTANT", "0");
    let mut different = BTreeMap::new();
    for (n, index) in order.iter().enumerate() {
        let printed = run(&program, "MUTANT", &(n + 1).to_string());
        assert_eq!(printed, by_hand[*index], "{}", mutants[*index].name);
        different.insert(&mutants[*index].name, printed != original);
    }
    let unchanged: Vec<_> = different.iter().filter(|(_, different)| !**different).map(|(name, _)| name).collect();
    assert!(unchanged.is_empty(), "the fixture shows no difference: {unchanged:?}");
}

#[test]
fn the_mutants_that_a_program_evaluates_are_recorded() {
    let (source, mutants) = fixture();
    let folder = tempfile::tempdir().unwrap();
    let (program, order) = switched(folder.path(), &source, &mutants);
    let coverage = tempfile::tempdir().unwrap();
    run(&program, "MUTANT_COVERAGE", coverage.path().to_str().unwrap());
    let files: Vec<_> = fs::read_dir(coverage.path()).unwrap().collect();
    assert_eq!(files.len(), 1);
    let text = fs::read_to_string(files[0].as_ref().unwrap().path()).unwrap();
    let reached: Vec<usize> = text.lines().map(|line| line.parse().unwrap()).collect();
    let all: Vec<usize> = (1..=order.len()).collect();
    assert_eq!(reached, all, "probe calls every function");
}
