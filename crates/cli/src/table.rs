//! Formats tables for the terminal. The first column is aligned to the left, all others to the right.

/// Formats rows of equal length as a table with aligned columns. The first row is the header.
pub fn render(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(
                |(column, (cell, &width))| {
                    if column == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
                },
            )
            .collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn columns_line_up() {
        let rows = [["Label", "Dice"], ["1", "0.5"], ["1000", "0.25"]].map(|row| row.map(String::from).to_vec());
        assert_eq!(super::render(&rows), "Label  Dice\n1       0.5\n1000   0.25\n");
    }
}
