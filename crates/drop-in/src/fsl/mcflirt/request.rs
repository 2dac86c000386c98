//! The parsed command line of `mcflirt`.

use std::path::PathBuf;

use antsreg_console::Refusal;
use antsreg_kernels::apply::{SplineOrder, Window};
use antsreg_register::linear::Dof;
use antsreg_study::apply::Reading;
use antsreg_study::motion::{Cost, ReferenceVolume};

use crate::fsl::names;

/// Parsed options and file names of a command line of `mcflirt`.
#[derive(Debug, Clone)]
pub struct Request {
    /// Path of the time series to correct.
    pub input: PathBuf,
    /// Name of the corrected series, as given; the names of the other outputs begin with this name.
    pub output: String,
    /// The volume to which the volumes of the series are aligned.
    pub reference: ReferenceVolume,
    /// Degrees of freedom of the alignment of each volume.
    pub dof: Dof,
    /// The cost function that the alignment of each volume minimises.
    pub cost: Cost,
    /// Interpolation of the volumes.
    pub reading: Reading,
    /// The requested outputs in addition to the corrected series.
    pub asked: Asked,
    /// Whether progress is shown.
    pub verbose: bool,
    /// Descriptions of the options of MCFLIRT that this program replaces by its own methods.
    pub replaced: Vec<String>,
}

/// The requested outputs in addition to the corrected series.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Asked {
    /// Whether to write the alignment of each volume as a matrix file (`-mats`).
    pub matrices: bool,
    /// Whether to write the table of motion parameters.
    pub parameters: bool,
    /// Whether to write a table of how far each volume is displaced from the reference (`-rmsabs`).
    pub absolute: bool,
    /// Whether to write a table of how far each volume is displaced from the volume before (`-rmsrel`).
    pub relative: bool,
    /// Whether to write the mean, variance and standard deviation of the series.
    pub statistics: bool,
}

/// Options of MCFLIRT's own search, which have no effect in this program, each with the number of its values.
const WITHOUT_EFFECT: [(&str, usize); 8] = [
    ("-bins", 1),
    ("-scaling", 1),
    ("-smooth", 1),
    ("-rotation", 1),
    ("-stages", 1),
    ("-fov", 1),
    ("-report", 0),
    ("-forcescaling", 0),
];

/// Options that are not supported, each with advice on what to use instead.
const REFUSED: [(&str, &str); 5] = [
    (
        "-init",
        "leave -init out: the alignment of a volume starts from the reference and from the volume's neighbours",
    ),
    ("-gdt", "leave it out"),
    ("-edge", "leave it out"),
    ("-2d", "leave -2d out, and give a series of volumes"),
    ("-i", "use -in"),
];

impl Request {
    /// Reads a command line of `mcflirt`.
    ///
    /// # Errors
    /// An option that is not understood or not supported.
    pub fn read(words: &[String]) -> Result<Request, Refusal> {
        let (mut input, mut output, mut mean) = (None, None, false);
        let mut request = Request {
            input: PathBuf::new(),
            output: String::new(),
            reference: ReferenceVolume::Middle,
            dof: Dof::Rigid6,
            cost: Cost::Ncc,
            reading: Reading::Linear,
            asked: Asked::default(),
            verbose: false,
            replaced: Vec::new(),
        };
        let mut words = words.iter().map(String::as_str);
        while let Some(option) = words.next() {
            let mut value = || words.next().ok_or_else(|| Refusal::new(option, "expected a value after this option"));
            if let Some((_, count)) = WITHOUT_EFFECT.iter().find(|(name, _)| *name == option) {
                for _ in 0..*count {
                    value()?;
                }
                request.replaced.push(format!("{option} is replaced by the settings of this program's search"));
                continue;
            }
            if let Some((_, instead)) = REFUSED.iter().find(|(name, _)| *name == option) {
                return Err(Refusal::not_served(option, instead));
            }
            match option {
                "-in" => {
                    let name = value()?;
                    input = Some((name, names::input(option, name)?));
                }
                "-out" | "-o" => output = Some(value()?),
                "-reffile" | "-r" => request.reference = ReferenceVolume::File(names::input(option, value()?)?),
                "-refvol" => request.reference = ReferenceVolume::Volume(number(option, value()?)?),
                "-meanvol" => mean = true,
                "-dof" => request.dof = dof(value()?)?,
                "-cost" => request.cost = cost(value()?)?,
                "-mats" => request.asked.matrices = true,
                "-plots" => request.asked.parameters = true,
                "-rmsabs" => request.asked.absolute = true,
                "-rmsrel" => request.asked.relative = true,
                "-stats" => request.asked.statistics = true,
                "-spline_final" => request.reading = Reading::Spline(SplineOrder::CUBIC),
                "-nn_final" => request.reading = Reading::Nearest,
                "-sinc_final" => {
                    request.reading = Reading::Sinc(Window::Hamming);
                    request.replaced.push("the sinc is replaced by a sinc of radius 3 with a Hamming window".into());
                }
                "-verbose" | "-v" => request.verbose = number(option, value()?)? > 0,
                _ => return Err(Refusal::new(option, "mcflirt has no such option")),
            }
        }
        let Some((name, input)) = input else {
            return Err(Refusal::new("-in", "this option is missing; expected a time series"));
        };
        request.output = output.map_or_else(|| format!("{}_mcf", names::stem(name)), str::to_owned);
        request.input = input;
        // As in MCFLIRT, `-meanvol` takes precedence over other options that name a reference.
        if mean {
            request.reference = ReferenceVolume::Mean;
        }
        Ok(request)
    }
}

fn number(option: &str, text: &str) -> Result<usize, Refusal> {
    text.parse().map_err(|_| Refusal::new(format!("{option} {text}"), "expected a whole number of 0 or more"))
}

fn dof(text: &str) -> Result<Dof, Refusal> {
    let dof = Dof::ALL.into_iter().find(|dof| *dof != Dof::Translation3 && text.parse() == Ok(dof.number(false)));
    dof.ok_or_else(|| Refusal::not_served(format!("-dof {text}"), "use 6, 7, 9 or 12"))
}

fn cost(name: &str) -> Result<Cost, Refusal> {
    match name {
        "normcorr" => Ok(Cost::Ncc),
        "leastsquares" => Ok(Cost::Lsq),
        "corratio" => Ok(Cost::Cr),
        "normmi" => Ok(Cost::Nmi),
        "mutualinfo" | "woods" => {
            Err(Refusal::not_served(format!("-cost {name}"), "use normcorr, leastsquares, corratio or normmi"))
        }
        _ => Err(Refusal::new(format!("-cost {name}"), "expected normcorr, leastsquares, corratio or normmi")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Request, Refusal> {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["s.nii.gz", "r.nii"] {
            std::fs::write(folder.path().join(name), b"x").expect("it is written");
        }
        let line = line.replace("DIR", &folder.path().display().to_string());
        Request::read(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn lines_of_nipype_are_read() {
        let line = "-in DIR/s.nii.gz -cost leastsquares -bins 256 -dof 7 -spline_final -mats -out o.nii.gz -plots -reffile \
                    DIR/r.nii -rmsabs -rmsrel -scaling 6.00 -smooth 1.00 -stats";
        let request = read(line).expect("it is served");
        assert_eq!((request.output.as_str(), request.dof, request.cost), ("o.nii.gz", Dof::Similarity7, Cost::Lsq));
        assert!(request.reference.file().is_some_and(|path| path.ends_with("r.nii")));
        assert_eq!(request.reading, Reading::Spline(SplineOrder::CUBIC));
        let all = Asked { matrices: true, parameters: true, absolute: true, relative: true, statistics: true };
        assert_eq!((request.asked, request.replaced.len()), (all, 3));
    }

    #[test]
    fn defaults_are_those_of_mcflirt() {
        let request = read("-in DIR/s").expect("it is served");
        assert!(request.output.ends_with("/s_mcf") && request.input.ends_with("s.nii.gz"));
        assert_eq!((request.reference, request.reading), (ReferenceVolume::Middle, Reading::Linear));
        let mean = read("-in DIR/s -refvol 3 -meanvol").expect("it is served");
        assert_eq!((mean.reference, mean.asked), (ReferenceVolume::Mean, Asked::default()));
    }

    #[test]
    fn what_is_not_served_is_refused_by_name() {
        for rest in ["-gdt", "-edge", "-init a.mat", "-cost woods", "-dof 3", "-refvol -1", "-nosuch", "-out"] {
            let refusal = read(&format!("-in DIR/s {rest}")).expect_err(rest);
            let first = rest.split(' ').next().unwrap_or_default();
            assert!(refusal.option.starts_with(first), "{rest}: {refusal}");
        }
        for line in ["-out o", "-in DIR/nosuch"] {
            assert!(read(line).is_err(), "{line}");
        }
    }
}
