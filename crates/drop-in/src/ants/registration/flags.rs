//! The flags on the command line of `antsRegistration`.

use crate::ants::words::{Flag, flag, long};

/// All flags of `antsRegistration`, including the flags that are refused.
pub const FLAGS: &[Flag] = &[
    flag('d', "dimensionality"),
    flag('o', "output"),
    flag('j', "save-state"),
    flag('k', "restore-state"),
    flag('a', "write-composite-transform"),
    flag('p', "print-similarity-measure-interval"),
    long("write-interval-volumes"),
    flag('z', "collapse-output-transforms"),
    flag('i', "initialize-transforms-per-stage"),
    flag('n', "interpolation"),
    flag('g', "restrict-deformation"),
    flag('q', "initial-fixed-transform"),
    flag('r', "initial-moving-transform"),
    flag('m', "metric"),
    flag('t', "transform"),
    flag('c', "convergence"),
    flag('s', "smoothing-sigmas"),
    flag('f', "shrink-factors"),
    flag('u', "use-histogram-matching"),
    flag('l', "use-estimate-learning-rate-once"),
    flag('w', "winsorize-image-intensities"),
    flag('x', "masks"),
    long("float"),
    long("minc"),
    long("random-seed"),
    flag('v', "verbose"),
];

/// Flags of features that are not supported; they are refused unless their value switches the feature off.
pub const REFUSED: &[&str] = &["save-state", "restore-state", "minc"];
