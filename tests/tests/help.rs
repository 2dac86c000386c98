//! Tests of help texts, and of error messages for invalid command lines.

use antsreg_tests::Workplace;

/// All subcommands except `register`, whose help is tested separately.
const VERBS: [&str; 23] = [
    "motion",
    "batch",
    "normalise",
    "template",
    "template register-one",
    "template average",
    "template update",
    "template finish",
    "template verify",
    "apply",
    "bias",
    "brain",
    "labels",
    "longitudinal",
    "undistort",
    "overlap",
    "compare",
    "jacobian",
    "convert",
    "info",
    "completions",
    "as",
    "links",
];

#[test]
fn help_of_every_verb() {
    let place = Workplace::new();
    for verb in VERBS {
        let help = place.succeed(&format!("{verb} --help")).stdout;
        // The stored help text (snapshot) of a subcommand leaves out two groups of options: those of a registration,
        // which quote the numbers of the presets and are tested below, and common options, which are in the help of the
        // program.
        let own = help.split("\nRegistration:\n").next().and_then(|help| help.split("\nCommon options:\n").next());
        let examples = help.split_once("\nExamples:\n").map_or("", |(_, examples)| examples);
        insta::assert_snapshot!(
            format!("help_{}", verb.replace(' ', "_")),
            format!("{}\nExamples:\n{examples}", own.unwrap_or_default())
        );
    }
    insta::assert_snapshot!("help", place.succeed("--help").stdout);
}

#[test]
fn help_of_register_states_every_option() {
    let help = Workplace::new().succeed("register --help").stdout;
    let (files, parameters) = help.split_once("\nAffine stage:\n").expect("a heading");
    insta::assert_snapshot!("help_register", files);
    let options: Vec<&str> = parameters
        .lines()
        .map(str::trim_start)
        .filter(|line| line.starts_with("--") || line.starts_with('-'))
        .collect();
    insta::assert_snapshot!("help_register_parameters", options.join("\n"));
    // The help of `register` must show the default of every option.
    let parameters = parameters.split("Common options:").next().unwrap_or_default();
    let words: Vec<&str> = parameters.split_whitespace().collect();
    let with_value = options.iter().filter(|option| option.contains('<') && !option.contains("--log")).count() - 1;
    assert_eq!(words.join(" ").matches("[default: ").count(), with_value, "{parameters}");
}

#[test]
fn what_is_not_understood_exits_with_2_and_lists_what_would_be() {
    let place = Workplace::new();
    let refused = [
        "",
        "regster",
        "register",
        "register -f a.nii -m b.nii -o p --transform elastic",
        "register -f a.nii -m b.nii -o p --preset quick",
        "register -f a.nii -m b.nii -o p --device tpu",
        "register -f a.nii -m b.nii -o p --device cuda:first",
        "register -f a.nii -m b.nii -o p --profile --device cpu",
        "register -f a.nii -m b.nii -o p --shrink-factors 8,4,2",
        "register -f a.nii -m b.nii -o p --iterations 10xx5",
        "register -f a.nii -m b.nii -o p --cc-radius 0",
        "register -f a.nii -m b.nii -o p --gradient-step -1",
        "register -f a.nii -m b.nii -o p --dof 8",
        "register -f a.nii -m b.nii -o p --winsorise 0.9,0.1",
        "register -f a.nii -m b.nii -o p --threads 0",
        "register -f a.nii -m b.nii -o p --transform rigid --dof 12",
        "register -f a.nii -m b.nii -o p --transform affine --cc-radius 2",
        "register -f a.nii -m b.nii -o p --transform syn-only --bins 64",
        "register -f a.nii -m b.nii -o p --metric meansquares",
        "register -f a.nii -m b.nii -o p --metric-bins 4 --metric mattes",
        "register -f a.nii -m b.nii -o p --metric-bins 64",
        "register -f a.nii -m b.nii -o p --metric MI --cc-radius 2",
        "register -f a.nii -m b.nii -o p --transform affine --metric mi",
        "register -f a.nii -m b.nii -o p --transform rigid --channel c.nii,d.nii",
        "register -f a.nii -m b.nii -o p --channel c.nii",
        "register -f a.nii -m b.nii -o p --channel c.nii,d.nii,cc,0",
        "register -f a.nii -m b.nii -o p --channel c.nii,d.nii,ssd",
        "register -f a.nii -m b.nii -o p --fixed-labels l.nii",
        "register -f a.nii -m b.nii -o p --no-warped -n sinc",
        "register -f a.nii -m b.nii -o p --label-interpolation nearest",
        "apply -i a.nii -r b.nii -o c.nii -n generic-label --outside 5",
        "apply -i a.nii -r b.nii -o c.nii -n cubic",
        "apply -i a.nii -r b.nii -o c.nii -t [a.mat,2]",
        "apply -i a.nii -r b.nii",
        "apply --points a.csv -r b.nii -o c.csv",
        "apply -i a.nii -r b.nii -o c.nii --coordinates ras",
        "labels -l a.nii -o p",
        "labels -l a.nii -o p --apply a.mat --transform rigid",
        "convert a.mat",
        "completions tcsh",
    ];
    let messages = refused.map(|line| {
        let message = place.refuse(2, line);
        // The stored error messages (snapshot) leave out the usage and the list of subcommands, because the stored help
        // texts contain these.
        let message = message.split("\nUsage:").next().unwrap_or_default().trim_end().to_owned();
        format!("$ antsreg-gpu {line}\n{message}\n")
    });
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn completions_know_the_verbs() {
    let place = Workplace::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = place.succeed(&format!("completions {shell}")).stdout;
        for word in ["register", "--gradient-step", "syn-only"] {
            // The completions for the shell Fish list long options without their dashes.
            assert!(script.contains(word.trim_start_matches('-')), "{shell}: {word}");
        }
    }
}

#[test]
fn info_says_version_and_threads() {
    let run = Workplace::new().succeed("info --threads 3");
    assert!(run.stdout.starts_with(concat!("antsreg-gpu ", env!("CARGO_PKG_VERSION"), "\n")), "{}", run.stdout);
    assert!(run.stdout.contains("Threads  3 of "), "{}", run.stdout);
    assert!(run.stdout.contains("Devices  cpu\n"), "{}", run.stdout);
    assert!(run.stdout.contains("--device auto takes c"), "{}", run.stdout);
}

#[test]
fn the_guide_names_options_that_exist() {
    let place = Workplace::new();
    let help: String =
        VERBS.iter().chain(&["register"]).map(|verb| place.succeed(&format!("{verb} --help")).stdout).collect();
    let known: Vec<&str> = help.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').collect();
    let guide = include_str!("../../docs/usage.md");
    let (before, rest) = guide.split_once("| there | here |").expect("the table for users of ANTs and FSL");
    let (table, after) = rest.split_once("\n\n").expect("its end");
    // The table in docs/usage.md compares options of other programs (first column) with options of antsreg-gpu (second
    // column). Only the second column is checked.
    let here: String = table.lines().filter_map(|line| line.split('|').nth(2)).collect();
    let named: Vec<&str> = [before, &here, after]
        .into_iter()
        .flat_map(|text| text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-'))
        .filter(|word| word.starts_with("--") && word.len() > 2 && !word.starts_with("---"))
        .collect();
    assert!(named.len() > 20, "{named:?}");
    for option in named {
        assert!(known.contains(&option), "docs/usage.md names {option}, which no verb knows");
    }
}
