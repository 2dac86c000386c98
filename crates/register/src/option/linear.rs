//! The options of the linear stage.

use antsreg_linear::{AngleSearch, Boundary, Cost, Dof, Options, Search};
use clap::ValueEnum;
use clap::builder::PossibleValue;

use super::value::{Kind, Number, Range, joined};
use super::{Opt, Section, name, searches};
use crate::{Model, Recipe};

/// Name of boundary-based registration among the costs. A search that minimises normalised mutual information finds its
/// initial transform.
const BOUNDARY: &str = "bbr";

/// The options of the linear stage, then those of boundary-based registration, in the order of help texts.
#[rustfmt::skip]
pub(super) fn options() -> Vec<Opt> {
    let of_search = |option: Opt| option.needing("--no-search", searches);
    let linear = [
        dof(),
        of_search(search_degrees()),
        of_search(Opt::number("--coarse-step-degrees DEGREES", AngleSearch::STEP_DEGREES, |recipe| Some(&mut angles(recipe)?.coarse_step_degrees),
            "Coarse step of the searched angles: translation and scale are optimised at each angle")),
        of_search(Opt::number("--fine-step-degrees DEGREES", AngleSearch::STEP_DEGREES, |recipe| Some(&mut angles(recipe)?.fine_step_degrees),
            "Fine step of the searched angles: the cost alone is evaluated at each angle")),
        of_search(Opt::flag("--no-principal-axes",
            |recipe| angles(recipe).into_iter().for_each(|angles| angles.principal_axes = false),
            |recipe| matches!(recipe.linear.search, Search::Angles(AngleSearch { principal_axes: false, .. })),
            "Do not try the four orientations that align the principal axes of both images")),
        Opt::flag("--no-search", |recipe| recipe.linear.search = Search::None, |recipe| !searches(recipe),
            "Only optimise the initial transform; no search over orientations"),
        Opt { alias: Some("optimizer"), ..Opt::choice("--optimiser HOW", |recipe| Some(&mut recipe.linear.optimiser),
            "Optimiser that minimises the cost from each start") },
        cost(),
        Opt::choice("--histogram HOW", |recipe| Some(&mut recipe.linear.histogram), "How the joint histogram of mi and nmi is filled")
            .needing("--cost", |recipe| recipe.linear.cost.has_joint_histogram()),
        bins(),
        finest_mm(),
        robust_range(),
    ];
    let boundary = [
        Opt::choice("--bbr-type KIND", |recipe| Some(&mut boundary(recipe)?.kind),
            "Which side of the border of the white matter is brighter"),
        Opt::number("--bbr-slope NUMBER", Range::FINITE, |recipe| Some(&mut boundary(recipe)?.slope),
            "Slope of the cost per % of contrast; negative where grey matter is brighter than white matter"),
        Opt::number("--bbr-offset PERCENT", Range::FINITE, |recipe| Some(&mut boundary(recipe)?.offset),
            "Contrast across the border that counts as neutral, neither as good nor as bad alignment, %"),
        Opt::number("--bbr-distance MM", Boundary::DISTANCE_MM, |recipe| Some(&mut boundary(recipe)?.distance_mm),
            "Distance of the sampled positions from the border, on both sides, mm"),
    ];
    let of_boundary = |option: Opt| option.of(Section::Boundary).needing("--cost", |recipe| recipe.linear.boundary.is_some());
    linear.map(|option| option.of(Section::Linear)).into_iter().chain(boundary.map(of_boundary)).collect()
}

fn angles(recipe: &mut Recipe) -> Option<&mut AngleSearch> {
    match &mut recipe.linear.search {
        Search::Angles(angles) => Some(angles),
        Search::None => None,
    }
}

fn boundary(recipe: &mut Recipe) -> Option<&mut Boundary> {
    recipe.linear.boundary.as_mut()
}

fn dof() -> Opt {
    let numbers = |slices| Dof::ALL.map(|dof| dof.number(slices));
    let listed = |slices| {
        let [first @ .., last] = numbers(slices);
        format!("{} or {last}", joined::<u8>(first, ", "))
    };
    let set = move |recipe: &mut Recipe, text: &str| {
        let number = text.parse().ok().filter(|n| numbers(false).contains(n) || numbers(true).contains(n))?;
        recipe.dof = Some(number);
        Some(())
    };
    let option = Opt::new(
        "--dof N",
        format!("{} for volumes, {} for slices", listed(false), listed(true)),
        "Degrees of freedom of the affine stage: 3 translation, 6 rigid, 7 rigid and one scale, 9 rigid and a scale per \
         axis, 12 affine; for slices 2, 3, 4, 5 and 6 [default: affine, or as the transform model says]",
        set,
        |recipe| Some(recipe.dof?.to_string()),
    );
    // Models without a deformable stage, such as rigid, fix the degrees of freedom.
    let option = option.needing("--transform", |recipe| recipe.model == Model::Syn);
    Opt { shows_default: false, kind: Kind::Whole, ..option }
}

fn search_degrees() -> Opt {
    let range = Range::from(AngleSearch::RANGE_DEGREES);
    let set = move |recipe: &mut Recipe, text: &str| {
        recipe.search_degrees = Some(match f64::read_list(text, ',', range)?[..] {
            [all] => [all; 3],
            [x, y, z] => [x, y, z],
            _ => return None,
        });
        Some(())
    };
    let get = |recipe: &mut Recipe| match angles(recipe)?.range_degrees {
        [x, y, z] if x == y && y == z => Some(x.to_string()),
        degrees => Some(joined(degrees, ",")),
    };
    Opt::new(
        "--search-degrees ANGLES",
        format!("one angle or three {range}, in degrees, such as 90 or 30,30,60"),
        "Range of the searched rotations: ± degrees about x,y,z, or one angle for all axes",
        set,
        get,
    )
}

fn cost() -> Opt {
    let bbr = PossibleValue::new(BOUNDARY).help(
        "Boundary-based registration, for instance of an EPI to a T1 image with --transform rigid: contrast across the border of \
         the fixed white matter (--white-matter, or found in a T1-weighted fixed image). Starts from the result of \
         nmi, or with --no-search from the initial transform. A result whose cost is not lower than that of the start is \
         refused",
    );
    let choices: Vec<PossibleValue> =
        Cost::value_variants().iter().filter_map(Cost::to_possible_value).chain([bbr]).collect();
    let set = |recipe: &mut Recipe, text: &str| {
        let is_boundary = text.eq_ignore_ascii_case(BOUNDARY);
        let cost = match is_boundary {
            true => Cost::NormalisedMutualInformation,
            false => Cost::from_str(text, true).ok()?,
        };
        recipe.linear = Options { boundary: None, ..recipe.linear.clone().with_cost(cost) };
        if is_boundary {
            recipe.linear.boundary = Some(Boundary { from_start: !searches(recipe), ..Boundary::default() });
        }
        Some(())
    };
    let get = |recipe: &mut Recipe| match recipe.linear.boundary {
        Some(_) => Some(BOUNDARY.to_owned()),
        None => Some(name(&recipe.linear.cost)),
    };
    let expected = joined(choices.iter().map(PossibleValue::get_name), ", ");
    Opt {
        choices,
        kind: Kind::Choice,
        ..Opt::new("--cost COST", expected, "Cost that the affine stage minimises", set, get)
    }
}

fn bins() -> Opt {
    let [ratio, joint] = [Cost::CorrelationRatio, Cost::MutualInformation].map(Cost::default_bins);
    let text = format!(
        "Number of intensity bins at 1 mm. A level of s mm uses N/s bins for cr, and N/√s for each image for mi and nmi \
         [default: {ratio} for cr, {joint} for mi and nmi]"
    );
    let option = Opt::number("--bins N", Options::BINS, |recipe| Some(&mut recipe.linear.bins), text);
    Opt { shows_default: false, ..option.needing("--cost", |recipe| recipe.linear.cost.has_bins()) }
}

fn finest_mm() -> Opt {
    let [first @ .., last] = Options::LEVELS_MM;
    let expected = format!("{} or {last}", joined(first, ", "));
    let text = format!("Finest level of the affine stage, mm: {expected}");
    let set = |recipe: &mut Recipe, text: &str| {
        recipe.linear.finest_mm = text.parse().ok().filter(|mm| Options::LEVELS_MM.contains(mm))?;
        Some(())
    };
    let option = Opt::new("--finest-mm MM", expected, text, set, |recipe| Some(recipe.linear.finest_mm.to_string()));
    Opt { kind: Kind::Number, ..option }
}

fn robust_range() -> Opt {
    let range = Range::from(Options::SHARES);
    let set = move |recipe: &mut Recipe, text: &str| {
        let shares: [f64; 2] = f64::read_list(text, ',', range)?.try_into().ok()?;
        recipe.linear.robust_shares = Some(shares).filter(|[low, high]| low < high)?;
        Some(())
    };
    Opt::new(
        "--robust-range LOW,HIGH",
        format!("two shares of the voxels {range}, the lower first, such as 0.02,0.98"),
        "Intensities are clipped to the two values below which these shares of the voxels lie",
        set,
        |recipe| Some(joined(recipe.linear.robust_shares, ",")),
    )
}
