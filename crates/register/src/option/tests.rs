use super::*;

fn applied(model: Model, given: &[(&str, &str)]) -> Result<Recipe, OptionError> {
    let mut recipe = Recipe { model, ..Recipe::new(Preset::Default) };
    let given: Vec<_> = given.iter().map(|(name, value)| (find(name).expect(name), value.to_string())).collect();
    apply(&mut recipe, &given)?;
    check_metrics(&recipe, &given)?;
    Ok(recipe)
}

fn refused(model: Model, given: &[(&str, &str)]) -> String {
    match applied(model, given) {
        Err(OptionError::Value { option, expected, found }) => {
            format!("{option}: expected {expected}, found {found}")
        }
        Err(error) => error.to_string(),
        Ok(_) => "nothing is refused".into(),
    }
}

#[test]
fn an_option_is_shown_as_it_is_set() {
    let given = [
        ("dof", "7"),
        ("search_degrees", "30,40,180"),
        ("coarse-step-degrees", "50"),
        ("fine-step-degrees", "17.5"),
        ("no-principal-axes", ""),
        ("optimiser", "powell"),
        ("cost", "bbr"),
        ("histogram", "trilinear"),
        ("bins", "64"),
        ("finest-mm", "2"),
        ("robust-range", "0.01,0.9"),
        ("bbr-type", "absolute"),
        ("bbr-slope", "0.5"),
        ("bbr-offset", "-1"),
        ("bbr-distance", "1.5"),
        ("shrink-factors", "3x2"),
        ("smoothing-sigmas", "1.5x0"),
        ("iterations", "7x0"),
        ("gradient-step", "0.25"),
        ("update-variance", "1"),
        ("total-variance", "0.5"),
        ("metric", "cc"),
        ("cc-radius", "4"),
        ("cc-derivative", "centre"),
        ("cc-kernel", "textures"),
        ("convergence-window", "5"),
        ("convergence-threshold", "0.00001"),
        ("reinvert-every", "2x3"),
        ("noise", "0.1"),
        ("edge-weight", "0.5"),
        ("boundary-contrast", "0"),
        ("inverse-limit", "0.3"),
        ("winsorise", "none"),
        ("restrict-deformation", "0x1x0.5"),
        ("exact", ""),
    ];
    let recipe = applied(Model::Syn, &given).expect("taken");
    let options = Recipe { dof: Some(7), ..recipe }.options([60; 3]).expect("they agree");
    let shown: Vec<_> = options.stages.iter().flat_map(|stage| shown(stage, false)).collect();
    let expected = given.map(|(name, value)| (find(name).expect(name).long, value.to_owned()));
    assert_eq!(shown, expected);
}

#[test]
fn a_mesh_is_shown_in_the_place_of_a_variance() {
    let recipe = applied(Model::Syn, &[("update_mesh", "26.5"), ("total-mesh", "7x8x6")]).expect("taken");
    let options = recipe.options([60; 3]).expect("they agree");
    let shown: Vec<_> = options.stages.iter().flat_map(|stage| shown(stage, false)).collect();
    let of = |name: &str| shown.iter().find(|(long, _)| long.ends_with(name)).map(|(_, value)| value.as_str());
    assert_eq!([of("update-mesh"), of("total-mesh")], [Some("26.5"), Some("7x8x6")]);
    assert_eq!([of("update-variance"), of("total-variance")], [None; 2]);
}

#[test]
fn an_option_takes_its_default() {
    for option in all().iter().filter(|option| !option.is_flag()) {
        let mut recipe = Recipe { dof: Some(6), ..Recipe::new(Preset::Default) };
        recipe.linear.boundary = (option.section == Section::Boundary).then(Boundary::default);
        let (usual, value) = (recipe.clone(), option.get(&recipe).expect("a value"));
        assert_eq!(option.set(&mut recipe, &value), Ok(()), "{option:?} {value}");
        assert_eq!((recipe.linear, recipe.syn), (usual.linear, usual.syn), "{option:?} {value}");
    }
}

#[test]
fn ranges_are_those_of_the_stages() {
    for (name, value, expected) in [
        ("gradient-step", "10.5", "a number above 0, at most 10"),
        ("gradient-step", "nan", "a number above 0"),
        ("update-variance", "-1", "a number from 0 to 10000"),
        ("cc-radius", "33", "a whole number from 1 to 32"),
        ("cc-radius", "1.5", "a whole number"),
        ("metric-bins", "7", "a whole number from 8 to 256"),
        ("convergence-window", "1", "a whole number from 2"),
        ("shrink-factors", "8x0", "whole numbers from 1, one per level, such as 8x4x2x1"),
        ("shrink-factors", "8,4", "whole numbers from 1"),
        ("smoothing-sigmas", "3x-1", "numbers from 0 to 100"),
        ("search-degrees", "10,20", "one angle or three from 0 to 180"),
        ("search-degrees", "200", "one angle or three from 0 to 180"),
        ("coarse-step-degrees", "0", "a number from 1 to 180"),
        ("finest-mm", "3", "8, 4, 2 or 1"),
        ("dof", "8", "3, 6, 7, 9 or 12 for volumes, 2, 3, 4, 5 or 6 for slices"),
        ("robust-range", "0.9,0.1", "two shares of the voxels from 0 to 1"),
        ("winsorise", "0.9,0.1", "two shares of the voxels from 0 to 1"),
        (
            "update-mesh",
            "0.05",
            "a number from 0.1 to 10000, such as 26, three whole numbers from 1 to 4096, such as 7x8x7, or none",
        ),
        ("total-mesh", "7x8", "a number from 0.1"),
        ("total-mesh", "7x0x8", "a number from 0.1"),
        ("restrict-deformation", "0x0x0", "three numbers from 0 to 1000, not all 0"),
        ("restrict-deformation", "nanx1x1", "three numbers"),
        ("bbr-slope", "inf", "a number that is finite"),
        ("metric", "ncc", "cc, mattes"),
        ("exact", "maybe", "true or false"),
    ] {
        let found = refused(Model::Syn, &[(name, value)]);
        assert!(found.contains(&format!("--{name}: expected {expected}")) && found.ends_with(value), "{found}");
    }
    let taken =
        applied(Model::Syn, &[("smoothing-sigmas", "3x2x1x0vox"), ("search-degrees", "90"), ("metric", "MI")]);
    let taken = taken.expect("as ANTs writes them");
    assert_eq!(taken.schedule.smoothing_sigmas, Some(vec![3.0, 2.0, 1.0, 0.0]));
    assert_eq!(taken.search_degrees, Some([90.0; 3]));
}

#[test]
fn what_has_no_effect_is_refused() {
    for (model, given, expected) in [
        (Model::Rigid, &[("cc-radius", "3")][..], "--cc-radius has no effect with --transform rigid"),
        (Model::Rigid, &[("dof", "6")], "--dof has no effect with --transform rigid"),
        (Model::SynOnly, &[("cost", "nmi")], "--cost has no effect with --transform syn-only"),
        (
            Model::Syn,
            &[("update-variance", "1"), ("update-mesh", "26")],
            "--update-variance has no effect with --update-mesh 26",
        ),
        (
            Model::Syn,
            &[("total-mesh", "7x8x6"), ("total-variance", "1")],
            "--total-variance has no effect with --total-mesh 7x8x6",
        ),
        (Model::Syn, &[("cost", "ncc"), ("bins", "64")], "--bins has no effect with --cost ncc"),
        (Model::Syn, &[("bbr-slope", "1"), ("cost", "nmi")], "--bbr-slope has no effect with --cost nmi"),
        (
            Model::Syn,
            &[("no-search", ""), ("search-degrees", "9")],
            "--search-degrees has no effect with --no-search",
        ),
        (Model::Syn, &[("metric", "mattes"), ("noise", "0.1")], "--noise has no effect with --metric mattes"),
        (Model::Syn, &[("metric-bins", "64")], "--metric-bins has no effect with --metric cc"),
    ] {
        assert_eq!(refused(model, given), expected);
    }
}

#[test]
fn values_have_types_in_other_languages() {
    for (name, value, expected) in [
        ("cc_radius", Typed::Number(4.0), "4"),
        ("convergence_threshold", Typed::Number(1e-6), "0.000001"),
        ("smoothing_sigmas", Typed::Numbers(vec![1.5, 0.0]), "1.5x0"),
        ("winsorise", Typed::Numbers(vec![0.01, 0.99]), "0.01,0.99"),
        ("cost", Typed::Text("nmi".into()), "nmi"),
        ("exact", Typed::Flag(true), "true"),
    ] {
        assert_eq!(
            named(name, &value).map(|(option, text)| (option.long, text)),
            Ok((find(name).expect(name).long, expected.into()))
        );
    }
    let error = named("cc_radius", &Typed::Number(1.5)).map(|(_, text)| text);
    assert!(matches!(error, Err(OptionError::Value { option: "--cc-radius", .. })), "{error:?}");
    let unknown = named("radios", &Typed::Number(4.0)).map(|(_, text)| text);
    assert_eq!(unknown, Err(OptionError::Unknown { name: "radios".into() }));
}

#[test]
fn help_names_presets_that_differ() {
    let text = help("Iterations", |preset| if preset == Preset::Fast { "5".into() } else { "9".into() });
    assert_eq!(text, "Iterations [default: 9; fast: 5]");
    let slope = find("bbr_slope").expect("an option").help();
    assert!(slope.ends_with("[default: -0.05]"), "{slope}");
}
