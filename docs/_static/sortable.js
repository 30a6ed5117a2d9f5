"use strict";
// Tables of the results pages are sorted by a click on a column's head, or by Enter on it.
document.addEventListener("DOMContentLoaded", () => {
  const number = (text) => {
    const found = text.replace("▲", "").replace("▼", "").trim().match(/^[-+]?\d*\.?\d+(e[-+]?\d+)?/i);
    return found ? Number(found[0]) : NaN;
  };
  for (const table of document.querySelectorAll("article table.table")) {
    const body = table.tBodies[0];
    if (!body || body.rows.length < 3 || !table.tHead) continue;
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      head.tabIndex = 0;
      head.classList.add("sortable");
      head.setAttribute("role", "columnheader");
      head.setAttribute("aria-sort", "none");
      const sort = () => {
        const down = head.getAttribute("aria-sort") !== "descending";
        for (const other of table.tHead.rows[0].cells) other.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const text = (row) => (row.cells[column] ? row.cells[column].textContent : "");
        const rows = [...body.rows].map((row, place) => ({ row, place, text: text(row), value: number(text(row)) }));
        rows.sort((a, b) => {
          if (Number.isNaN(a.value) !== Number.isNaN(b.value)) return Number.isNaN(a.value) ? 1 : -1;
          const d = Number.isNaN(a.value) ? a.text.localeCompare(b.text) : a.value - b.value;
          return (down ? -d : d) || a.place - b.place;
        });
        body.append(...rows.map((entry) => entry.row));
      };
      head.addEventListener("click", sort);
      head.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(); });
    });
  }
});
