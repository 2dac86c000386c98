use super::*;

fn read(line: &str) -> Result<Request, Refusal> {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["m.nii.gz", "f.nii", "a.mat", "bbr.sch"] {
        std::fs::write(folder.path().join(name), b"x").expect("it is written");
    }
    let line = line.replace("DIR", &folder.path().display().to_string());
    Request::read(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
}

fn options(rest: &str) -> Options {
    match read(&format!("-in DIR/m -ref DIR/f {rest}")).expect("it is served").task {
        Task::Register(options) => options,
        other => panic!("another task: {other:?}"),
    }
}

#[test]
fn lines_of_nipype_are_read() {
    let request = read("-in DIR/m.nii.gz -ref DIR/f.nii -out o.nii -omat o.mat -bins 640 -searchcost mutualinfo");
    let request = request.expect("it is served");
    assert_eq!((request.out, request.omat), (Some("o.nii.gz".into()), Some("o.mat".into())));
    assert!(matches!(&request.task, Task::Register(options) if options.cost == Cost::MutualInformation));
    assert_eq!(request.replaced.len(), 1, "{:?}", request.replaced);
    let request = read("-in DIR/m -ref DIR/f -applyxfm -init DIR/a.mat -out o").expect("it is served");
    assert!(matches!((request.task, request.origin), (Task::Apply, Origin::Matrix(_))));
    let request = read("-in DIR/m -ref DIR/f -applyisoxfm 4.000000 -usesqform -out o -interp spline");
    assert!(request.is_ok_and(|request| request.task == Task::ApplyIsotropic(4.0)));
}

#[test]
fn the_search_is_that_of_the_options() {
    let defaults = options("-dof 6 -cost normmi");
    assert_eq!((defaults.dof, defaults.cost), (Dof::Rigid6, Cost::NormalisedMutualInformation));
    assert_eq!(options("-nosearch").search, Search::None);
    assert_eq!(options("-searchrx 0 0 -searchry 0 0 -searchrz 0 0").search, Search::None);
    let Search::Angles(angles) = options("-searchrx -30 30 -coarsesearch 45").search else { panic!("no search") };
    assert_eq!((angles.range_degrees, angles.coarse_step_degrees), ([30.0, 90.0, 90.0], 45.0));
    assert!(!angles.principal_axes);
}

#[test]
fn every_option_that_nipype_writes_is_known() {
    for option in [
        "-displayinit",
        "-anglerep euler",
        "-interp sinc",
        "-sincwidth 7",
        "-sincwindow blackman",
        "-sincwindow hanning",
        "-bins 640",
        "-dof 7",
        "-noresample",
        "-forcescaling",
        "-minsampling 4.000000",
        "-paddingsize 3",
        "-searchrx -20 20",
        "-searchry -20 20",
        "-searchrz -20 20",
        "-nosearch",
        "-coarsesearch 45",
        "-finesearch 15",
        "-noclamp",
        "-noresampblur",
        "-2D",
        "-verbose 1",
        "-setbackground 0.000000",
        "-refweight DIR/f",
        "-inweight DIR/m",
        "-usesqform",
        "-datatype double",
        "-searchcost leastsq",
        "-basescale 1.000000",
        "-init DIR/a.mat",
        "-wmseg DIR/f",
        "-bbrtype signed",
        "-bbrslope -0.5",
    ] {
        let read = read(&format!("-in DIR/m -ref DIR/f {option}"));
        assert!(read.is_ok(), "{option}: {}", read.expect_err("it is refused"));
    }
    for option in [
        "-schedule DIR/a.mat",
        "-searchcost labeldiff",
        "-wmcoords w",
        "-wmnorms w",
        "-fieldmap f",
        "-fieldmapmask f",
        "-pedir 1",
        "-echospacing 0.1",
    ] {
        let refusal = read(&format!("-in DIR/m -ref DIR/f {option}")).expect_err(option);
        assert!(refusal.instead.is_some() && !refusal.why.contains("no such option"), "{option}: {refusal}");
    }
}

#[test]
fn a_boundary_starts_from_a_matrix_or_follows_a_search() {
    let line = "-cost bbr -wmseg DIR/f -dof 6 -schedule DIR/bbr.sch -basescale 1.000000";
    let searched = options(line);
    assert_eq!((searched.dof, searched.cost), (Dof::Rigid6, Cost::NormalisedMutualInformation));
    assert_eq!(searched.boundary, Some(Boundary::default()));
    let given = options(&format!("{line} -init DIR/a.mat -bbrtype local_abs -bbrslope 0.3"));
    let expected = Boundary { kind: BoundaryKind::Unsigned, slope: 0.3, from_start: true, ..Boundary::default() };
    assert_eq!(given.boundary, Some(expected));
    assert_eq!(options("-searchcost bbr -cost corratio -wmseg DIR/f").cost, Cost::CorrelationRatio);
    let missing = read("-in DIR/m -ref DIR/f -cost bbr").expect_err("no white matter");
    assert_eq!(missing.option, "-wmseg");
    assert_eq!(options("-schedule /fsl/etc/flirtsch/sch3D_3dof.sch").dof, Dof::Translation3);
    assert!(read("-in DIR/m -ref DIR/f -2D -schedule sch2D_3dof.sch").is_ok_and(|request| request.planar));
    let alone = read("-in DIR/m -ref DIR/f -schedule DIR/bbr.sch").expect_err("no boundary");
    assert!(alone.option.starts_with("-schedule"), "{alone}");
}

#[test]
fn what_is_not_served_is_refused_by_name() {
    for rest in [
        "-schedule s.sch",
        "-schedule DIR/a.mat",
        "-wmseg w.nii",
        "-bbrtype other -cost bbr",
        "-bbrslope 0",
        "-dof 5",
        "-interp cubic",
        "-nosuch",
        "-applyisoxfm 0",
        "-datatype long",
        "-applyxfm",
        "-out",
    ] {
        let refusal = read(&format!("-in DIR/m -ref DIR/f {rest}")).expect_err(rest);
        let first = rest.split(' ').next().unwrap_or_default();
        assert!(refusal.option.starts_with(first) || refusal.option == "-out", "{rest}: {refusal}");
    }
    for line in ["-in DIR/m -out o", "-ref DIR/f -out o", "-in DIR/nosuch -ref DIR/f"] {
        assert!(read(line).is_err(), "{line}");
    }
}
