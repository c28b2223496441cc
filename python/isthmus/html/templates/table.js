// A click on a heading sorts its column; a second one the other way round.
for (const table of document.querySelectorAll("table.sortable")) {
  table.querySelectorAll("th").forEach((heading, column) => {
    if (!heading.textContent) return;
    heading.tabIndex = 0;
    const sort = () => {
      const down = heading.getAttribute("aria-sort") !== "descending";
      table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => row.cells[column].dataset.n ?? row.cells[column].textContent;
      const compare = (a, b) => (isNaN(a) || isNaN(b) ? String(a).localeCompare(b) : a - b);
      const body = table.tBodies[0];
      [...body.rows].sort((a, b) => (down ? -1 : 1) * compare(key(a), key(b))).forEach((row) => body.append(row));
    };
    heading.addEventListener("click", sort);
    heading.addEventListener("keydown", (event) => event.key === "Enter" && sort());
  });
}
// On paper nothing can be unfolded.
addEventListener("beforeprint", () => document.querySelectorAll("details.sources").forEach((part) => (part.open = true)));
