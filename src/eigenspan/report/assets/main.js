"use strict";
// The whole page: panels with a common selection, colouring and hovered row.

const $ = (id) => document.getElementById(id);
const many = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
const MOST_PIXELS = 16e6; // of the canvas

class Explorer {
  constructor(head, buffer) {
    this.n = head.n;
    this.head = head;
    this.columns = head.columns.map((facts) => new Column(facts, buffer, head.n));
    this.hovered = this.columns.filter((column) => column.hover);
    this.selection = new Selection(head.n);
    this.panels = head.embeddings.flatMap((facts) => {
      const embedding = new Embedding(facts, buffer, head.n);
      return facts.pairs.map((pair) => new Panel(embedding, pair, this));
    });
    $("panels").append(...this.panels.map((panel) => panel.root));
    this.panels[0].alone.hidden = this.panels.length === 1;
    this.canvas = $("points");
    this.painter = this.makePainter();
    this.controls();
    this.layout();
    this.recolour();
    this.selected();
  }

  makePainter() {
    try {
      const painter = new GlPainter(this.canvas, this.n);
      this.canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
      this.canvas.addEventListener("webglcontextrestored", () => (painter.prepare(), this.upload()));
      return painter;
    } catch (failure) {
      const fresh = this.canvas.cloneNode(); // a canvas whose WebGL context was requested cannot provide a 2-D context
      this.canvas.replaceWith(fresh);
      this.canvas = fresh;
      $("notice").textContent = "WebGL is not available in this browser: large tables are drawn slowly.";
      return new FlatPainter(fresh, this.n);
    }
  }

  // ------------------------------------------------------------------------------ drawing
  /** Choose the number of columns that makes the panels largest, above a minimum size. */
  layout() {
    const [width, height] = [$("stage").clientWidth, Math.max(320, innerHeight - 190)];
    const shown = this.shown();
    const size = [width, height, devicePixelRatio, shown.length].join();
    if (size === this.size) return;
    this.size = size;
    const count = shown.length;
    const side = (across) => Math.min(width / across, height / Math.ceil(count / across) - 34);
    let best = 1;
    for (let across = 2; across <= count; across++) if (side(across) > side(best) + 1 && width / across >= 230) best = across;
    const rows = Math.ceil(count / best);
    const share = Math.min(Math.max(height / rows, 250), (width / best) * 1.15 + 34);
    $("panels").style.gridTemplateColumns = `repeat(${best}, minmax(0, 1fr))`;
    $("panels").style.gridAutoRows = `${Math.floor(share)}px`;
    const origin = this.origin();
    const most = Math.sqrt(MOST_PIXELS / (origin.width * origin.height || 1));
    this.ratio = Math.min(devicePixelRatio || 1, most, 8192 / Math.max(origin.width, origin.height, 1));
    this.canvas.width = Math.max(1, Math.round(origin.width * this.ratio));
    this.canvas.height = Math.max(1, Math.round(origin.height * this.ratio));
    for (const panel of shown) {
      panel.measure(origin);
      panel.point($("arrows").checked);
    }
    this.hover(null, -1);
    this.draw();
  }

  /** Visible panels: all of them, or the enlarged one. */
  shown() {
    return this.panels.filter((panel) => !panel.root.hidden);
  }

  /** Enlarge one panel, or show all panels again. */
  enlarge(panel) {
    const all = this.shown().length === 1;
    for (const other of this.panels) {
      other.root.hidden = !all && other !== panel;
      other.alone.setAttribute("aria-pressed", String(!all && other === panel));
    }
    this.layout();
  }

  origin() {
    return $("stage").getBoundingClientRect();
  }

  draw() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => this.paint());
  }

  paint() {
    this.asked = false;
    if (!this.scheme) return;
    const quiet = this.dark() ? [110, 116, 126] : [176, 180, 187];
    const shown = this.shown();
    this.painter.paint(shown, { table: this.scheme.table, chosen: this.selection.count > 0, quiet, ratio: this.ratio });
    for (const panel of shown) panel.mark(this.row ?? -1);
  }

  /** Draw all panels. */
  upload() {
    this.painter.choose(this.selection.rows);
    for (const panel of this.panels) this.painter.place(panel);
    this.draw();
  }

  axes(panel) {
    panel.point($("arrows").checked);
    panel.describe(this.colouring);
    this.painter.place(panel);
    this.draw();
  }

  // ------------------------------------------------------------------------------ colour
  dark() {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  recolour() {
    const palettes = { ...this.head.palettes, ...(this.dark() ? { missing: "#4a505a", others: "#777e89" } : {}) };
    const choice = $("colour").value;
    const column = this.columns[Number(choice)];
    if (choice === "distortion") this.scheme = this.distortionScheme(palettes);
    else if (column) this.scheme = schemeOf(column, palettes, this.dark());
    else this.scheme = { codes: new Uint8Array(this.n).fill(1), table: colourTable([channels(seen(palettes.few, this.dark())[0])], palettes.missing), entries: [] };
    const name = choice === "distortion" ? "distortion" : column && column.name;
    this.colouring = name ? `coloured by ${name}` : "in one colour";
    for (const panel of this.panels) {
      panel.codes = choice === "distortion" ? panel.embedding.distortion || new Uint8Array(this.n) : this.scheme.codes;
      panel.describe(this.colouring);
    }
    this.legend();
    this.upload();
  }

  /** Colour each panel by its own distortion, on a common scale. */
  distortionScheme(palettes) {
    const { lo, hi } = this.head.distortion;
    return { codes: null, table: rampTable(palettes.missing), entries: [], scale: { from: rounded(lo), to: rounded(hi) } };
  }

  legend() {
    const { entries, scale } = this.scheme;
    const parts = [];
    if (scale) {
      const bar = element("span", { class: "ramp", "aria-hidden": "true" });
      bar.style.background = `linear-gradient(90deg, ${VIRIDIS.join()})`;
      parts.push(element("span", { class: "scale" }, scale.from, bar, scale.to));
    }
    for (const { code, label, colour, count } of entries) {
      const dot = element("i", { "aria-hidden": "true" });
      dot.style.background = colour;
      const shown = shortened(label, 40) || "(empty)";
      const title = `Select the ${many(count, "row")} of ${shortened(label, 200) || "(empty)"}; with Shift, add them`;
      const chip = element("button", { type: "button", class: "chip", title }, dot, shown, element("small", {}, count.toLocaleString("en")));
      const { codes } = this.scheme;
      chip.addEventListener("click", (event) => this.select((i) => codes[i] === code, event.shiftKey ? "add" : "only"));
      parts.push(chip);
    }
    $("legend").replaceChildren(...parts);
  }

  // ------------------------------------------------------------------------------ selection
  tool() {
    return document.querySelector("input[name=tool]:checked").value;
  }

  select(inside, how) {
    this.selection.take(inside, how);
    this.selected();
  }

  /** Select one row; a click on no point clears the selection. */
  pick(row, how) {
    if (row < 0) return how === "only" ? this.clear() : undefined;
    const turned = this.selection.rows[row] ? "remove" : "add";
    this.select((i) => i === row, how === "turn" ? turned : how);
  }

  clear() {
    this.selection.clear();
    this.selected();
  }

  selected() {
    const { count, rows } = this.selection;
    $("count").textContent = count ? `${count.toLocaleString("en")} of ${many(this.n, "row")} selected` : `${many(this.n, "row")}, none selected`;
    for (const id of ["save", "clear", "invert"]) $(id).disabled = !count;
    this.painter.choose(rows);
    this.tell();
    this.draw();
  }

  /** List how the selected rows differ from all rows, and show the first of them. */
  tell() {
    const { count, rows } = this.selection;
    $("chosen").hidden = !count || !this.columns.length;
    if ($("chosen").hidden) return;
    const found = this.columns.map((column) => ({ column, ...contrast(column, rows) })).filter((entry) => entry.size > 0.1);
    found.sort((a, b) => b.size - a.size);
    const lines = found.slice(0, 6).map(({ column, mark, words }) =>
      element("li", {}, element("b", {}, column.name), " ", element("mark", {}, mark), " ", words));
    $("apart").replaceChildren(...(lines.length ? lines : [element("li", {}, "No column of the table distinguishes these rows.")]));
    const shown = this.hovered.slice(0, 8);
    const head = element("tr", {}, ...["row", ...shown.map((column) => column.name)].map((name) => element("th", { scope: "col" }, name)));
    const body = [];
    for (let i = 0; i < this.n && body.length < 6; i++) {
      if (rows[i]) body.push(element("tr", {}, ...[String(i), ...shown.map((column) => column.brief(i))].map((text) => element("td", {}, text))));
    }
    $("first").replaceChildren(element("thead", {}, head), element("tbody", {}, ...body));
  }

  save() {
    const text = csv(this.columns, this.selection.rows, !$("disarm").hidden && $("disarmed").checked);
    const link = element("a", { download: "selected-rows.csv", href: URL.createObjectURL(new Blob([text], { type: "text/csv" })) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  // ------------------------------------------------------------------------------ the row under the pointer
  hover(panel, row, event, cursor) {
    this.row = row;
    for (const other of this.shown()) other.mark(row);
    const tip = $("tip");
    tip.hidden = row < 0;
    if (row < 0) return;
    const lines = this.hovered.map((column) => [column.name, column.brief(row)]);
    const { distortion } = panel.embedding;
    if (distortion && this.head.distortion) {
      const { lo, hi, label } = this.head.distortion;
      lines.push([`${label} here`, distortion[row] ? String(Number((lo + ((distortion[row] - 1) / 254) * (hi - lo)).toPrecision(2))) : "missing"]);
    }
    const terms = lines.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]);
    tip.replaceChildren(element("b", {}, `row ${row}`), element("dl", {}, ...terms));
    const box = panel.plot.getBoundingClientRect();
    const [x, y] = event ? [event.clientX, event.clientY] : [box.left + cursor[0], box.top + cursor[1]];
    const place = (at, extent, most) => `${Math.max(4, at + 16 + extent > most ? at - 16 - extent : at + 16)}px`;
    tip.style.left = place(x, tip.offsetWidth, innerWidth);
    tip.style.top = place(y, tip.offsetHeight, innerHeight);
    if (!event) $("spoken").textContent = [`row ${row}`, ...lines.slice(0, 6).map((line) => line.join(" "))].join(", ");
  }

  // ------------------------------------------------------------------------------ controls
  controls() {
    const choice = $("colour");
    choice.append(new Option("one colour", "none"));
    this.columns.forEach((column, k) => choice.append(new Option(column.name, String(k))));
    if (this.head.distortion) choice.append(new Option(`${this.head.distortion.label} (of each panel)`, "distortion"));
    choice.value = String(this.head.colour);
    choice.addEventListener("change", () => this.recolour());
    $("clear").addEventListener("click", () => this.clear());
    $("invert").addEventListener("click", () => this.select((i) => !this.selection.rows[i], "only"));
    $("save").addEventListener("click", () => this.save());
    $("pointing").hidden = this.panels.every((panel) => !panel.embedding.arrows.length);
    $("arrows").addEventListener("change", () => this.shown().forEach((panel) => panel.point($("arrows").checked)));
    $("disarm").hidden = !hasFormulas(this.columns);
    $("theme").addEventListener("click", () => {
      document.documentElement.dataset.theme = this.dark() ? "light" : "dark";
      this.recolour();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.recolour());
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !event.defaultPrevented && event.target.tagName !== "SELECT") this.clear();
    });
    addEventListener("scroll", () => this.hover(null, -1), { passive: true });
    new ResizeObserver(() => this.layout()).observe($("stage"));
    addEventListener("resize", () => this.layout());
  }
}

async function start() {
  const head = JSON.parse($("head").textContent);
  const explorer = new Explorer(head, await unpack($("data").textContent));
  window.explorer = explorer;
  requestAnimationFrame(() => requestAnimationFrame(() => {
    explorer.ready = performance.now();
    document.body.dataset.state = "ready";
  }));
}

start().catch((failure) => {
  $("notice").textContent = `The panels cannot be drawn in this browser (${failure.message}). The rest of the report is below.`;
  document.body.dataset.state = "failed";
});
