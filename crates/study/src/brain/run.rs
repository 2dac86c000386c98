//! Extracts the brain from the file of a head and writes the results.

use std::path::Path;
use std::sync::Arc;

use antsreg_core::Volume;
use antsreg_core::io::outputs;
use antsreg_heads::brain::{Contrast, Extraction, Template};
use antsreg_register::DeviceChoice;

use super::files::BrainFiles;
use super::find::{built_in_template, find, template_of};
use super::page::brain_page;
use crate::observer::{Event, Observer, RunWarning};
use crate::{Error, inputs, transforms};

/// The template by which a brain is found.
#[derive(Debug, Clone, Copy)]
pub enum Heads<'a> {
    /// The built-in template, with one contrast or all.
    BuiltIn(Option<Contrast>),
    /// The files of a head and of the mask of its brain.
    Files([&'a Path; 2]),
}

/// A brain extraction: files and device.
#[derive(Debug, Clone, Copy)]
pub struct BrainRequest<'a> {
    /// File of the head.
    pub input: &'a Path,
    /// The output files.
    pub files: BrainFiles<'a>,
    /// File of the HTML page; `None` for no page.
    pub page: Option<&'a Path>,
    /// The template.
    pub template: Heads<'a>,
    /// The device.
    pub device: DeviceChoice,
    /// The command line of the program, which the page quotes.
    pub command_line: &'a [String],
}

/// An extracted brain whose files are written.
#[derive(Debug)]
pub struct Found {
    /// The image of the head.
    pub head: Arc<Volume>,
    /// The template.
    pub template: Template,
    /// The brain.
    pub brain: Extraction,
}

/// Extracts the brain from the file of a head and writes the results, all files or none.
///
/// # Errors
/// Outputs that cannot be written; files that cannot be read; a brain that cannot be found; a device that fails.
pub fn run(request: &BrainRequest, observer: &mut dyn Observer) -> Result<Found, Error> {
    let BrainRequest { input, files, page, template, device, command_line } = *request;
    files.paths().try_for_each(transforms::check_image_name)?;
    let of_template = match &template {
        Heads::Files(files) => &files[..],
        Heads::BuiltIn(_) => &[],
    };
    outputs::check(files.paths().chain(page), [input].iter().chain(of_template).copied())?;
    let (read, opened) = device.open_during(|| {
        let head = Arc::new(inputs::image(input)?);
        let template = match template {
            Heads::Files(files) => template_of(files)?,
            Heads::BuiltIn(contrast) => built_in_template(contrast)?,
        };
        Ok::<_, Error>((head, template))
    });
    let ((head, template), opened) = (read?, opened?);
    opened.note().iter().for_each(|note| observer.tell(&Event::Device(note)));
    observer.device(&opened.device);
    let brain = find(input, &head, &template, opened.device, observer.progress())?;
    let html = page.map(|_| brain_page(input, &head, &brain, &files, command_line)).transpose()?;
    files.write(&head, &brain, page.zip(html))?;
    files.paths().chain(page).for_each(|path| observer.tell(&Event::Wrote(path)));
    for warning in &brain.warnings {
        let warning = RunWarning::Image { path: input.into(), text: warning.to_string() };
        observer.tell(&Event::Warning(&warning));
    }
    Ok(Found { head, template, brain })
}
