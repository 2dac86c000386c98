//! The options of the deformable stage.

use antsreg_syn::{Mesh, Metric, Options};

use super::Opt;
use super::value::{Number, Range, joined};
use crate::Recipe;

/// The options of the deformable stage, in the order of help texts.
#[rustfmt::skip]
pub(super) fn options() -> Vec<Opt> {
    let of_cc = |option: Opt| option.needing("--metric", |recipe| recipe.syn.uses(Metric::Cc));
    let of_mattes = |option: Opt| option.needing("--metric", |recipe| recipe.syn.uses(Metric::Mattes));
    vec![
        Opt::per_level("--shrink-factors AxB…", Options::SHRINK, "8x4x2x1", |given| &mut given.shrink_factors, |level| level.shrink,
            "Shrink factor of each level, coarse to fine"),
        Opt::per_level("--smoothing-sigmas AxB…", Options::SIGMA, "3x2x1x0", |given| &mut given.smoothing_sigmas, |level| level.sigma_voxels,
            "Smoothing of the images on each level: standard deviation, voxels of the full grid"),
        Opt::per_level("--iterations AxB…", 0.., "100x70x50x20", |given| &mut given.iterations, |level| level.iterations,
            "Largest number of iterations on each level"),
        Opt::number("--gradient-step VOXELS", Range::above_zero(Options::LONGEST_STEP), |recipe| Some(&mut recipe.syn.gradient_step),
            "Length of a step: the largest displacement that an iteration adds, voxels of the level"),
        mesh("--update-mesh MESH", |recipe| &mut recipe.syn.update_mesh,
            "B-splines that are fitted to each update instead of Gaussian smoothing, as in ANTs' BSplineSyN: distance between knots, mm, or \
            number of mesh elements along each axis. Each level has twice as many elements as the level before; or none"),
        mesh("--total-mesh MESH", |recipe| &mut recipe.syn.total_mesh,
            "B-splines that are fitted to the whole field after each update instead of Gaussian smoothing; or none"),
        Opt::number("--update-variance VOXELS²", Options::VARIANCE, |recipe| Some(&mut recipe.syn.update_variance),
            "Smoothing of each update: variance, voxels² of the level")
            .needing("--update-mesh", |recipe| recipe.syn.update_mesh.is_none()),
        Opt::number("--total-variance VOXELS²", Options::VARIANCE, |recipe| Some(&mut recipe.syn.total_variance),
            "Smoothing of the whole field after each update: variance, voxels² of the level; 0 for none")
            .needing("--total-mesh", |recipe| recipe.syn.total_mesh.is_none()),
        metric(),
        of_mattes(Opt::number("--metric-bins N", Options::BINS, |recipe| Some(&mut recipe.syn.bins),
            "Number of intensity bins of each image for mutual information; two at each end lie beyond the range of the intensities")),
        of_cc(Opt::number("--cc-radius VOXELS", Options::RADIUS, |recipe| Some(&mut recipe.syn.radius),
            "Radius of the correlation window; the window is a cube of 2r+1 voxels")),
        of_cc(Opt::choice("--cc-derivative WHICH", |recipe| Some(&mut recipe.syn.derivative),
            "Derivative of the correlation that drives the update")),
        of_cc(Opt::choice("--cc-kernel WHICH", |recipe| Some(&mut recipe.syn.cc_kernels),
            "Kernels by which a GPU computes the correlation; on the CPU both names stand for the same computation")),
        Opt::number("--convergence-window N", Options::CONVERGENCE_WINDOW, |recipe| Some(&mut recipe.syn.convergence.window),
            "A level ends when the slope of its energy over this number of iterations is below the threshold"),
        Opt::number("--convergence-threshold SLOPE", Options::CONVERGENCE_THRESHOLD, |recipe| Some(&mut recipe.syn.convergence.threshold),
            "Slope of the energy below which a level ends"),
        Opt::per_level("--reinvert-every AxB…", Options::REINVERT_EVERY, "1x1x4x4, or one for all levels",
            |given| &mut given.reinvert_every, |level| level.reinvert_every,
            "Number of iterations between two re-inversions of the fields, on each level or on all; with fewer re-inversions the fields \
            move more freely and fold sooner"),
        of_cc(Opt::number("--noise SHARE", Options::NOISE, |recipe| Some(&mut recipe.syn.noise),
            "Standard deviation of the noise that the correlation disregards, as a share of the intensity range")),
        of_cc(Opt::number("--edge-weight WEIGHT", Options::EDGE_WEIGHT, |recipe| Some(&mut recipe.syn.edge_weight),
            "Weight of the correlation of the images' edges (the magnitudes of their gradients), relative to the correlation of the \
            images; 0: edges are not used")),
        of_cc(Opt::number("--boundary-contrast SHARE", Options::BOUNDARY_CONTRAST, |recipe| Some(&mut recipe.syn.boundary_contrast),
            "Share of the intensity range that is given to the boundaries of tissues if both images have the same ones, for the \
            correlation; 0: intensities are kept")),
        Opt::number("--inverse-limit VOXELS", Options::RESIDUAL, |recipe| Some(&mut recipe.syn.largest_residual_voxels),
            "Largest inverse inconsistency of the warp and its inverse at any voxel; where it is exceeded, both are corrected or smoothed"),
        winsorise(),
        Opt { quiet: true, ..Opt::choice("--winsorise-over VOXELS", |recipe| Some(&mut recipe.syn.winsorise_over),
            "Voxels of which --winsorise takes the shares") },
        restrict_deformation(),
        Opt::flag("--exact", |recipe| recipe.syn.exact = true, |recipe| recipe.syn.exact,
            "Do not round displacements. By default they are rounded to multiples of about a thousandth of a voxel (1/1024 mm at 1 mm), \
            or of finer steps if the warp would fold; compressed warps then take little more than half the space"),
    ]
}

/// The metric of all channels; shown is that of the first channel.
fn metric() -> Opt {
    fn first(recipe: &mut Recipe) -> Option<&mut Metric> {
        recipe.syn.channels.first_mut().map(|channel| &mut channel.metric)
    }
    let mut option = Opt::choice("--metric METRIC", first, "Similarity metric that SyN maximises");
    let set = option.set;
    option.set = Box::new(move |recipe, text| {
        set(recipe, text)?;
        let metric = first(recipe).copied()?;
        recipe.set_metric(metric);
        Some(())
    });
    option
}

fn winsorise() -> Opt {
    let range = Range::from(Options::SHARES);
    let set = move |recipe: &mut Recipe, text: &str| {
        recipe.syn.winsorise = match text {
            "none" => None,
            shares => match f64::read_list(shares, ',', range)?[..] {
                [low, high] if low < high => Some((low, high)),
                _ => return None,
            },
        };
        Some(())
    };
    let get = |recipe: &mut Recipe| {
        Some(recipe.syn.winsorise.map_or("none".into(), |(low, high)| joined([low, high], ",")))
    };
    Opt::new(
        "--winsorise LOW,HIGH",
        format!("two shares of the voxels {range}, the lower first, such as 0.005,0.995, or none"),
        "Intensities are first clipped to the two values below which these shares of the voxels lie, which \
        --winsorise-over chooses; or none",
        set,
        get,
    )
}

/// The mesh of B-splines: distance between knots, or number of elements along each axis.
fn mesh(usage: &'static str, field: fn(&mut Recipe) -> &mut Option<Mesh>, text: &'static str) -> Opt {
    let (knots, elements) = (Range::from(Options::KNOTS_MM), Range::from(Options::ELEMENTS));
    let set = move |recipe: &mut Recipe, text: &str| {
        *field(recipe) = match text {
            "none" => None,
            numbers if numbers.contains('x') => {
                Some(Mesh::Elements(usize::read_list(numbers, 'x', elements)?.try_into().ok()?))
            }
            mm => Some(Mesh::KnotsMm(f64::read(mm, knots)?)),
        };
        Some(())
    };
    let expected = format!("a number {knots}, such as 26, three whole numbers {elements}, such as 7x8x7, or none");
    let get = move |recipe: &mut Recipe| Some(field(recipe).map_or("none".into(), |mesh| mesh.to_string()));
    Opt { quiet: true, ..Opt::new(usage, expected, text, set, get) }
}

fn restrict_deformation() -> Opt {
    let range = Range::from(Options::RESTRICTION);
    let set = move |recipe: &mut Recipe, text: &str| {
        let weights: [f64; 3] = f64::read_list(text, 'x', range)?.try_into().ok()?;
        recipe.syn.restrict = Some(weights).filter(|weights| *weights != [0.0; 3])?;
        Some(())
    };
    let option = Opt::new(
        "--restrict-deformation XxYxZ",
        format!("three numbers {range}, not all 0, such as 0x1x0"),
        "Weights of the x, y and z components (world axes) of each update, as in ANTs: 0x1x0 moves along y alone",
        set,
        |recipe| Some(joined(recipe.syn.restrict, "x")),
    );
    Opt { separator: 'x', quiet: true, ..option }
}
