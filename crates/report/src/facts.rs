//! What a page says in words and figures.

/// What a page says beside its pictures.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// What the page is about, such as `sub-01 onto the template`.
    pub title: String,
    /// A line about how it was made.
    pub subtitle: String,
    /// The figures that matter most: value and what it is.
    pub highlights: Vec<[String; 2]>,
    /// Doubts about the result.
    pub warnings: Vec<String>,
    /// All figures.
    pub sections: Vec<Section>,
    /// The command.
    pub command: String,
    /// What was read and written.
    pub files: Vec<File>,
    /// Longer texts, folded away: title and text.
    pub details: Vec<[String; 2]>,
    /// The program and its version.
    pub program: String,
}

/// Figures of one kind.
#[derive(Debug, Clone)]
pub struct Section {
    /// What they are about.
    pub title: String,
    /// Name and value.
    pub rows: Vec<[String; 2]>,
}

/// A file.
#[derive(Debug, Clone)]
pub struct File {
    /// What it is for, such as `fixed image`.
    pub role: String,
    /// Its name.
    pub path: String,
    /// Size, shape and the like.
    pub detail: String,
}
