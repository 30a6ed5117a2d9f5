"use strict";
(() => {
  const D = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";
  const ROW = 34;
  const C = D.cells;
  const N = C.row.length;
  const ACTIONS = ["corrected", "filled", "kept"];
  const FILLED = 1, KEPT = 2;
  const spaced = (v) => Math.round(v).toString().replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");

  // Every text of the page goes through textContent: what users' data say is shown, never run.
  function el(name, text, className) {
    const e = document.createElement(name);
    if (text !== undefined && text !== null) e.textContent = String(text);
    if (className) e.className = className;
    return e;
  }
  function svg(name, attributes, text) {
    const e = document.createElementNS(SVG, name);
    for (const key in attributes) e.setAttribute(key, attributes[key]);
    if (text !== undefined) e.textContent = String(text);
    return e;
  }
  // white space that a page would not show, at the ends of a text and inside
  const visible = (text) => text.replace(/^\s+|\s+$|\s{2,}|[\t\n\r\u00a0\u200b\ufeff]/g,
    (spaces) => [...spaces].map((c) => ({ "\n": "⏎", "\r": "⏎", "\t": "⇥" })[c] || "␣").join(""));
  const show = (v) => (v === null || v === undefined ? "(none)" : v === "" ? "(blank)" : visible(String(v)));
  const apart = (text) => `\u2068${text}\u2069`; // in its own direction: the words around a Hebrew text stay in order
  function number(v) {
    if (Number.isInteger(v)) return String(v);
    const a = Math.abs(v);
    return a >= 1e7 || (a > 0 && a < 1e-4) ? v.toExponential(3) : String(Number(v.toPrecision(6)));
  }

  // state
  let threshold = D.threshold;
  let moved = false;
  const decision = new Uint8Array(N); // 0 by the threshold, 1 accepted, 2 rejected
  let order = new Uint32Array(0);
  let sortKey = "probability", sortDown = true;
  let active = -1;
  const words = new Array(N);

  const probability = (i) => C.probability[i];
  const usable = (i) => C.suggested[i] !== null;
  function accepted(i) {
    if (!usable(i)) return false;
    if (decision[i]) return decision[i] === 1;
    if (!moved) return C.action[i] !== KEPT;
    return C.action[i] === FILLED || probability(i) >= threshold;
  }

  // head
  document.title = `MAGnet: ${D.title}`;
  $("title").textContent = D.title;
  $("subtitle").textContent = D.subtitle;
  for (const [value, label] of D.tiles) {
    const tile = el("div", null, "tile");
    tile.append(el("b", typeof value === "number" ? spaced(value) : value), el("span", label, "soft"));
    $("tiles").append(tile);
  }
  for (const note of D.notes) $("notes").append(el("p", note, "note"));
  for (const part of document.querySelectorAll(".findings")) part.hidden = !N;
  $("apply").textContent = D.apply;
  $("repeat").textContent = D.repeat;

  function fillTable(table, titles, rows) {
    const head = el("thead"), body = el("tbody"), line = el("tr");
    titles.forEach((t) => line.append(el("th", t.replace("#", ""), t.startsWith("#") ? "number" : "")));
    head.append(line);
    for (const row of rows) {
      const tr = el("tr");
      row.forEach((cell, k) => {
        const td = el("td", cell instanceof Node ? null : typeof cell === "number" ? spaced(cell) : cell, titles[k].startsWith("#") ? "number" : "");
        if (cell instanceof Node) td.append(cell);
        tr.append(td);
      });
      body.append(tr);
    }
    if (titles.some((t) => t.replace("#", "") !== "")) table.append(head);
    table.append(body);
  }
  const bar = (share) => {
    const b = el("span", null, "bar");
    b.style.width = `${Math.max(share > 0 ? 2 : 0, Math.round(90 * share))}px`;
    return b;
  };
  const most = Math.max(1, ...D.fields.map((f) => f.suspicious));
  fillTable($("by-column"), ["column", "#suspicious", "#blank", ""], D.fields.filter((f) => f.judged)
    .sort((a, b) => b.suspicious - a.suspicious).map((f) => [f.name, f.suspicious, f.blank, bar(f.suspicious / most)]));
  fillTable($("by-node"), [D.linked ? "node" : "row", "#suspicious cells", "#highest probability"],
    D.nodes.map((n) => [n[0], n[1], n[2] === null ? "" : n[2].toFixed(2)]));
  fillTable($("errors"), ["column", "error type", "#cells", "#changed", "observed → suggested"], D.errors.map(([column, kind, count, done, examples]) =>
    [column, kind, count, done, examples.map(([a, b, n]) => `${apart(show(a))} → ${apart(show(b))}${n > 1 ? ` (${n})` : ""}`).join(",  ")]));
  fillTable($("facts"), ["", "#"], D.facts);
  fillTable($("schema"), ["column", "role", "reason"], D.fields.map((f) => [f.name, f.judged ? f.role : `${f.role} (not judged)`, f.note]));

  // histogram and threshold
  const bars = [];
  let cutLine;
  (function drawHistogram() {
    const W = 1100, H = 150, bins = D.histogram.length, top = Math.log10(1 + Math.max(...D.histogram));
    const s = svg("svg", { viewBox: `0 0 ${W} ${H + 22}`, role: "img", "aria-label": "Number of cells by probability of being wrong" });
    D.histogram.forEach((count, k) => {
      const h = top ? (H - 8) * Math.log10(1 + count) / top : 0;
      const r = svg("rect", { x: W * k / bins + 1, y: H - h, width: W / bins - 2, height: h, class: "hist" });
      r.append(svg("title", {}, `${spaced(count)} cells, ${(k / bins).toFixed(2)} to ${((k + 1) / bins).toFixed(2)}`));
      bars.push(r);
      s.append(r);
    });
    s.append(svg("line", { x1: 0, x2: W, y1: H, y2: H, class: "axis" }));
    for (let k = 0; k <= 10; k++) s.append(svg("text", { x: Math.min(W - 22, W * k / 10 + 2), y: H + 15 }, (k / 10).toFixed(1)));
    cutLine = svg("line", { y1: 0, y2: H, class: "cut" });
    s.append(cutLine);
    $("histogram").append(s);
    cutLine.W = W;
  })();
  function showThreshold() {
    const k = Math.round(threshold * 100);
    $("shown-threshold").textContent = threshold.toFixed(2);
    $("counts").textContent = `${spaced(D.above[k])} cells of ${spaced(D.rows_above[k])} rows can be accepted`;
    cutLine.setAttribute("x1", cutLine.W * threshold);
    cutLine.setAttribute("x2", cutLine.W * threshold);
    bars.forEach((b, j) => b.setAttribute("class", j / bars.length >= threshold ? "hist over" : "hist"));
  }
  $("threshold").value = threshold;
  $("threshold").addEventListener("input", (e) => {
    threshold = Number(e.target.value);
    moved = true;
    save({ threshold });
    showThreshold();
    if ($("above").checked) select(); else paint();
    countDecisions();
  });
  $("reset").addEventListener("click", () => {
    threshold = D.threshold;
    moved = false;
    save({ threshold: null });
    $("threshold").value = threshold;
    showThreshold();
    select();
    countDecisions();
  });

  // the table: only the rows in view are in the page
  $("view").style.setProperty("--rows", `${Math.max(1, N) * ROW}px`);
  const titles = [["node", D.linked ? "Node" : "Row"], ["column", "Column"], ["kind", "Kind"], ["observed", "Observed"], ["suggested", "Suggested"],
    ["action", "Action"], ["probability", "Sure"], ["reason", "Reason"], [null, "Decision"]];
  for (const [key, label] of titles) {
    if (key === null) { $("head").append(el("span", label)); continue; }
    const b = el("button", label);
    b.type = "button";
    b.setAttribute("role", "columnheader");
    b.addEventListener("click", () => {
      sortDown = sortKey === key ? !sortDown : key === "probability";
      sortKey = key;
      select();
    });
    b.dataset.key = key;
    $("head").append(b);
  }
  D.fields.forEach((f, k) => {
    if (!f.judged) return;
    const o = el("option", f.name);
    o.value = k;
    $("column").append(o);
  });
  const value = {
    node: (i) => C.node[i], column: (i) => D.fields[C.column[i]].name, observed: (i) => C.observed[i],
    suggested: (i) => C.suggested[i], kind: (i) => C.kind[i], action: (i) => ACTIONS[C.action[i]], probability, reason: (i) => C.reason[i],
  };
  function compare(a, b) {
    const x = value[sortKey](a), y = value[sortKey](b);
    const nx = Number(x), ny = Number(y);
    const both = x !== "" && y !== "" && x !== null && y !== null && !Number.isNaN(nx) && !Number.isNaN(ny);
    const d = both ? nx - ny : String(x) < String(y) ? -1 : String(x) > String(y) ? 1 : 0;
    return (sortDown ? -d : d) || a - b;
  }
  function searchable(i) {
    if (words[i] === undefined) {
      words[i] = [C.node[i], D.fields[C.column[i]].name, C.kind[i], C.observed[i], C.suggested[i], C.reason[i]].join("\u0001").toLowerCase();
    }
    return words[i];
  }
  function select() {
    const text = $("search").value.trim().toLowerCase(), column = $("column").value, action = $("action").value;
    const above = $("above").checked, found = [];
    for (let i = 0; i < N; i++) {
      if (column !== "" && C.column[i] !== Number(column)) continue;
      if (action && ACTIONS[C.action[i]] !== action) continue;
      if (above && probability(i) < threshold) continue;
      if (text && !searchable(i).includes(text)) continue;
      found.push(i);
    }
    found.sort(compare);
    order = Uint32Array.from(found);
    $("space").style.height = `${order.length * ROW}px`;
    $("matching").textContent = `${spaced(order.length)} of ${spaced(N)} cells`;
    for (const b of $("head").querySelectorAll("button")) {
      b.setAttribute("aria-sort", b.dataset.key === sortKey ? (sortDown ? "descending" : "ascending") : "none");
    }
    $("view").scrollTop = 0;
    active = -1;
    paint();
  }
  function decide(i, what) {
    decision[i] = decision[i] === what ? 0 : what;
    save({ place: i, accept: decision[i] ? decision[i] === 1 : null });
    paint();
    countDecisions();
  }
  function makeRow(place) {
    const i = order[place], row = el("div", null, "row");
    row.setAttribute("role", "row");
    row.setAttribute("aria-rowindex", place + 1);
    row.dataset.place = place;
    row.style.top = `${place * ROW}px`;
    if (place === active) { row.classList.add("active"); row.setAttribute("aria-selected", "true"); }
    const yes = accepted(i);
    if (!yes) row.classList.add("rejected");
    const p = C.probability[i];
    const texts = [[C.node[i]], [D.fields[C.column[i]].name], [C.kind[i]], [show(C.observed[i]), "observed"], [show(C.suggested[i]), "suggested"],
      [ACTIONS[C.action[i]]], [p.toFixed(2), "number"], [C.reason[i]]];
    for (const [text, className] of texts) {
      const s = el("span", text, className);
      s.setAttribute("role", "gridcell");
      s.title = String(text);
      row.append(s);
    }
    const buttons = el("span");
    for (const [label, what] of [["accept", 1], ["reject", 2]]) {
      const b = el("button", label);
      b.type = "button";
      b.tabIndex = -1;
      b.setAttribute("aria-pressed", String(decision[i] === what));
      b.disabled = !usable(i);
      b.addEventListener("click", (e) => { e.stopPropagation(); decide(i, what); });
      buttons.append(b);
    }
    row.append(buttons);
    row.addEventListener("click", () => { activate(place); $("view").focus(); });
    return row;
  }
  function paint() {
    const view = $("view");
    const first = Math.max(0, Math.floor(view.scrollTop / ROW) - 4);
    const last = Math.min(order.length, Math.ceil((view.scrollTop + view.clientHeight) / ROW) + 4);
    const rows = [];
    for (let place = first; place < last; place++) rows.push(makeRow(place));
    $("space").replaceChildren(...rows);
  }
  function activate(place) {
    if (!order.length) return;
    active = Math.max(0, Math.min(order.length - 1, place));
    const view = $("view"), top = active * ROW;
    if (top < view.scrollTop) view.scrollTop = top;
    if (top + ROW > view.scrollTop + view.clientHeight) view.scrollTop = top + ROW - view.clientHeight;
    paint();
    detail(order[active]);
  }
  let waiting = false;
  $("view").addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; paint(); });
  });
  $("view").addEventListener("keydown", (e) => {
    const page = Math.floor($("view").clientHeight / ROW);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -N, End: N };
    if (e.key in steps) { activate(active < 0 ? 0 : active + steps[e.key]); e.preventDefault(); return; }
    if (active < 0 || e.ctrlKey || e.metaKey || e.altKey) return;
    const i = order[active];
    if (e.key === "a") { decision[i] = 0; decide(i, 1); }
    else if (e.key === "r") { decision[i] = 0; decide(i, 2); }
    else if (e.key === "u") decide(i, 0);
  });
  let typing;
  $("search").addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(select, 120); });
  for (const id of ["column", "action", "above"]) $(id).addEventListener("change", select);

  // one cell and its neighbors
  function detail(i) {
    const box = $("detail"), f = D.fields[C.column[i]];
    box.replaceChildren(el("h3", `${C.node[i]}: ${f.name}`), el("p", C.reason[i]));
    box.append(el("p", `observed ${apart(show(C.observed[i]))}, suggested ${apart(show(C.suggested[i]))}, ` +
      `${ACTIONS[C.action[i]]}, row ${C.row[i]} (counted from 0)` +
      (C.score[i] === null ? "" : `, score ${number(C.score[i])}`), "soft"));
    if (!D.linked) return;
    const [trusted, doubtful] = D.neighbors[i];
    if (!trusted.length && !doubtful.length) { box.append(el("p", "No linked row has a value here.", "soft")); return; }
    const drawn = f.numeric && [...trusted, ...doubtful].some((v) => Number.isFinite(asNumber(v)));
    box.append(drawn ? strip(f, i, trusted.map(asNumber), doubtful.map(asNumber)) : votes(i, trusted, doubtful));
  }
  const asNumber = (v) => (v === null || v === "" ? NaN : Number(String(v).replace(/,(?=\d{3}(\D|$))/g, "")));
  function strip(f, i, trusted, doubtful) {
    const W = 760, H = 112, left = 20, right = W - 20;
    const seen = asNumber(C.observed[i]), wanted = asNumber(C.suggested[i]);
    const all = [...trusted, ...doubtful, seen, wanted, f.low, f.high].filter((v) => v !== null && Number.isFinite(v));
    // one wild value must not squeeze all others into a point
    const smallest = Math.min(...all), largest = Math.max(...all);
    const log = smallest > 0 && largest > 50 * smallest;
    const t = (v) => (log ? Math.log(v) : v);
    const low = t(smallest), span = t(largest) - low || 1;
    const x = (v) => left + (right - left) * (t(v) - low) / span;
    const s = svg("svg", { viewBox: `0 0 ${W} ${H}`, width: W, role: "img", class: "strip", "aria-label": "Values of the linked rows" });
    if (f.low !== null) s.append(svg("rect", { x: x(f.low), y: 22, width: Math.max(1, x(f.high) - x(f.low)), height: 40, class: "column" }));
    s.append(svg("line", { x1: left, x2: right, y1: 62, y2: 62, class: "axis" }));
    const dot = (v, k, className) => { if (Number.isFinite(v)) s.append(svg("circle", { cx: x(v), cy: 34 + (k % 4) * 7, r: 4.5, class: className })); };
    trusted.forEach((v, k) => dot(v, k, "trusted"));
    doubtful.forEach((v, k) => dot(v, k, "doubtful"));
    const mark = (v, className, y, label) => {
      if (!Number.isFinite(v)) return;
      s.append(svg("path", { d: `M${x(v)},${y - 7} l6,7 l-6,7 l-6,-7 z`, class: className }));
      s.append(svg("text", { x: Math.min(right - 60, Math.max(0, x(v) - 24)), y: y < 40 ? 10 : 93 }, label));
    };
    mark(wanted, "suggested", 22, "suggested");
    mark(seen, "observed", 72, "observed");
    s.append(svg("text", { x: left, y: 109 }, number(tidy(smallest, largest))));
    s.append(svg("text", { x: right, y: 109, "text-anchor": "end" }, number(largest)));
    const box = el("div");
    box.append(s, el("p", "Blue: linked rows; hollow: linked rows whose value is suspicious itself; band: the middle 98 % of the column.", "soft"));
    return box;
  }
  // what rounding leaves of a zero is not a number to read
  const tidy = (v, scale) => (Math.abs(v) < 1e-6 * Math.abs(scale) ? 0 : v);
  function votes(i, trusted, doubtful) {
    const count = new Map();
    for (const text of trusted) count.set(text, (count.get(text) || 0) + 1);
    for (const v of [C.observed[i], C.suggested[i]]) {
      const text = String(v === null ? "" : v);
      if (text && !count.has(text)) count.set(text, 0);
    }
    const list = [...count].sort((a, b) => b[1] - a[1]).slice(0, 8), top = Math.max(1, list[0] ? list[0][1] : 1);
    const s = svg("svg", { viewBox: `0 0 760 ${list.length * 22 + 6}`, width: 760, role: "img", class: "votes", "aria-label": "Values of the linked rows" });
    list.forEach(([text, c], row) => {
      const className = text === String(C.suggested[i]) ? "suggested" : text === String(C.observed[i]) ? "observed" : "trusted";
      s.append(svg("text", { x: 0, y: row * 22 + 15 }, text.length > 34 ? text.slice(0, 33) + "…" : text));
      s.append(svg("rect", { x: 240, y: row * 22 + 3, width: Math.max(2, 440 * c / top), height: 15, class: className }));
      s.append(svg("text", { x: 246 + Math.max(2, 440 * c / top), y: row * 22 + 15 }, c));
    });
    const box = el("div");
    box.append(s, el("p", `How many of ${trusted.length} linked rows hold each value (red: this cell's, green: the suggestion).` +
      (doubtful.length ? ` ${doubtful.length} linked rows are suspicious here themselves.` : ""), "soft"));
    return box;
  }

  // decisions: under magnet review each one is sent to the server, in the order in which they are made
  const unsent = [];
  let sending = false;
  function save(change) {
    if (!D.review) return;
    const last = unsent[unsent.length - 1];
    if (last && "threshold" in last && "threshold" in change && (unsent.length > 1 || !sending)) unsent.pop();
    unsent.push(change);
    $("saved").textContent = "saving ...";
    if (!sending) send();
  }
  async function send() {
    sending = true;
    while (unsent.length) {
      try {
        const answer = await fetch("decisions", { method: "POST", body: JSON.stringify(unsent[0]), headers: { "Content-Type": "application/json" } });
        if (!answer.ok) throw new Error((await answer.text()).trim());
        unsent.shift();
      } catch (error) {
        $("saved").textContent = `not saved: ${error.message}; trying again`;
        await new Promise((done) => setTimeout(done, 1000));
      }
    }
    sending = false;
    $("saved").textContent = "all decisions saved";
  }
  function countDecisions() {
    let yes = 0, by = 0;
    for (let i = 0; i < N; i++) { if (accepted(i)) yes++; if (decision[i]) by++; }
    $("decided").textContent = `accepted: ${spaced(yes)}, not accepted: ${spaced(N - yes)}; decided by you: ${spaced(by)}`;
  }
  $("export").addEventListener("click", () => {
    const cells = [];
    for (let i = 0; i < N; i++) {
      cells.push({ row: C.row[i], node: C.node[i], column: D.fields[C.column[i]].name, observed: C.observed[i],
        suggested: C.suggested[i], accept: accepted(i), decided_by: decision[i] ? "user" : "threshold" });
    }
    const text = JSON.stringify({ ...D.decisions, threshold, cells }, null, 1);
    const link = el("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = "decisions.json";
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  });

  // before and after, as values
  (function drawChanges() {
    const H = D.changes;
    const table = el("table"), head = el("tr");
    head.append(el("th", D.linked ? "node" : "row"), ...H.columns.map((name) => el("th", name)));
    table.append(el("thead"));
    table.tHead.append(head);
    const body = el("tbody");
    H.rows.forEach((name, r) => {
      const line = el("tr");
      line.append(el("th", name));
      for (const [before, after, action] of H.cells[r]) {
        const cell = el("td");
        if (!action) cell.textContent = before;
        else {
          cell.className = action;
          cell.append(el(action === "kept" ? "span" : "del", show(before), "observed"));
          if (after) cell.append(" ", el("span", action === "kept" ? `(${show(after)}?)` : show(after), "suggested"));
        }
        line.append(cell);
      }
      body.append(line);
    });
    table.append(body);
    $("changes").append(table);
  })();

  if (D.review) {
    $("served").hidden = true;
    for (const [i, yes] of D.review.decided) decision[i] = yes ? 1 : 2;
    if (D.review.threshold !== null) { threshold = D.review.threshold; moved = true; $("threshold").value = threshold; }
    $("saved").textContent = "decisions are saved immediately";
    window.addEventListener("beforeunload", (e) => { if (unsent.length) e.preventDefault(); });
  }
  showThreshold();
  select();
  countDecisions();
})();
