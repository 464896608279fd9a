// Sorts a table when one of its headings is clicked.
for (const table of document.querySelectorAll("table[data-sortable]")) {
  const body = table.tBodies[0], headings = [...table.tHead.rows[0].cells];
  const value = (row, column) => row.cells[column].dataset.value ?? row.cells[column].textContent;
  for (const [column, heading] of headings.entries()) {
    if (!heading.dataset.sort) continue;
    const sort = () => {
      const rising = heading.getAttribute("aria-sort") === "descending";
      for (const other of headings) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", rising ? "ascending" : "descending");
      const number = heading.dataset.sort === "number", direction = rising ? 1 : -1;
      const key = (row) => number ? (value(row, column) === "" ? -Infinity : Number(value(row, column))) : value(row, column);
      const rows = [...body.rows].map((row) => ({ row, key: key(row) }));
      rows.sort((a, b) => direction * (number ? Math.sign(a.key - b.key) || 0 : a.key.localeCompare(b.key)));
      body.append(...rows.map(({ row }) => row));
    };
    heading.tabIndex = 0;
    heading.setAttribute("role", "columnheader");
    heading.addEventListener("click", sort);
    heading.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); sort(); } });
  }
}
