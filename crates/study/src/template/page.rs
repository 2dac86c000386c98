//! The report: one HTML file with pictures, chart and table, for inspection before the template is used.

use std::fmt::Write;

use super::update::TemplateResults;

/// A picture with its title.
pub struct Row {
    /// The template or subject that it shows.
    pub title: String,
    /// Statistics.
    pub note: String,
    /// The picture as a `data:` address.
    pub picture: String,
}

/// The contents of the page.
pub struct Contents<'a> {
    /// The templates, from the first to the last.
    pub templates: Vec<Row>,
    /// The subjects on the last template.
    pub subjects: Vec<Row>,
    /// The statistics of each pass.
    pub passes: &'a [TemplateResults],
    /// Chart of these statistics, an SVG.
    pub chart: String,
    /// Subjects that were left out, with the reason.
    pub left_out: Vec<String>,
    /// Length of the mean of all final warps, voxels.
    pub mean_final_warp_voxels: f64,
}

const STYLE: &str = "body{font:15px sans-serif;margin:2em;max-width:72em}table{border-collapse:collapse}\
td,th{padding:.2em .8em;text-align:right;border-bottom:1px solid #ccc}figure{margin:1em 0}\
figcaption{margin-bottom:.3em}img{background:#000;max-width:100%}";

/// The page as HTML.
pub fn render(contents: &Contents) -> String {
    let mut page = String::new();
    // Writing to a String cannot fail.
    let _ = write!(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Atlas</title><style>{STYLE}</style></head>\
         <body>\n<h1>Atlas of {} subjects</h1>\n<p>Slices: axial, coronal, sagittal; the subject's right is to the right. \
         Mean of all final warps in the foreground: {:.4} voxels.</p>\n",
        contents.subjects.len(),
        contents.mean_final_warp_voxels
    );
    if !contents.left_out.is_empty() {
        let _ = writeln!(page, "<p><strong>Left out:</strong> {}</p>", escaped(&contents.left_out.join("; ")));
    }
    page.push_str("<h2>Course</h2>\n");
    page.push_str(&contents.chart);
    page.push_str(
        "\n<table><tr><th>pass</th><th>moved, voxels</th><th>at most</th><th>mean warp, voxels</th>\
         <th>correlation with the one before</th><th>sharpness, 1 / mm</th></tr>\n",
    );
    for pass in contents.passes {
        let correlation = pass.correlation_with_before.map_or("–".into(), |value| format!("{value:.4}"));
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td>{:.4}</td><td>{:.3}</td><td>{:.4}</td><td>{correlation}</td><td>{:.4}</td></tr>",
            pass.pass,
            pass.moved_mean_voxels,
            pass.moved_largest_voxels,
            pass.mean_warp_voxels,
            pass.sharpness_per_mm
        );
    }
    page.push_str("</table>\n");
    for (title, rows) in [("Template", &contents.templates), ("Subjects on the template", &contents.subjects)] {
        let _ = writeln!(page, "<h2>{title}</h2>");
        for Row { title, note, picture } in rows {
            let (title, note) = (escaped(title), escaped(note));
            let _ = writeln!(
                page,
                "<figure><figcaption><strong>{title}</strong> {note}</figcaption><img alt=\"{title}\" src=\"{picture}\"></figure>"
            );
        }
    }
    page.push_str("</body></html>\n");
    page
}

/// Text with the characters that mean markup in HTML escaped.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_become_markup() {
        let row = Row { title: "a<b>".into(), note: "\"x\" & y".into(), picture: "data:,".into() };
        let contents = Contents {
            templates: vec![],
            subjects: vec![row],
            passes: &[],
            chart: "<svg></svg>".into(),
            left_out: vec!["c (<gone>)".into()],
            mean_final_warp_voxels: 0.0123,
        };
        let page = render(&contents);
        for part in ["a&lt;b&gt;", "&quot;x&quot; &amp; y", "c (&lt;gone&gt;)", "0.0123 voxels", "<svg></svg>"] {
            assert!(page.contains(part), "`{part}` is missing");
        }
    }
}
