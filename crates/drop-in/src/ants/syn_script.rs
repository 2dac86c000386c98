//! Does the work of the scripts `antsRegistrationSyN.sh` and `antsRegistrationSyNQuick.sh`, without running a shell.
//! The options of the scripts are converted to options of `antsRegistration`.

use antsreg_console::{CliError, Refusal, output::print};
use antsreg_core::io::nifti::GridRule;

use super::registration;
use crate::call::Call;

const HELP: &str = "\
Served by antsreg-gpu: -d 2|3  -f FIXED  -m MOVING  -o PREFIX  -t t|r|a|s|sr|so|b|br|bo  -i INITIAL  -x FIXED_MASK[,MOVING_MASK]
  -n THREADS  -r RADIUS (antsRegistrationSyN.sh) or BINS (Quick)  -g STEP  -s KNOTS_MM  -p f|d  -j 0|1  -y 0|1  -z 0|1  -e SEED

Several -f and -m give SyN several pairs of images. -i and -x may be given several times, as in ANTs' scripts.
";

/// If a fixed image has more voxels than this along an axis, the registration starts at a coarser level, as in ANTs'
/// scripts.
const LARGE_AXIS: usize = 256;

/// The two shell scripts of ANTs whose work this module does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Script {
    /// `antsRegistrationSyN.sh`: with a full-resolution level, by cross-correlation.
    Full,
    /// `antsRegistrationSyNQuick.sh`: without iterations at full resolution, by mutual information.
    Quick,
}

/// The options of `antsRegistrationSyN.sh` or `antsRegistrationSyNQuick.sh`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Options {
    dimension: String,
    fixed: Vec<String>,
    moving: Vec<String>,
    output: String,
    transform: String,
    initial: Vec<String>,
    masks: Vec<String>,
    threads: Option<usize>,
    /// Radius of windowed cross-correlation in voxels, or number of intensity bins of mutual information.
    size: String,
    step: String,
    /// Distance between the knots of B-splines on the first level, mm.
    knots: String,
    single: bool,
    match_histograms: String,
    reproducible: bool,
    collapse: String,
}

/// Runs `antsRegistrationSyN.sh`.
///
/// # Errors
/// An argument that is wrong or not supported; a registration that fails.
pub fn run(call: &Call) -> Result<(), CliError> {
    run_script(call, Script::Full)
}

/// Runs `antsRegistrationSyNQuick.sh`.
///
/// # Errors
/// An argument that is wrong or not supported; a registration that fails.
pub fn run_quick(call: &Call) -> Result<(), CliError> {
    run_script(call, Script::Quick)
}

fn run_script(call: &Call, script: Script) -> Result<(), CliError> {
    if call.arguments.is_empty() || call.arguments[0] == "-h" {
        return print(HELP);
    }
    let options = parse(&call.arguments, script)?;
    let shape = GridRule::Itk.read_grid(options.fixed[0].as_ref())?.shape;
    let arguments = arguments(&options, script, shape.iter().any(|axis| *axis > LARGE_AXIS))?;
    let mut call = Call { name: call.name, arguments, settings: call.settings };
    let Some(threads) = options.threads else { return registration::run(&call) };
    call.settings.threads = threads;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(CliError::Threads)?;
    pool.install(|| registration::run(&call))
}

/// Parses the arguments of `antsRegistrationSyN.sh` without running the script.
///
/// # Errors
/// An argument that is wrong or not supported.
pub fn read(words: &[String]) -> Result<(), Refusal> {
    registration::read(&arguments(&parse(words, Script::Full)?, Script::Full, false)?)
}

/// Parses the arguments of `antsRegistrationSyNQuick.sh` without running the script.
///
/// # Errors
/// An argument that is wrong or not supported.
pub fn read_quick(words: &[String]) -> Result<(), Refusal> {
    registration::read(&arguments(&parse(words, Script::Quick)?, Script::Quick, false)?)
}

fn parse(words: &[String], script: Script) -> Result<Options, Refusal> {
    let mut options = Options {
        dimension: "3".into(),
        fixed: Vec::new(),
        moving: Vec::new(),
        output: "output".into(),
        transform: "s".into(),
        initial: Vec::new(),
        masks: Vec::new(),
        threads: None,
        size: if script == Script::Full { "2" } else { "32" }.into(),
        step: "0.2".into(),
        knots: "26".into(),
        single: false,
        match_histograms: "0".into(),
        reproducible: false,
        collapse: "1".into(),
    };
    let mut words = words.iter();
    while let Some(flag) = words.next() {
        let value =
            words.next().ok_or_else(|| Refusal::new(flag, "this option needs a value, but has none"))?.clone();
        let refuse = |expected: &str| Refusal::new(format!("{flag} {value}"), format!("expected {expected}"));
        match flag.as_str() {
            "-d" => options.dimension = value,
            "-f" => options.fixed.push(value),
            "-m" => options.moving.push(value),
            "-o" => options.output = value,
            "-t" => options.transform = value,
            "-i" => options.initial.push(value),
            "-x" => options.masks.push(value),
            "-n" => {
                let threads = value.parse().map_err(|_| refuse("a number of threads"))?;
                options.threads = Some(threads).filter(|threads| *threads > 0);
            }
            "-r" => options.size = value,
            "-g" => options.step = value,
            "-p" if ["f", "d"].contains(&value.as_str()) => options.single = value == "f",
            "-p" => return Err(refuse("f or d")),
            "-j" => options.match_histograms = value,
            "-y" => options.reproducible = value == "1",
            "-z" => options.collapse = value,
            "-s" => options.knots = value,
            // A random seed has no effect, because this program uses no random numbers.
            "-e" => {}
            _ => return Err(Refusal::new(flag, "this script has no such option")),
        }
    }
    if options.fixed.is_empty() || options.fixed.len() != options.moving.len() {
        let (fixed, moving) = (options.fixed.len(), options.moving.len());
        return Err(Refusal::new(
            "-f and -m",
            format!("expected as many fixed as moving images, found {fixed} fixed and {moving} moving"),
        ));
    }
    Ok(options)
}

/// The arguments of `antsRegistration` that correspond to the options of the script.
fn arguments(options: &Options, script: Script, large: bool) -> Result<Vec<String>, Refusal> {
    let transform = options.transform.as_str();
    let linear: &[&str] = match transform {
        "t" => &["Translation"],
        "r" | "sr" | "br" => &["Rigid"],
        "a" | "s" | "b" => &["Rigid", "Affine"],
        "so" | "bo" => &[],
        _ => {
            let expected = "expected the transform t, r, a, s, sr, so, b, br or bo";
            return Err(Refusal::new(format!("-t {transform}"), expected));
        }
    };
    let (fixed, moving, output) = (&options.fixed[0], &options.moving[0], &options.output);
    let last = if script == Script::Full { [100, 20] } else { [0, 0] };
    let single = u8::from(options.single);
    let mut line = vec![
        format!("--dimensionality={}", options.dimension),
        "--verbose=1".into(),
        format!("--float={single}"),
        format!("--collapse-output-transforms={}", options.collapse),
        format!("--output=[{output},{output}Warped.nii.gz,{output}InverseWarped.nii.gz]"),
        format!("--use-histogram-matching={}", options.match_histograms),
        "--winsorize-image-intensities=[0.005,0.995]".into(),
    ];
    line.extend(options.masks.iter().map(|mask| format!("--masks=[{mask}]")));
    line.extend(match (options.initial.as_slice(), transform) {
        ([], "so" | "bo") => vec!["--initial-moving-transform=Identity".to_owned()],
        ([], _) => vec![format!("--initial-moving-transform=[{fixed},{moving},1]")],
        (given, _) => given.iter().map(|start| format!("--initial-moving-transform={start}")).collect(),
    });
    for kind in linear {
        let metric = if options.reproducible { "GC" } else { "MI" };
        let size = if options.reproducible { 1 } else { 32 };
        let levels = if large { ("12x8x4x2", "4x3x2x1") } else { ("8x4x2x1", "3x2x1x0") };
        line.extend([
            format!("--transform={kind}[0.1]"),
            format!("--metric={metric}[{fixed},{moving},1,{size},Regular,0.25]"),
            format!("--convergence=[1000x500x250x{},1e-6,10]", last[0]),
            format!("--shrink-factors={}", levels.0),
            format!("--smoothing-sigmas={}vox", levels.1),
        ]);
    }
    if ["s", "sr", "so", "b", "br", "bo"].contains(&transform) {
        let (metric, size) = match (script, options.reproducible) {
            (Script::Full, _) => ("CC", options.size.as_str()),
            (Script::Quick, true) => ("CC", "2"),
            (Script::Quick, false) => ("MI", options.size.as_str()),
        };
        line.push(match transform.starts_with('b') {
            true => format!("--transform=BSplineSyN[{},{},0,3]", options.step, options.knots),
            false => format!("--transform=SyN[{},3,0]", options.step),
        });
        let pairs = options.fixed.iter().zip(&options.moving);
        line.extend(pairs.map(|(fixed, moving)| format!("--metric={metric}[{fixed},{moving},1,{size}]")));
        let (iterations, factors, sigmas) = match (transform, large) {
            ("sr" | "br", _) => ("50", "2x1", "1x0"),
            (_, true) => ("100x100x70x50", "10x6x4x2x1", "5x3x2x1x0"),
            (_, false) => ("100x70x50", "8x4x2x1", "3x2x1x0"),
        };
        line.extend([
            format!("--convergence=[{iterations}x{},1e-6,10]", last[1]),
            format!("--shrink-factors={factors}"),
            format!("--smoothing-sigmas={sigmas}vox"),
        ]);
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str, script: Script) -> Result<String, Refusal> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        Ok(arguments(&parse(&words, script)?, script, false)?.join(" "))
    }

    #[test]
    fn a_script_is_a_command_line_of_ants_registration() {
        let line = read("-d 3 -f f.nii -m m.nii -o o_ -t sr -p f -x a.nii,b.nii", Script::Full).expect("a line");
        assert_eq!(
            line,
            "--dimensionality=3 --verbose=1 --float=1 --collapse-output-transforms=1 \
             --output=[o_,o_Warped.nii.gz,o_InverseWarped.nii.gz] --use-histogram-matching=0 \
             --winsorize-image-intensities=[0.005,0.995] --masks=[a.nii,b.nii] \
             --initial-moving-transform=[f.nii,m.nii,1] \
             --transform=Rigid[0.1] --metric=MI[f.nii,m.nii,1,32,Regular,0.25] \
             --convergence=[1000x500x250x100,1e-6,10] --shrink-factors=8x4x2x1 --smoothing-sigmas=3x2x1x0vox \
             --transform=SyN[0.2,3,0] --metric=CC[f.nii,m.nii,1,2] \
             --convergence=[50x20,1e-6,10] --shrink-factors=2x1 --smoothing-sigmas=1x0vox"
        );
    }

    #[test]
    fn the_quick_script_leaves_full_resolution_out_and_takes_bins() {
        let line = read("-f f.nii -m m.nii -f f2.nii -m m2.nii -t so -r 48", Script::Quick).expect("a line");
        assert!(line.contains("--metric=MI[f.nii,m.nii,1,48] --metric=MI[f2.nii,m2.nii,1,48]"), "{line}");
        assert!(
            line.contains("--convergence=[100x70x50x0,1e-6,10]") && line.contains("transform=Identity"),
            "{line}"
        );
    }

    #[test]
    fn splines_have_the_stages_of_the_gaussian() {
        for (kind, of_syn) in [("b", "s"), ("br", "sr"), ("bo", "so")] {
            let line =
                |kind: &str| read(&format!("-f f.nii -m m.nii -t {kind} -s 40"), Script::Full).expect("a line");
            let expected = line(of_syn).replace("SyN[0.2,3,0]", "BSplineSyN[0.2,40,0,3]");
            assert_eq!(line(kind), expected);
        }
        let line = read("-f f.nii -m m.nii -t bo", Script::Quick).expect("a line");
        assert!(line.contains("--transform=BSplineSyN[0.2,26,0,3]"), "{line}");
    }

    #[test]
    fn what_is_not_served_is_named() {
        for (line, expected) in
            [("-f f -m m -t bx", "-t bx"), ("-f f -m m -t x", "-t x"), ("-f f -q 1", "-q"), ("-f f", "-f and -m")]
        {
            assert_eq!(read(line, Script::Full).expect_err(line).option, expected);
        }
    }
}
