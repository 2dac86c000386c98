//! Texts and numbers that an HTML report page shows.

/// The texts and numbers of an HTML report page that are not pictures or charts: title, warnings, measures, command
/// line and files.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// Title of the page, such as `sub-01 onto the template`.
    pub title: String,
    /// Line below the title: the registration method and its settings.
    pub subtitle: String,
    /// The most important numbers of the result, each as value and description. The report page shows them at the top.
    pub highlights: Vec<[String; 2]>,
    /// Warnings that the result which the page reports may be wrong.
    pub warnings: Vec<String>,
    /// All numbers of the reported result, in sections with titles.
    pub sections: Vec<Section>,
    /// The command line that produced the result.
    pub command: String,
    /// Files that were read and written for the result.
    pub files: Vec<File>,
    /// Longer texts, each with a title. The report page shows only the title until the reader opens the text.
    pub details: Vec<[String; 2]>,
    /// Name and version of the program that made the report page.
    pub program: String,
}

/// A section of the numbers on a report page, with its title.
#[derive(Debug, Clone)]
pub struct Section {
    /// Title of this section of numbers on the report page.
    pub title: String,
    /// Rows of this section of numbers on the report page, each as name and value.
    pub rows: Vec<[String; 2]>,
}

/// A file that was read or written for the result.
#[derive(Debug, Clone)]
pub struct File {
    /// Role of the file, such as `fixed image`.
    pub role: String,
    /// Name of this input or output file, as the report page shows it.
    pub path: String,
    /// Size and shape of the image in this file.
    pub detail: String,
}
