//! Texts and figures of a page.

/// Texts and figures of a page.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// What the page is about, such as `sub-01 onto the template`.
    pub title: String,
    /// One line: the method and its settings.
    pub subtitle: String,
    /// The most important figures: value and description.
    pub highlights: Vec<[String; 2]>,
    /// Warnings about the result.
    pub warnings: Vec<String>,
    /// All figures.
    pub sections: Vec<Section>,
    /// The command.
    pub command: String,
    /// Files that were read and written.
    pub files: Vec<File>,
    /// Longer texts that the page shows on request: title and text.
    pub details: Vec<[String; 2]>,
    /// The program and its version.
    pub program: String,
}

/// Figures of one kind.
#[derive(Debug, Clone)]
pub struct Section {
    /// Heading of the group.
    pub title: String,
    /// Name and value.
    pub rows: Vec<[String; 2]>,
}

/// A file.
#[derive(Debug, Clone)]
pub struct File {
    /// Role of the file, such as `fixed image`.
    pub role: String,
    /// Name of the file.
    pub path: String,
    /// Size and shape.
    pub detail: String,
}
