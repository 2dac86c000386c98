{
  const table = document.getElementById("table");
  const rows = [...table.tBodies[0].rows];
  const value = (row, column) => {
    const text = row.cells[column].dataset.value ?? "";
    const number = Number(text);
    return text !== "" && Number.isFinite(number) ? number : text;
  };
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true }));
  for (const label of table.querySelectorAll("[data-sort]")) {
    const heading = label.closest("th");
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = label.textContent;
    label.replaceWith(button);
    button.addEventListener("click", () => {
      const up = heading.getAttribute("aria-sort") !== "ascending";
      for (const other of table.querySelectorAll("[aria-sort]")) other.setAttribute("aria-sort", "none");
      heading.setAttribute("aria-sort", up ? "ascending" : "descending");
      const column = heading.cellIndex;
      // Rows without a value stay at the end.
      const empty = (row) => value(row, column) === "";
      const sorted = [...rows].sort((a, b) => empty(a) - empty(b) || (up ? 1 : -1) * compare(value(a, column), value(b, column)));
      table.tBodies[0].append(...sorted);
    });
  }
  document.getElementById("marked-only").addEventListener("change", (event) => {
    for (const row of rows) row.hidden = event.target.checked && !("marked" in row.dataset);
  });
  // What was noted is kept by the browser where it allows that to pages in files.
  const place = "verdicts:" + location.pathname;
  const noted = () => rows.map((row) => [row.dataset.name, row.querySelector("select").value, row.querySelector("input").value]);
  try {
    const kept = new Map(JSON.parse(localStorage.getItem(place) ?? "[]").map(([name, ...rest]) => [name, rest]));
    for (const row of rows) {
      const [verdict, note] = kept.get(row.dataset.name) ?? ["", ""];
      row.querySelector("select").value = verdict;
      row.querySelector("input").value = note;
    }
  } catch { /* Nothing is kept. */ }
  table.addEventListener("change", () => {
    try { localStorage.setItem(place, JSON.stringify(noted())); } catch { /* Nothing is kept. */ }
  });
  document.getElementById("save").addEventListener("click", () => {
    const lines = [["subject", "verdict", "note"], ...noted()].map((cells) => cells.map((cell) => cell.replace(/[\t\r\n]+/g, " ")).join("\t"));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([lines.join("\n") + "\n"], { type: "text/tab-separated-values" }));
    link.download = "verdicts.tsv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    document.getElementById("saved").textContent = "Saved as verdicts.tsv";
  });
}
