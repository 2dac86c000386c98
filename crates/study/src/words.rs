//! Text for messages: command lines with a shell's quotes, and names of files without folder and extension.

use std::path::Path;

use antsreg_core::io::ImageFormat;

/// Quotes a word for a shell, if necessary.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-,:+=@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Joins the words of a command, quoted for a shell.
pub fn command(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// A file's name without the extensions of its format, such as `.nii.gz`.
pub fn stem(path: &Path) -> String {
    ImageFormat::stem(path).unwrap_or_else(|| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.strip_suffix(".gz").unwrap_or(&name).to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quoted("a/b_1.nii.gz"), "a/b_1.nii.gz");
        assert_eq!(quoted("[a.mat,1]"), "'[a.mat,1]'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(command(&["a".into(), "".into(), "b c".into()]), "a '' 'b c'");
    }
}
