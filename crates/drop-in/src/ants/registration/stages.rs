//! Reads the flags of `antsRegistration` that belong to a stage: transform, metrics, convergence, shrink factors,
//! sigmas.

use antsreg_console::Refusal;
use antsreg_register::linear::Dof;
use antsreg_register::syn::Mesh;

use super::request::{LevelRequest, MetricKind, MetricRequest, StageRequest, TransformRequest};
use crate::ants::words::{Given, Value};

/// Names of the flags that belong to a stage.
const OF_STAGE: [&str; 5] = ["transform", "metric", "convergence", "smoothing-sigmas", "shrink-factors"];

/// The command-line flags of one registration stage, with their values.
#[derive(Debug, Default)]
struct Group<'a> {
    transform: Option<&'a Value>,
    metrics: Vec<&'a Value>,
    convergence: Option<&'a Value>,
    sigmas: Option<&'a Value>,
    shrinks: Option<&'a Value>,
    /// Names of the flags of this stage that were read so far, in order.
    seen: Vec<&'static str>,
}

/// Reads all stages. A flag that occurs a second time begins the next stage; several metrics in a row belong to one
/// stage.
///
/// # Errors
/// A stage without a required flag; values that are not understood or not supported.
pub fn read(given: &[Given], slices: bool) -> Result<Vec<StageRequest>, Refusal> {
    let mut groups: Vec<Group> = Vec::new();
    for (flag, value) in given.iter().flat_map(|given| given.values.iter().map(move |value| (given.flag, value))) {
        if !OF_STAGE.contains(&flag) {
            continue;
        }
        let goes_on = groups.last().is_some_and(|group| {
            !group.seen.contains(&flag) || flag == "metric" && group.seen.last() == Some(&"metric")
        });
        if !goes_on {
            groups.push(Group::default());
        }
        let Some(group) = groups.last_mut() else { continue };
        group.seen.push(flag);
        match flag {
            "transform" => group.transform = Some(value),
            "metric" => group.metrics.push(value),
            "convergence" => group.convergence = Some(value),
            "smoothing-sigmas" => group.sigmas = Some(value),
            _ => group.shrinks = Some(value),
        }
    }
    if groups.is_empty() {
        return Err(Refusal::new("--transform", "this option is missing; expected at least one stage"));
    }
    let restrictions: Vec<&Value> =
        given.iter().filter(|given| given.flag == "restrict-deformation").flat_map(|given| &given.values).collect();
    let stages = groups.iter().enumerate().map(|(n, group)| stage(group, restrictions.get(n).copied(), slices));
    stages.collect()
}

fn stage(group: &Group, restrict: Option<&Value>, slices: bool) -> Result<StageRequest, Refusal> {
    let name = |value: Option<&Value>| value.map_or("a stage".into(), |value| format!("the stage {}", value.text));
    let stage_name = name(group.transform.or(group.metrics.first().copied()));
    let missing = |flag: &str| Refusal::new(format!("--{flag}"), format!("this option is missing for {stage_name}"));
    let typed = group.transform.ok_or_else(|| missing("transform"))?;
    if group.metrics.is_empty() {
        return Err(missing("metric"));
    }
    let (iterations, threshold, window) = convergence(group.convergence.ok_or_else(|| missing("convergence"))?)?;
    let shrinks = group.shrinks.ok_or_else(|| missing("shrink-factors"))?;
    let sigmas = group.sigmas.ok_or_else(|| missing("smoothing-sigmas"))?;
    let factors: Vec<usize> = list("shrink-factors", &shrinks.text, "expected whole numbers such as 8x4x2x1")?;
    if factors.contains(&0) {
        return Err(Refusal::new(format!("--shrink-factors {}", shrinks.text), "expected factors of 1 or more"));
    }
    let (numbers, sigmas_in_mm) = match (sigmas.text.strip_suffix("vox"), sigmas.text.strip_suffix("mm")) {
        (Some(numbers), _) => (numbers, false),
        (None, Some(numbers)) => (numbers, true),
        (None, None) => (sigmas.text.as_str(), false),
    };
    let sigmas: Vec<f64> = list("smoothing-sigmas", numbers, "expected numbers such as 3x2x1x0vox or 4x2x0mm")?;
    if iterations.len() != factors.len() || iterations.len() != sigmas.len() {
        let (a, b, c) = (iterations.len(), factors.len(), sigmas.len());
        let why = format!(
            "{stage_name} has {a} levels by --convergence, {b} by --shrink-factors, {c} by --smoothing-sigmas"
        );
        return Err(Refusal::new("--convergence", why).instead("give all three flags the same number of levels"));
    }
    let levels = iterations.into_iter().zip(factors).zip(sigmas);
    let metrics = group.metrics.iter().map(|value| metric(value));
    Ok(StageRequest {
        text: typed.text.clone(),
        transform: transform(typed)?,
        metrics: metrics.collect::<Result<_, _>>()?,
        levels: levels.map(|((iterations, shrink), sigma)| LevelRequest { iterations, shrink, sigma }).collect(),
        sigmas_in_mm,
        threshold,
        window,
        restrict: restrict.map(|value| restriction(value, typed, slices)).transpose()?.flatten(),
    })
}

fn transform(value: &Value) -> Result<TransformRequest, Refusal> {
    let option = || format!("--transform {}", value.text);
    let number = |place: usize, default: f64| match value.parameter(place) {
        None => Ok(default),
        Some(text) => {
            text.parse::<f64>().map_err(|_| Refusal::new(option(), format!("expected a number, found `{text}`")))
        }
    };
    let linear = |dof| Ok(TransformRequest::Linear(dof));
    match value.name.to_ascii_lowercase().as_str() {
        "translation" => linear(Dof::Translation3),
        "rigid" => linear(Dof::Rigid6),
        "similarity" => linear(Dof::Similarity7),
        "affine" | "compositeaffine" | "compaff" => linear(Dof::Affine12),
        "syn" | "symmetricnormalization" => Ok(TransformRequest::Syn {
            step: number(0, 0.25)?,
            update_variance: number(1, 3.0)?,
            total_variance: number(2, 0.0)?,
            meshes: [None; 2],
        }),
        "bsplinesyn" => {
            if number(3, 3.0)? != 3.0 {
                return Err(Refusal::new(option(), "splines of other orders than 3 are not supported"));
            }
            let meshes = [mesh(value, 1)?, mesh(value, 2)?];
            Ok(TransformRequest::Syn { step: number(0, 0.25)?, update_variance: 0.0, total_variance: 0.0, meshes })
        }
        "bspline"
        | "ffd"
        | "gaussiandisplacementfield"
        | "gdf"
        | "bsplinedisplacementfield"
        | "dmffd"
        | "timevaryingvelocityfield"
        | "tvf"
        | "timevaryingbsplinevelocityfield"
        | "tvdmffd"
        | "exponential"
        | "bsplineexponential" => Err(Refusal::new(option(), "this transform is not supported")),
        _ => Err(Refusal::new(option(), "expected Translation, Rigid, Similarity, Affine, SyN or BSplineSyN")),
    }
}

/// Reads a mesh of BSplineSyN: a distance between knots, mm, or numbers of elements such as `7x8x7`. `None` if there is
/// none, or if it is 0.
fn mesh(value: &Value, place: usize) -> Result<Option<Mesh>, Refusal> {
    let Some(text) = value.parameter(place) else { return Ok(None) };
    let refuse = || {
        let expected = "expected a distance between knots, mm, or numbers of mesh elements such as 7x8x7";
        Refusal::new(format!("--transform {}", value.text), format!("{expected}, found `{text}`"))
    };
    if !text.contains('x') {
        let mm: f64 = text.parse().map_err(|_| refuse())?;
        return Ok((mm != 0.0).then_some(Mesh::KnotsMm(mm)));
    }
    let elements: Vec<usize> =
        text.split('x').map(|n| n.trim().parse()).collect::<Result<_, _>>().map_err(|_| refuse())?;
    match elements[..] {
        _ if elements.iter().all(|n| *n == 0) => Ok(None),
        [x, y, z] => Ok(Some(Mesh::Elements([x, y, z]))),
        [x, y] => Ok(Some(Mesh::Elements([x, y, 1]))),
        _ => Err(refuse()),
    }
}

fn metric(value: &Value) -> Result<MetricRequest, Refusal> {
    let option = || format!("--metric {}", value.text);
    let refuse = |why: String| Refusal::new(option(), why);
    let kind = match value.name.to_ascii_lowercase().as_str() {
        "cc" => MetricKind::Cc,
        "mattes" | "mi" | "mi2" => MetricKind::Mattes,
        "gc" => MetricKind::Gc,
        "meansquares" | "msq" | "ssd" => MetricKind::MeanSquares,
        "demons" => MetricKind::Demons,
        "icp" | "pse" | "jhct" | "igdm" => return Err(refuse("metrics of point sets are not supported".into())),
        _ => return Err(refuse("expected CC, MI, Mattes, GC, MeanSquares or Demons".into())),
    };
    let image = |place: usize, which: &str| {
        value
            .parameter(place)
            .map(Into::into)
            .ok_or_else(|| refuse(format!("expected the {which} image in the brackets of the metric")))
    };
    let images = [image(0, "fixed")?, image(1, "moving")?];
    let number = |place: usize, what: &str| {
        let Some(text) = value.parameter(place) else { return Ok(None) };
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
        number.map(Some).ok_or_else(|| refuse(format!("expected {what} from 0, found `{text}`")))
    };
    let size = match kind {
        MetricKind::Cc => number(3, "a radius")?,
        MetricKind::Mattes => number(3, "a number of bins")?,
        // The metrics GC, MeanSquares and Demons have no radius and no bins. ANTs ignores the fourth parameter of these
        // metrics, and command lines contain any text there.
        MetricKind::Gc | MetricKind::MeanSquares | MetricKind::Demons => None,
    };
    if let Some(strategy) = value.parameter(4)
        && !["none", "regular", "random", "dense"].contains(&strategy.to_ascii_lowercase().as_str())
    {
        return Err(refuse(format!("expected the sampling None, Regular or Random, found `{strategy}`")));
    }
    Ok(MetricRequest {
        kind,
        images,
        weight: number(2, "a weight")?.unwrap_or(1.0),
        size: size.map(|size| size as usize),
    })
}

/// Reads the value of `--convergence`: iterations of each level, convergence threshold, and window of the convergence
/// test in iterations.
fn convergence(value: &Value) -> Result<(Vec<usize>, f64, usize), Refusal> {
    let option = || format!("--convergence {}", value.text);
    let iterations = value.parameter(0).unwrap_or(&value.name);
    let iterations = list("convergence", iterations, "expected whole numbers such as 100x70x50x20")?;
    let threshold = match value.parameter(1) {
        None => 1e-6,
        Some(text) => {
            text.parse().map_err(|_| Refusal::new(option(), format!("expected a number, found `{text}`")))?
        }
    };
    let window = match value.parameter(2) {
        None => 10,
        Some(text) => {
            let why = format!("expected a whole number of iterations as the convergence window, found `{text}`");
            text.parse().map_err(|_| Refusal::new(option(), why))?
        }
    };
    Ok((iterations, threshold, window))
}

/// Reads a list of numbers separated by `x`, such as `4x2x1`, from the value of a flag.
fn list<T: std::str::FromStr>(flag: &str, text: &str, expected: &str) -> Result<Vec<T>, Refusal> {
    let refuse = |_| Refusal::new(format!("--{flag} {text}"), expected);
    text.split('x').map(|part| part.trim().parse().map_err(refuse)).collect()
}

/// Reads the weights of `--restrict-deformation` for a stage; `None` if all weights are 1.
fn restriction(value: &Value, transform: &Value, slices: bool) -> Result<Option<Vec<f64>>, Refusal> {
    let weights: Vec<f64> = list("restrict-deformation", &value.text, "expected numbers such as 1x1x0")?;
    if weights.iter().all(|weight| *weight == 1.0) {
        return Ok(None);
    }
    let option = format!("--restrict-deformation {}", value.text);
    let axes = if slices { 2 } else { 3 };
    match self::transform(transform)? {
        TransformRequest::Syn { .. } if weights.len() == axes => Ok(Some(weights)),
        TransformRequest::Syn { .. } => Err(Refusal::new(option, format!("expected {axes} numbers"))),
        // ANTs takes weights of a linear transform only if there are as many as the transform has parameters.
        TransformRequest::Linear(dof) if weights.len() != usize::from(dof.number(slices)) => Ok(None),
        TransformRequest::Linear(_) => {
            let why = format!("weights for the parameters of {} are not supported", transform.text);
            Err(Refusal::new(option, why).instead("give weights other than 1 only to SyN stages"))
        }
    }
}

#[cfg(test)]
mod tests;
