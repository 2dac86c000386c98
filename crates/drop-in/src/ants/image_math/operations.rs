//! The table of the operations of `ImageMath`.

use crate::served::Operation;

/// The operations that this program serves.
pub const OPERATIONS: &[Operation] = &[
    row("m", "IMAGE IMAGE|NUMBER"),
    row("+", "IMAGE IMAGE|NUMBER"),
    row("-", "IMAGE IMAGE|NUMBER"),
    row("/", "IMAGE IMAGE|NUMBER"),
    row("^", "IMAGE IMAGE|NUMBER"),
    row("exp", "IMAGE IMAGE|NUMBER"),
    row("max", "IMAGE IMAGE|NUMBER"),
    row("abs", "IMAGE"),
    row("addtozero", "IMAGE IMAGE|NUMBER"),
    row("overadd", "IMAGE IMAGE|NUMBER"),
    row("Decision", "IMAGE IMAGE|NUMBER"),
    row("total", "IMAGE [IMAGE|NUMBER]"),
    row("mean", "IMAGE [IMAGE|NUMBER]"),
    row("MD", "IMAGE [RADIUS=1] [FOREGROUND=1]"),
    row("ME", "IMAGE [RADIUS=1] [FOREGROUND=1]"),
    row("MO", "IMAGE [RADIUS=1] [FOREGROUND=1]"),
    row("MC", "IMAGE [RADIUS=1] [FOREGROUND=1]"),
    row("GD", "IMAGE [RADIUS=1]"),
    row("GE", "IMAGE [RADIUS=1]"),
    row("GO", "IMAGE [RADIUS=1]"),
    row("GC", "IMAGE [RADIUS=1]"),
    row("GetLargestComponent", "IMAGE [LEAST_VOXELS=50]"),
    row("FillHoles", "IMAGE [LEAST_EDGE=2]"),
    row("PadImage", "IMAGE VOXELS [VALUE=0]"),
    row("ExtractSlice", "IMAGE NUMBER"),
    row("G", "IMAGE [SIGMA_MM=1]"),
    row("Laplacian", "IMAGE [SIGMA_MM=1] [RESCALE=0]"),
    row("Grad", "IMAGE [SIGMA_MM=1] [RESCALE=0]"),
    row("Sharpen", "IMAGE [BY_SPACING=1]"),
    row("UnsharpMask", "IMAGE [AMOUNT=0.5] [RADIUS=1] [THRESHOLD=0] [IN_MM=0]"),
    row("D", "IMAGE"),
    row("MaurerDistance", "IMAGE [FOREGROUND=1]"),
    row("RescaleImage", "IMAGE LOW HIGH"),
    row("WindowImage", "IMAGE FROM_LOW FROM_HIGH TO_LOW TO_HIGH"),
    row("Normalize", "IMAGE [MASK|BY_MEAN]"),
    row("Neg", "IMAGE"),
    row("Byte", "IMAGE"),
    row("ReplaceVoxelValue", "IMAGE LOW HIGH VALUE"),
    row("Finite", "IMAGE [VALUE=0]"),
    row("ThresholdAtMean", "IMAGE [FACTOR=1]"),
    row("TruncateImageIntensity", "IMAGE [LOW=0.025] [HIGH=0.975] [BINS=64] [MASK]"),
    row("HistogramMatch", "IMAGE REFERENCE 256 12 1"),
    row("PureTissueN4WeightMask", "MAP MAP …"),
    row("LabelStats", "LABELS [IMAGE]"),
    row("MajorityVoting", "LABELS LABELS …"),
    row("PearsonCorrelation", "IMAGE IMAGE [MASK]"),
];

const fn row(name: &'static str, usage: &'static str) -> Operation {
    Operation { name, usage }
}
