//! The parsed command line of `flirt`.

use std::path::PathBuf;

use antsreg_console::Refusal;
use antsreg_core::io::nifti::Stored;
use antsreg_kernels::apply::{SplineOrder, Window};
use antsreg_register::linear::{AngleSearch, Boundary, BoundaryKind, Cost, Dof, Options, Search};
use antsreg_study::apply::Reading;

use crate::fsl::{names, stored};

/// Parsed options and file names of a command line of `flirt`.
#[derive(Debug, Clone)]
pub struct Request {
    /// Path of the fixed image (`-ref`).
    pub fixed: PathBuf,
    /// Path of the moving image (`-in`).
    pub moving: PathBuf,
    /// Output file of the moving image, resampled on the fixed grid.
    pub out: Option<PathBuf>,
    /// Output file of the matrix.
    pub omat: Option<PathBuf>,
    /// The matrix from which the search starts, or which is applied.
    pub origin: Origin,
    /// What this call of `flirt` does: it searches for a matrix, or resamples the input through a given matrix.
    pub task: Task,
    /// Path of the white-matter segmentation of the fixed image, for boundary-based registration.
    pub white_matter: Option<PathBuf>,
    /// Paths of the weight images of the fixed and the moving image, which are used as masks.
    pub weights: [Option<PathBuf>; 2],
    /// Whether the images are two-dimensional slices, which are registered rigidly in their plane.
    pub planar: bool,
    /// Interpolation of the moving image.
    pub reading: Reading,
    /// Storage type of the output image; `None` for the type of the moving image.
    pub stored: Option<Stored>,
    /// Value of output voxels that lie outside the moving image.
    pub background: f32,
    /// Whether progress is shown.
    pub verbose: bool,
    /// Descriptions of the options of FLIRT that this program replaces by its own methods.
    pub replaced: Vec<String>,
}

/// The initial matrix of a call of `flirt`, from which the search starts or which is applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The translation that aligns the centres of mass of both images.
    Centres,
    /// Initial matrix: the alignment given by the headers of both images.
    Headers,
    /// Initial matrix: the matrix read from this file.
    Matrix(PathBuf),
}

/// What a call of `flirt` does: it searches for a matrix, or resamples an image through a matrix.
#[derive(Debug, Clone, PartialEq)]
pub enum Task {
    /// A search, with these options, for the matrix that aligns the moving image with the fixed image.
    Register(Options),
    /// Resampling of the input (moving) image through the given initial matrix, without a registration.
    Apply,
    /// Resampling of the input (moving) image through the given initial matrix, on an output grid of cubic voxels with
    /// this edge length, mm.
    ApplyIsotropic(f64),
}

/// Options of FLIRT's own search, which have no effect in this program, each with the number of its values.
const WITHOUT_EFFECT: [(&str, usize); 12] = [
    ("-anglerep", 1),
    ("-bins", 1),
    ("-sincwidth", 1),
    ("-minsampling", 1),
    ("-paddingsize", 1),
    ("-basescale", 1),
    ("-displayinit", 0),
    ("-noresample", 0),
    ("-forcescaling", 0),
    ("-noclamp", 0),
    ("-noresampblur", 0),
    ("-interactive", 0),
];

/// Options that are not supported, each with advice on what to use instead.
const REFUSED: [(&str, &str); 8] = [
    ("-wmcoords", "use -wmseg"),
    ("-wmnorms", "use -wmseg"),
    ("-fieldmap", "leave it out"),
    ("-fieldmapmask", "leave it out"),
    ("-pedir", "leave it out"),
    ("-echospacing", "leave it out"),
    ("-i", "use -in"),
    ("-gdt", "leave it out"),
];

impl Request {
    /// Reads a command line of `flirt`.
    ///
    /// # Errors
    /// An option that is not understood or not supported.
    pub fn read(words: &[String]) -> Result<Request, Refusal> {
        let mut read = Reader::default();
        let mut words = words.iter().map(String::as_str);
        while let Some(option) = words.next() {
            read.option(option, &mut words)?;
        }
        read.request()
    }
}

/// The options read so far from a command line.
#[derive(Debug, Default)]
struct Reader {
    fixed: Option<PathBuf>,
    moving: Option<PathBuf>,
    out: Option<PathBuf>,
    omat: Option<PathBuf>,
    init: Option<PathBuf>,
    headers: bool,
    apply: bool,
    isotropic: Option<f64>,
    weights: [Option<PathBuf>; 2],
    planar: bool,
    cost: Option<TypedCost>,
    search_cost: Option<TypedCost>,
    white_matter: Option<PathBuf>,
    boundary: Boundary,
    schedule: Option<PathBuf>,
    dof: Option<Dof>,
    ranges: [Option<[f64; 2]>; 3],
    no_search: bool,
    steps: [Option<f64>; 2],
    reading: Option<Reading>,
    stored: Option<Stored>,
    background: f32,
    verbose: bool,
    replaced: Vec<String>,
}

impl Reader {
    fn option<'a>(&mut self, option: &'a str, words: &mut impl Iterator<Item = &'a str>) -> Result<(), Refusal> {
        if let Some((_, count)) = WITHOUT_EFFECT.iter().find(|(name, _)| *name == option) {
            for _ in 0..*count {
                value(option, words)?;
            }
            self.replaced.push(format!("{option} is replaced by the settings of this program's search"));
            return Ok(());
        }
        if let Some((_, instead)) = REFUSED.iter().find(|(name, _)| *name == option) {
            return Err(Refusal::not_served(option, instead));
        }
        match option {
            "-in" => self.moving = Some(names::input(option, value(option, words)?)?),
            "-ref" => self.fixed = Some(names::input(option, value(option, words)?)?),
            "-out" | "-o" => self.out = Some(names::output(value(option, words)?)?),
            "-omat" => self.omat = Some(value(option, words)?.into()),
            "-init" => self.init = Some(names::existing(option, value(option, words)?)?),
            "-refweight" => self.weights[0] = Some(names::input(option, value(option, words)?)?),
            "-inweight" => self.weights[1] = Some(names::input(option, value(option, words)?)?),
            "-usesqform" => self.headers = true,
            "-applyxfm" => self.apply = true,
            "-applyisoxfm" => self.isotropic = Some(positive(option, words)?),
            "-2D" => self.planar = true,
            "-nosearch" => self.no_search = true,
            "-cost" => self.cost = Some(cost(option, value(option, words)?)?),
            "-searchcost" => self.search_cost = Some(cost(option, value(option, words)?)?),
            "-wmseg" => self.white_matter = Some(names::input(option, value(option, words)?)?),
            "-bbrtype" => self.boundary.kind = kind(value(option, words)?)?,
            "-bbrslope" => self.boundary.slope = slope(option, words)?,
            "-schedule" => self.schedule = Some(value(option, words)?.into()),
            "-dof" => self.dof = Some(dof(value(option, words)?)?),
            "-searchrx" => self.ranges[0] = Some([number(option, words)?, number(option, words)?]),
            "-searchry" => self.ranges[1] = Some([number(option, words)?, number(option, words)?]),
            "-searchrz" => self.ranges[2] = Some([number(option, words)?, number(option, words)?]),
            "-coarsesearch" => self.steps[0] = Some(positive(option, words)?),
            "-finesearch" => self.steps[1] = Some(positive(option, words)?),
            "-interp" => self.reading = Some(self.interpolation(value(option, words)?)?),
            "-sincwindow" => self.window(value(option, words)?)?,
            "-datatype" => self.stored = Some(stored::named(option, value(option, words)?)?),
            "-setbackground" => self.background = number(option, words)? as f32,
            "-verbose" => self.verbose = number(option, words)? > 0.0,
            "-v" => self.verbose = true,
            _ => return Err(Refusal::new(option, "flirt has no such option")),
        }
        Ok(())
    }

    fn interpolation(&mut self, name: &str) -> Result<Reading, Refusal> {
        match name {
            "trilinear" => Ok(Reading::Linear),
            "nearestneighbour" => Ok(Reading::Nearest),
            "spline" => Ok(Reading::Spline(SplineOrder::CUBIC)),
            "sinc" => {
                self.replaced.push("the sinc's Hanning window is replaced by a Hamming window of radius 3".into());
                Ok(Reading::Sinc(Window::Hamming))
            }
            _ => Err(Refusal::new(format!("-interp {name}"), "expected trilinear, nearestneighbour, sinc or spline")),
        }
    }

    /// Reads the window of sinc interpolation; the option may precede or follow `-interp sinc`.
    fn window(&mut self, name: &str) -> Result<(), Refusal> {
        match name {
            "hanning" | "h" => Ok(()),
            "blackman" | "b" => {
                self.replaced.retain(|replaced| !replaced.starts_with("the sinc's"));
                self.replaced.push("the sinc's width is replaced by a radius of 3".into());
                self.reading = Some(Reading::Sinc(Window::Blackman));
                Ok(())
            }
            _ => Err(Refusal::not_served(
                format!("-sincwindow {name}"),
                "use -sincwindow hanning or -sincwindow blackman",
            )),
        }
    }

    fn request(mut self) -> Result<Request, Refusal> {
        let missing = |option: &str| Refusal::new(option, "this option is missing; expected an image");
        self.check_boundary()?;
        self.read_schedule()?;
        let options = self.options();
        let boundary = matches!(&options, Options { boundary: Some(_), .. });
        let Reader { apply, isotropic, init, headers, .. } = self;
        let mut replaced = self.replaced;
        if let (Some(TypedCost::Search(search)), Some(TypedCost::Search(cost))) = (self.search_cost, self.cost)
            && search != cost
        {
            replaced.push(format!("-searchcost is replaced by {cost}, the cost of the whole search"));
        }
        let asymmetric = self.ranges.iter().flatten().any(|[low, high]| *low != -*high);
        if asymmetric {
            replaced.push(
                "the ranges of searched rotations are replaced by ranges that are symmetric about 0 and contain them"
                    .into(),
            );
        }
        let task = match (apply, isotropic) {
            (_, Some(size_mm)) => Task::ApplyIsotropic(size_mm),
            (true, None) => Task::Apply,
            (false, None) => Task::Register(options),
        };
        if task == Task::Apply && self.out.is_none() {
            return Err(missing("-out"));
        }
        Ok(Request {
            fixed: self.fixed.ok_or_else(|| missing("-ref"))?,
            moving: self.moving.ok_or_else(|| missing("-in"))?,
            out: self.out,
            omat: self.omat,
            origin: match (init, headers) {
                (Some(path), _) => Origin::Matrix(path),
                (None, true) => Origin::Headers,
                (None, false) => Origin::Centres,
            },
            task,
            white_matter: self.white_matter.filter(|_| boundary),
            weights: self.weights,
            planar: self.planar,
            reading: self.reading.unwrap_or(Reading::Linear),
            stored: self.stored,
            background: self.background,
            verbose: self.verbose,
            replaced,
        })
    }

    /// Returns the options of the linear search.
    fn options(&self) -> Options {
        let of_search = |cost: &TypedCost| match cost {
            TypedCost::Search(cost) => Some(*cost),
            TypedCost::Boundary => None,
        };
        // Boundary-based registration aligns EPI with T1, so the search before this registration uses normalised mutual
        // information.
        let usual = if self.has_boundary() { Cost::NormalisedMutualInformation } else { Cost::CorrelationRatio };
        let searched = [self.cost, self.search_cost].iter().flatten().find_map(of_search);
        let cost = searched.unwrap_or(usual);
        let defaults = AngleSearch::default();
        let range = |axis: usize| self.ranges[axis].map_or(90.0, |[low, high]| low.abs().max(high.abs()).min(180.0));
        let ranges = [0, 1, 2].map(range);
        let search = match self.no_search || ranges == [0.0; 3] {
            true => Search::None,
            false => Search::Angles(AngleSearch {
                range_degrees: if self.planar { [0.0, 0.0, ranges[2]] } else { ranges },
                coarse_step_degrees: self.steps[0].unwrap_or(defaults.coarse_step_degrees),
                fine_step_degrees: self.steps[1].unwrap_or(defaults.fine_step_degrees),
                // If the user restricts the range of searched angles, the search does not start from aligned principal
                // axes, because that alignment may lie outside the range.
                principal_axes: self.ranges.iter().all(Option::is_none),
            }),
        };
        let dof = if self.planar { Dof::Rigid6 } else { self.dof.unwrap_or(Dof::Affine12) };
        // As in FLIRT's schedule for boundary-based registration (bbr.sch), this registration starts from the initial
        // matrix, without a search for another start, if such a matrix is given.
        let from_start = self.init.is_some() || self.headers || search == Search::None;
        let boundary = self.has_boundary().then_some(Boundary { from_start, ..self.boundary });
        Options { dof, search, boundary, ..Options::of(cost) }
    }

    /// Whether the cost of boundary-based registration (`bbr`) was given.
    fn has_boundary(&self) -> bool {
        [self.cost, self.search_cost].contains(&Some(TypedCost::Boundary))
    }

    /// Refuses boundary-based registration without a white-matter segmentation.
    fn check_boundary(&self) -> Result<(), Refusal> {
        match self.has_boundary() && !self.apply && self.isotropic.is_none() && self.white_matter.is_none() {
            false => Ok(()),
            true => Err(Refusal::new(
                "-wmseg",
                "this option is missing; the cost bbr needs a white-matter segmentation of the -ref image",
            )),
        }
    }

    /// Replaces a schedule that FSL ships by the options of this program's search that correspond to it. Such a schedule
    /// is known by its name; the file need not exist.
    fn read_schedule(&mut self) -> Result<(), Refusal> {
        let Some(path) = &self.schedule else { return Ok(()) };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match name.as_ref() {
            "bbr.sch" if self.has_boundary() => return Ok(()),
            "sch2D_3dof.sch" => self.planar = true,
            "sch3D_3dof.sch" | "xyztrans.sch" => {
                self.dof = Some(Dof::Translation3);
                self.no_search = true;
            }
            "simple3D.sch" => self.no_search = true,
            _ => {
                return Err(Refusal::not_served(
                    format!("-schedule {}", path.display()),
                    "leave -schedule out: this program's search has its own schedule; bbr.sch needs -cost bbr",
                ));
            }
        }
        self.replaced.push(format!("the schedule {name} is replaced by this program's search"));
        Ok(())
    }
}

/// The cost that the option `-cost` or `-searchcost` names: a cost of the search, or the boundary cost (`bbr`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TypedCost {
    Search(Cost),
    Boundary,
}

fn value<'a>(option: &str, words: &mut impl Iterator<Item = &'a str>) -> Result<&'a str, Refusal> {
    words.next().ok_or_else(|| Refusal::new(option, "expected a value after this option"))
}

fn number<'a>(option: &str, words: &mut impl Iterator<Item = &'a str>) -> Result<f64, Refusal> {
    let text = value(option, words)?;
    let number = text.parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| Refusal::new(format!("{option} {text}"), "expected a number"))
}

fn positive<'a>(option: &str, words: &mut impl Iterator<Item = &'a str>) -> Result<f64, Refusal> {
    let number = number(option, words)?;
    match number > 0.0 {
        true => Ok(number),
        false => Err(Refusal::new(format!("{option} {number}"), "expected a number above 0")),
    }
}

fn cost(option: &str, name: &str) -> Result<TypedCost, Refusal> {
    let shown = format!("{option} {name}");
    match name {
        "corratio" => Ok(TypedCost::Search(Cost::CorrelationRatio)),
        "mutualinfo" => Ok(TypedCost::Search(Cost::MutualInformation)),
        "normmi" => Ok(TypedCost::Search(Cost::NormalisedMutualInformation)),
        "normcorr" => Ok(TypedCost::Search(Cost::NormalisedCorrelation)),
        "leastsq" => Ok(TypedCost::Search(Cost::LeastSquares)),
        "bbr" => Ok(TypedCost::Boundary),
        "labeldiff" => Err(Refusal::not_served(shown, "use corratio, mutualinfo, normmi, normcorr, leastsq or bbr")),
        _ => Err(Refusal::new(shown, "expected corratio, mutualinfo, normmi, normcorr, leastsq or bbr")),
    }
}

fn kind(name: &str) -> Result<BoundaryKind, Refusal> {
    match name {
        "signed" => Ok(BoundaryKind::Signed),
        "local_abs" => Ok(BoundaryKind::Unsigned),
        "global_abs" => Ok(BoundaryKind::Absolute),
        _ => Err(Refusal::new(format!("-bbrtype {name}"), "expected signed, local_abs or global_abs")),
    }
}

fn slope<'a>(option: &str, words: &mut impl Iterator<Item = &'a str>) -> Result<f64, Refusal> {
    let slope = number(option, words)?;
    if slope == 0.0 { Err(Refusal::new(format!("{option} 0"), "expected a number other than 0")) } else { Ok(slope) }
}

fn dof(text: &str) -> Result<Dof, Refusal> {
    let dof = Dof::ALL.into_iter().find(|dof| text.parse() == Ok(dof.number(false)));
    dof.ok_or_else(|| Refusal::not_served(format!("-dof {text}"), "use 3, 6, 7, 9 or 12"))
}

#[cfg(test)]
mod tests;
