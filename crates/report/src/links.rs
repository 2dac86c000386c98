//! Links between HTML report pages: addresses of files, and the small picture that a page stores in its head for other
//! pages.

/// HTML before the small picture of the registered image in the head of a page. The page of a group of results copies
/// this picture into its table.
const BEFORE: &str = "<meta name=\"thumbnail\" content=\"";

/// Returns the small picture that the head of a report page contains, as a `data:` address; `None` if there is no valid
/// picture.
pub fn thumbnail_in(head: &str) -> Option<&str> {
    let from = head.find(BEFORE)? + BEFORE.len();
    let picture = &head[from..];
    let picture = &picture[..picture.find('"')?];
    picture
        .strip_prefix("data:image/png;base64,")?
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(&b))
        .then_some(picture)
}

/// The address (URL) of a file, from its path relative to the folder of the page.
pub fn link_to(path: &str) -> String {
    let mut link = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' => link.push(byte.into()),
            _ => link.push_str(&format!("%{byte:02X}")),
        }
    }
    // A colon in a file name is encoded, so that the name is not read as a URL with a scheme.
    link
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_are_links() {
        assert_eq!(link_to("sub-01_report.html"), "sub-01_report.html");
        assert_eq!(link_to("javascript:a b#ä"), "javascript%3Aa%20b%23%C3%A4");
    }

    #[test]
    fn only_pictures_are_taken_from_pages() {
        let page = |content: &str| format!("<head>{BEFORE}{content}\">");
        assert_eq!(thumbnail_in(&page("data:image/png;base64,iVBO+/=")), Some("data:image/png;base64,iVBO+/="));
        for content in ["http://x/y.png", "data:image/png;base64,<", "data:text/html,a"] {
            assert_eq!(thumbnail_in(&page(content)), None, "{content}");
        }
        assert_eq!(thumbnail_in("<head>"), None);
    }
}
