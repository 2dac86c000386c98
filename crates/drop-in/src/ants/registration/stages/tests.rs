use super::*;
use crate::ants::registration::flags::FLAGS;
use crate::ants::words::parse;

fn stages(line: &str) -> Result<Vec<StageRequest>, Refusal> {
    let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    read(&parse(&arguments, FLAGS)?, false)
}

const LEVELS: &str = "-c [10x5,1e-6,10] -f 2x1 -s 1x0vox";

#[test]
fn metrics_come_before_or_after_their_transform() {
    let metric = "-m CC[f.nii,m.nii,1,4]";
    let before = stages(&format!("{metric} -t Rigid[0.1] {LEVELS} {metric} -t SyN[0.1] {LEVELS}"));
    let after = stages(&format!("-t Rigid[0.1] {metric} {LEVELS} -t SyN[0.1] {metric} {LEVELS}"));
    assert_eq!(before, after);
    let found = after.expect("two stages");
    assert_eq!(found.iter().map(StageRequest::is_linear).collect::<Vec<_>>(), [true, false]);
    assert_eq!(
        found[1].transform,
        TransformRequest::Syn { step: 0.1, update_variance: 3.0, total_variance: 0.0, meshes: [None; 2] }
    );
}

#[test]
fn meshes_are_knots_in_mm_or_elements() {
    let meshes = |typed: &str| {
        let found =
            stages(&format!("-t BSplineSyN[0.1,{typed}] -m CC[f.nii,m.nii,1,4] {LEVELS}")).expect("one stage");
        match found[0].transform {
            TransformRequest::Syn { step: 0.1, update_variance: 0.0, total_variance: 0.0, meshes } => meshes,
            other => unreachable!("{other:?}"),
        }
    };
    assert_eq!(meshes("26,0,3"), [Some(Mesh::KnotsMm(26.0)), None]);
    assert_eq!(meshes("7x8x6,40"), [Some(Mesh::Elements([7, 8, 6])), Some(Mesh::KnotsMm(40.0))]);
    assert_eq!(meshes("7x8,0x0"), [Some(Mesh::Elements([7, 8, 1])), None]);
}

#[test]
fn several_metrics_in_a_row_are_of_one_stage() {
    let line = format!("-t SyN[0.2,3,0] -m CC[f.nii,m.nii,0.7,2] -m mi[f2.nii,m2.nii,0.3,32,Regular,0.25] {LEVELS}");
    let found = stages(&line).expect("one stage");
    assert_eq!(found.len(), 1);
    let metrics: Vec<_> = found[0].metrics.iter().map(|metric| (metric.kind, metric.weight, metric.size)).collect();
    assert_eq!(metrics, [(MetricKind::Cc, 0.7, Some(2)), (MetricKind::Mattes, 0.3, Some(32))]);
}

#[test]
fn levels_thresholds_and_units_are_those_typed() {
    let found = stages("-t SyN[0.1] -m CC[f,m,1,4] -c [100x0,-0.01,5] -f 8x1 -s 4x0mm").expect("one stage");
    assert_eq!((found[0].threshold, found[0].window, found[0].sigmas_in_mm), (-0.01, 5, true));
    let expected = [(100, 8, 4.0), (0, 1, 0.0)];
    assert_eq!(found[0].levels.iter().map(|l| (l.iterations, l.shrink, l.sigma)).collect::<Vec<_>>(), expected);
    assert!(found[0].runs());
    let plain = stages("-t Rigid[0.1] -m GC[f,m] -c 0 -f 1 -s 0").expect("one stage");
    assert_eq!((plain[0].threshold, plain[0].window, plain[0].sigmas_in_mm), (1e-6, 10, false));
    assert!(!plain[0].runs());
}

#[test]
fn what_is_missing_or_not_served_is_named() {
    let metric = "-m CC[f,m,1,4]";
    let cases = [
        (format!("-t BSplineSyN[0.1,26,0,2] {metric} {LEVELS}"), "splines of other orders than 3"),
        (format!("-t BSplineSyN[0.1,7x8,b] {metric} {LEVELS}"), "expected a distance between knots, mm"),
        (format!("-t Exponential[0.1] {metric} {LEVELS}"), "--transform Exponential[0.1]"),
        (format!("-t Warp[0.1] {metric} {LEVELS}"), "expected Translation, Rigid"),
        (format!("-t SyN[0.1] {LEVELS}"), "--metric: this option is missing for the stage SyN[0.1]"),
        (format!("{metric} {LEVELS}"), "--transform: this option is missing"),
        (format!("-t SyN[0.1] {metric} -f 1 -s 0"), "--convergence: this option is missing"),
        (format!("-t SyN[0.1] {metric} -c 10 -f 2x1 -s 1x0"), "1 levels by --convergence, 2 by --shrink-factors"),
        (format!("-t SyN[0.1] {metric} -c 10 -f 0 -s 0"), "--shrink-factors 0"),
        (format!("-t SyN[0.1] -m PSE[f,m,1] {LEVELS}"), "point sets"),
        (format!("-t SyN[0.1] -m CC[f] {LEVELS}"), "expected the moving image"),
        (format!("-t Rigid[0.1] {metric} {LEVELS} -g 0x1x1x1x1x1"), "weights for the parameters of Rigid[0.1]"),
        (format!("-t SyN[0.1] {metric} {LEVELS} -g 0x1"), "expected 3 numbers"),
    ];
    for (line, expected) in cases {
        let refusal = stages(&line).expect_err(&line).to_string();
        assert!(refusal.contains(expected), "`{expected}` is missing in: {refusal}");
    }
}
