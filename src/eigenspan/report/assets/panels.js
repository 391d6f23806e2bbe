"use strict";
// A panel: two axes of one embedding, with its pointer and key handlers.

const CELLS = 128; // per side of the grid for nearest-point searches
const REACH = 12; // maximum distance in pixels from the pointer to a hovered point
const MARGIN = 16; // pixels between the points and the frame
const MOST_ARROWS = 6;
const MOVES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** Create an element with text attributes and children. */
function element(tag, attributes = {}, ...children) {
  const space = ["svg", "path", "circle", "g", "text"].includes(tag) ? "http://www.w3.org/2000/svg" : "http://www.w3.org/1999/xhtml";
  const made = document.createElementNS(space, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

class Panel {
  /** `page` receives the events of the panel: hover, lasso, pick, escape, draw, axes. */
  constructor(embedding, pair, page) {
    this.embedding = embedding;
    this.page = page;
    this.codes = new Uint8Array(embedding.axes[0].places.length);
    this.stretched = false;
    this.corners = [];
    this.cursor = null;
    this.pair = pair;
    this.build();
    this.show(...pair);
    this.listen();
  }

  build() {
    const { embedding } = this;
    this.lasso = element("path", { class: "lasso" });
    this.cross = element("path", { class: "cross" });
    this.arrows = element("g", { class: "arrows" });
    this.ring = element("circle", { class: "ring", r: 6, visibility: "hidden" });
    this.plot = element("div", { class: "plot", tabindex: 0, role: "application", "aria-describedby": "keys" });
    this.plot.append(element("svg", { "aria-hidden": "true" }, this.arrows, this.lasso, this.cross, this.ring));
    const button = (sign, title, action) => {
      const made = element("button", { type: "button", class: "small", title, "aria-label": `${embedding.name}: ${title}` }, sign);
      made.addEventListener("click", action);
      return made;
    };
    const buttons = element("span", { class: "buttons" });
    if (embedding.axes.length > 2) buttons.append(this.axisChoice());
    this.stretch = button("↔", "Stretch both axes to fill the panel", () => this.setStretched(!this.stretched));
    this.stretch.setAttribute("aria-pressed", "false");
    const zoom = (factor) => () => this.zoom(factor, this.box.width / 2, this.box.height / 2);
    buttons.append(this.stretch, button("−", "Zoom out", zoom(1 / 1.5)), button("+", "Zoom in", zoom(1.5)));
    this.alone = button("⤢", "Show this panel alone", () => this.page.enlarge(this));
    this.alone.setAttribute("aria-pressed", "false");
    buttons.append(button("⌂", "Show all points", () => this.reset()), this.alone);
    const name = element("h3", { title: embedding.name }, embedding.name);
    const note = element("small", {}, embedding.note || "");
    this.root = element("section", { class: "panel" }, element("header", {}, name, note, buttons), this.plot);
  }

  axisChoice() {
    const choice = element("select", { class: "small", "aria-label": `${this.embedding.name}: axes`, title: "Axes" });
    this.embedding.axes.forEach((_, a) => {
      for (let b = a + 1; b < this.embedding.axes.length; b++) choice.append(new Option(`${a + 1} × ${b + 1}`, `${a},${b}`));
    });
    choice.value = this.pair.join();
    choice.addEventListener("change", () => {
      this.show(...choice.value.split(",").map(Number));
      this.page.axes(this);
    });
    return choice;
  }

  /** Show these two axes. */
  show(a, b) {
    [this.x, this.y] = [this.embedding.axes[a], this.embedding.axes[b]];
    this.pair = [a, b];
    this.grid = null;
    if (this.box) this.reset();
  }

  /** Position of the plot on the canvas; keeps the current view. */
  measure(origin) {
    const { left, top, width, height } = this.plot.getBoundingClientRect();
    this.box = { left: left - origin.left, top: top - origin.top, width: Math.max(1, width), height: Math.max(1, height) };
    if (!this.view) this.view = { zoom: 1, cx: (this.x.lo + this.x.hi) / 2, cy: (this.y.lo + this.y.hi) / 2 };
    this.fit();
    this.cursor = null;
    this.corners = [];
    this.trace();
  }

  /** Pixels per unit of each axis: equal for both, so that lengths can be compared, unless the panel is stretched. */
  fit() {
    const { width, height } = this.box;
    const across = Math.max(1, width - 2 * MARGIN) / (this.x.hi - this.x.lo || 1);
    const down = Math.max(1, height - 2 * MARGIN) / (this.y.hi - this.y.lo || 1);
    const same = Math.min(across, down);
    this.view.kx = this.view.zoom * (this.isStretched() ? across : same);
    this.view.ky = this.view.zoom * (this.isStretched() ? down : same);
  }

  /** Row numbers are always stretched, because their unit cannot be compared. */
  isStretched() {
    return this.stretched || this.y.label === "row number";
  }

  setStretched(stretched) {
    this.stretched = stretched;
    this.stretch.setAttribute("aria-pressed", String(stretched));
    this.reset();
  }

  reset() {
    this.view = null;
    this.measure(this.page.origin());
    this.page.draw();
  }

  zoom(factor, px, py) {
    const { view, box } = this;
    const zoom = Math.min(4000, Math.max(0.2, view.zoom * factor));
    const kept = 1 - view.zoom / zoom; // share of the way to the pointer
    view.cx += ((px - box.width / 2) / view.kx) * kept;
    view.cy -= ((py - box.height / 2) / view.ky) * kept;
    view.zoom = zoom;
    this.fit();
    this.page.draw();
  }

  pan(dx, dy) {
    this.view.cx -= dx / this.view.kx;
    this.view.cy += dy / this.view.ky;
    this.page.draw();
  }

  /** Pixel of a row within the plot. */
  pixel(i) {
    const { sx, tx, sy, ty } = pixelMap(this);
    return [(this.x.places[i] / 65535) * sx + tx, (this.y.places[i] / 65535) * sy + ty];
  }

  /** Convert a pixel to 16-bit positions on the axes. */
  placeOf(px, py) {
    const { sx, tx, sy, ty } = pixelMap(this);
    return [((px - tx) / sx || 0) * 65535, ((py - ty) / sy || 0) * 65535];
  }

  /** Return a function that tests whether a row is within this polygon of pixels. */
  insideOf(polygon) {
    const corners = polygon.map(([px, py]) => this.placeOf(px, py));
    const [xs, ys] = [0, 1].map((side) => Float64Array.from(corners, (corner) => corner[side]));
    const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const [x, y] = [this.x.places, this.y.places];
    return (i) => x[i] >= left && x[i] <= right && y[i] >= low && y[i] <= high && within(xs, ys, x[i], y[i]);
  }

  /** Grid of rows over both axes, built on first use. */
  cells() {
    if (this.grid) return this.grid;
    const [x, y] = [this.x.places, this.y.places];
    const cell = (i) => (x[i] >> 9) * CELLS + (y[i] >> 9);
    const start = new Uint32Array(CELLS * CELLS + 1);
    for (let i = 0; i < x.length; i++) start[cell(i) + 1]++;
    for (let k = 0; k < CELLS * CELLS; k++) start[k + 1] += start[k];
    const [next, rows] = [start.slice(), new Uint32Array(x.length)];
    for (let i = 0; i < x.length; i++) rows[next[cell(i)]++] = i;
    return (this.grid = { start, rows });
  }

  /** Row nearest to a pixel, or -1 if none is within the maximum distance. */
  nearest(px, py, reach = REACH) {
    const { start, rows } = this.cells();
    const [u0, v1] = this.placeOf(px - reach, py - reach);
    const [u1, v0] = this.placeOf(px + reach, py + reach);
    const clip = (place) => Math.max(0, Math.min(CELLS - 1, Math.floor(place / 512)));
    let [best, least] = [-1, reach * reach];
    for (let a = clip(u0); a <= clip(u1); a++) {
      for (let k = start[a * CELLS + clip(v0)]; k < start[a * CELLS + clip(v1) + 1]; k++) {
        const [qx, qy] = this.pixel(rows[k]);
        const distance = (qx - px) ** 2 + (qy - py) ** 2;
        if (distance < least) [best, least] = [rows[k], distance];
      }
    }
    return best;
  }

  mark(i) {
    this.ring.setAttribute("visibility", i < 0 ? "hidden" : "visible");
    if (i < 0) return;
    const [px, py] = this.pixel(i);
    this.ring.setAttribute("cx", px);
    this.ring.setAttribute("cy", py);
  }

  trace() {
    const corners = this.cursor && this.corners.length ? [...this.corners, this.cursor] : this.corners;
    this.lasso.setAttribute("d", corners.length ? `M${corners.map((corner) => corner.map((p) => p.toFixed(1)).join()).join("L")}Z` : "");
    const [x, y] = this.cursor || [];
    this.cross.setAttribute("d", this.cursor ? `M${x - 9},${y}h6m6,0h6M${x},${y - 9}v6m0,6v6` : "");
  }

  /** Draw the columns with the largest weights on the axes shown as arrows from the middle of the plot. */
  point(wanted) {
    const { width, height } = this.box;
    const found = (wanted ? this.embedding.arrows : []).map(({ name, along }) => {
      const [dx, dy] = this.pair.map((axis) => along[axis] || 0);
      return { name, dx, dy, size: Math.hypot(dx, dy) };
    });
    found.sort((a, b) => b.size - a.size);
    const drawn = found.slice(0, MOST_ARROWS).filter(({ size }) => size > 0.2 * found[0].size);
    const scale = (0.36 * Math.min(width, height)) / (found.length ? found[0].size : 1);
    const words = []; // their positions, to avoid overlaps
    const parts = drawn.flatMap(({ name, dx, dy, size }) => {
      const [x, y] = [width / 2 + dx * scale, height / 2 - dy * scale];
      const [ux, uy] = [dx / size, -dy / size];
      const head = `L${x - 8 * ux - 4 * uy},${y - 8 * uy + 4 * ux}M${x},${y}L${x - 8 * ux + 4 * uy},${y - 8 * uy - 4 * ux}`;
      const anchor = Math.abs(ux) < 0.3 ? "middle" : ux > 0 ? "start" : "end";
      const place = { x: x + 5 * ux, y: y + 12 * uy + 4 };
      const covered = () => words.find((other) => Math.abs(other.x - place.x) < 80 && Math.abs(other.y - place.y) < 12);
      const away = covered() && covered().y > place.y ? -13 : 13;
      while (covered()) place.y = covered().y + away;
      words.push(place);
      const word = element("text", { ...place, "text-anchor": anchor }, shortened(name, 24));
      return [element("path", { d: `M${width / 2},${height / 2}L${x},${y}${head}` }), word];
    });
    this.arrows.replaceChildren(...parts);
  }

  describe(colouring) {
    const axes = `${this.x.label} across, ${this.y.label} up`;
    const rows = this.codes.length.toLocaleString("en");
    this.plot.setAttribute("aria-label", `${this.embedding.name}: scatter plot of ${rows} rows, ${axes}, ${colouring}`);
  }

  // ------------------------------------------------------------------------------ pointer and keys
  listen() {
    const { plot } = this;
    const at = (event) => {
      const { left, top } = plot.getBoundingClientRect();
      return [event.clientX - left, event.clientY - top];
    };
    plot.addEventListener("pointerdown", (event) => this.press(event, at(event)));
    plot.addEventListener("pointermove", (event) => this.move(event, at(event)));
    plot.addEventListener("pointerup", (event) => this.release(event, at(event)));
    plot.addEventListener("pointercancel", () => this.drop());
    plot.addEventListener("pointerleave", () => this.page.hover(this, -1));
    plot.addEventListener("dblclick", () => this.reset());
    plot.addEventListener("keydown", (event) => this.key(event));
    plot.addEventListener("blur", () => this.drop());
    plot.addEventListener("wheel", (event) => this.wheel(event, at(event)), { passive: false });
  }

  press(event, point) {
    this.plot.setPointerCapture(event.pointerId);
    this.plot.focus({ preventScroll: true, focusVisible: false });
    this.drop();
    const moving = event.button === 1 || this.page.tool() === "move";
    this.drag = moving ? { from: point } : { corners: [point] };
    if (event.button === 1) event.preventDefault();
  }

  move(event, point) {
    const { drag } = this;
    if (!drag) return this.page.hover(this, this.nearest(...point), event);
    if (drag.from) {
      this.pan(point[0] - drag.from[0], point[1] - drag.from[1]);
      drag.from = point;
      return;
    }
    drag.corners.push(point);
    this.corners = drag.corners;
    this.trace();
  }

  release(event, point) {
    const { drag } = this;
    this.drop();
    if (!drag || drag.from) return;
    const how = event.shiftKey ? "add" : event.altKey ? "remove" : "only";
    const far = drag.corners.some(([x, y]) => Math.hypot(x - drag.corners[0][0], y - drag.corners[0][1]) > 4);
    if (far && drag.corners.length > 2) this.page.select(this.insideOf(drag.corners), how);
    else this.page.pick(this.nearest(...point), how);
  }

  /** Cancel the current drag or lasso. */
  drop() {
    this.drag = null;
    this.corners = [];
    this.cursor = null;
    this.trace();
  }

  /** The wheel zooms in the active panel; over other panels it scrolls the page. */
  wheel(event, point) {
    if (!event.ctrlKey && document.activeElement !== this.plot) return;
    event.preventDefault();
    this.zoom(Math.exp(-Math.max(-120, Math.min(120, event.deltaY)) / 300), ...point);
  }

  key(event) {
    const move = MOVES[event.key];
    const centre = this.cursor || [this.box.width / 2, this.box.height / 2];
    const act = {
      Enter: () => this.corner(),
      " ": () => this.page.pick(this.nearest(...centre, 2 * REACH), "turn"),
      Escape: () => (this.corners.length ? this.drop() : this.page.clear()),
      "+": () => this.zoom(1.25, ...centre),
      "=": () => this.zoom(1.25, ...centre),
      "-": () => this.zoom(1 / 1.25, ...centre),
      0: () => this.reset(),
    }[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey || (!move && !act)) return;
    event.preventDefault();
    if (act) return act();
    if (event.shiftKey) return this.pan(-40 * move[0], -40 * move[1]);
    const clip = (value, most) => Math.max(0, Math.min(most, value));
    this.cursor = [clip(centre[0] + 10 * move[0], this.box.width), clip(centre[1] + 10 * move[1], this.box.height)];
    this.trace();
    this.page.hover(this, this.nearest(...this.cursor, 2 * REACH), null, this.cursor);
  }

  /** Set a corner of the lasso at the cursor; setting it again at the same position or at the first corner closes the lasso. */
  corner() {
    if (!this.cursor) this.cursor = [this.box.width / 2, this.box.height / 2];
    const near = (other) => other && Math.hypot(other[0] - this.cursor[0], other[1] - this.cursor[1]) < 8;
    const closed = this.corners.length > 2 && (near(this.corners[0]) || near(this.corners.at(-1)));
    if (closed) {
      const polygon = this.corners;
      this.corners = [];
      this.page.select(this.insideOf(polygon), "only");
    } else if (!near(this.corners.at(-1))) this.corners = [...this.corners, this.cursor];
    this.trace();
  }
}
