//! Settings that the labelling of one target and leave-one-out scores have in common.

use std::path::{Path, PathBuf};

use antsreg_core::io::outputs;
use antsreg_pool::Devices;

use super::atlas::{Atlas, AtlasSource};
use super::options::LabelOptions;
use crate::pair::{Format, StartFile};
use crate::{Error, inputs};

/// The settings of a labelling: atlases, options, devices and outputs.
#[derive(Debug, Clone)]
pub struct AtlasStudy<'a> {
    /// The atlases.
    pub atlases: &'a [AtlasSource],
    /// The options of registration and fusion.
    pub options: &'a LabelOptions,
    /// The devices on which atlases are registered.
    pub devices: &'a Devices,
    /// Labels for which the overlap with the true labels is computed: a file of numbers, or numbers such as `1,2,5`;
    /// `None` for all but 0.
    pub label_list: Option<&'a str>,
    /// Whether to continue without atlases that cannot be used.
    pub keep_going: bool,
    /// Start of the paths of all output files, folder included.
    pub prefix: &'a str,
    /// Format of images and warps.
    pub format: Format,
    /// Number of threads, kept in the JSON record.
    pub threads: usize,
    /// Path of the HTML page that shows the result; `None` for no page.
    pub page: Option<&'a Path>,
    /// The command line of the program, kept in the JSON record of the labelling.
    pub command_line: &'a [String],
}

impl AtlasStudy<'_> {
    /// The path of a file that the labelling writes: the prefix of the outputs, and `rest`.
    pub(super) fn file(&self, rest: &str) -> PathBuf {
        PathBuf::from(format!("{}{rest}", self.prefix))
    }

    /// The path of an image that the labelling writes: the prefix of the outputs, `rest`, and the extension of the
    /// image format.
    pub(super) fn volume(&self, rest: &str) -> PathBuf {
        self.file(&format!("{rest}.{}", self.format.extension()))
    }

    /// Reads the list of the labels for which the overlap with the true labels is computed.
    pub(super) fn labels_that_count(&self) -> Result<Option<Vec<i32>>, Error> {
        self.label_list.map(inputs::label_list).transpose()
    }

    /// Checks that the outputs of a labelling can be written and replace no input: no file of an atlas, no table, no
    /// list of labels, and none of `others`.
    ///
    /// # Errors
    /// The first output that is refused.
    pub(super) fn check_outputs(
        &self,
        outputs: &[PathBuf],
        atlases: &[Atlas],
        others: &[&Path],
    ) -> Result<(), Error> {
        let tables = self.atlases.iter().filter_map(|source| match source {
            AtlasSource::Table(table) => Some(table.as_path()),
            AtlasSource::Files { .. } => None,
        });
        let start = match &self.options.start {
            StartFile::File(file) => Some(file.path.as_path()),
            StartFile::CentreOfMass | StartFile::Headers => None,
        };
        let list = self.label_list.and_then(inputs::label_list_file);
        let files = atlases.iter().flat_map(Atlas::files);
        let inputs = files.chain(tables).chain(start).chain(list).chain(others.iter().copied());
        let outputs = outputs.iter().map(PathBuf::as_path).chain(self.page);
        Ok(outputs::check(outputs, inputs)?)
    }
}
