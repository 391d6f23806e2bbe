"use strict";
// Selection of rows, how the selected rows differ, and the CSV file they are saved in.

class Selection {
  constructor(n) {
    this.rows = new Uint8Array(n);
    this.count = 0;
  }

  /** Change the selection: "only" these rows, "add" or "remove" them; `inside` tests a row number. */
  take(inside, how = "only") {
    const { rows } = this;
    this.count = 0;
    for (let i = 0; i < rows.length; i++) {
      const meant = inside(i);
      if (how === "only") rows[i] = meant ? 1 : 0;
      else if (meant) rows[i] = how === "add" ? 1 : 0;
      this.count += rows[i];
    }
  }

  clear() {
    this.rows.fill(0);
    this.count = 0;
  }
}

/** Whether a point is inside a polygon with corners (xs, ys), by the even-odd rule; the polygon may cross itself. */
function within(xs, ys, x, y) {
  let inside = false;
  for (let a = 0, b = xs.length - 1; a < xs.length; b = a++) {
    if (ys[a] > y !== ys[b] > y && x < ((xs[b] - xs[a]) * (y - ys[a])) / (ys[b] - ys[a]) + xs[a]) inside = !inside;
  }
  return inside;
}

const FORMULA = /^[=+\-@\t\r]/;

/** Format a CSV cell. It is quoted if necessary, and if it is empty text rather than missing. If `disarmed`, an apostrophe is put before text that a spreadsheet would run as a formula. */
function cell(text, word, disarm) {
  const safe = disarm && word && isFormula(text) ? "'" + text : text;
  return /[",\r\n]|^\s|\s$|^$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Selected rows as CSV, with row numbers counted from 0. */
function csv(columns, rows, disarm) {
  const taken = new Set(columns.map((column) => column.name));
  let first = "row";
  while (taken.has(first)) first += "_";
  const lines = [[first, ...columns.map((column) => cell(column.name, true, disarm))].join()];
  const written = (column, i) => (column.missing(i) ? "" : cell(column.text(i), !column.quantity, disarm));
  for (let i = 0; i < rows.length; i++) {
    if (rows[i]) lines.push([i, ...columns.map((column) => written(column, i))].join());
  }
  return lines.join("\r\n") + "\r\n";
}

/** Whether a spreadsheet would run text as a formula; numbers with a sign are not formulas. */
const isFormula = (word) => FORMULA.test(word) && Number.isNaN(Number(word));

const hasFormulas = (columns) =>
  columns.some((column) => isFormula(column.name) || (!column.quantity && column.levels.some(isFormula)));

/** Difference of the selected rows from all rows in one column: its size, and a description. */
function contrast(column, rows) {
  return column.quantity ? numberContrast(column, rows) : classContrast(column, rows);
}

function numberContrast(column, rows) {
  const { values } = column;
  const all = { count: 0, sum: 0, squares: 0 };
  const chosen = { count: 0, sum: 0 };
  const add = (group, value) => ((group.count += 1), (group.sum += value));
  for (let i = 0; i < values.length; i++) {
    if (!Number.isFinite(values[i])) continue;
    add(all, values[i]);
    if (rows[i]) add(chosen, values[i]);
  }
  if (!chosen.count || chosen.count === all.count) return null;
  const [mean, own] = [all.sum / all.count, chosen.sum / chosen.count];
  for (const value of values) if (Number.isFinite(value)) all.squares += (value - mean) ** 2;
  const shift = (own - mean) / Math.sqrt(all.squares / all.count || Infinity);
  const write = (value) => (column.kind === "time" ? column.write(value) : String(Number(value.toPrecision(3))));
  const mark = `${shift < 0 ? "−" : "+"}${Math.abs(shift).toFixed(1)} sd`;
  return { size: Math.abs(shift), mark, words: `mean ${write(own)}, of all rows ${write(mean)}` };
}

function classContrast(column, rows) {
  const { values, levels } = column;
  if (levels.length > values.length / 2 || levels.length < 2) return null;
  const [all, chosen] = [new Uint32Array(levels.length + 1), new Uint32Array(levels.length + 1)];
  let count = 0;
  for (let i = 0; i < values.length; i++) {
    all[values[i]]++;
    if (rows[i]) chosen[values[i]]++;
    count += rows[i];
  }
  const gain = (code) => chosen[code] / count - all[code] / values.length;
  let best = 1;
  for (let code = 2; code <= levels.length; code++) if (gain(code) > gain(best)) best = code;
  const [own, share] = [chosen[best] / count, all[best] / values.length];
  const percent = (part) => `${(100 * part).toFixed(part > 0 && part < 0.01 ? 1 : 0)} %`;
  const size = (own - share) / Math.sqrt(share * (1 - share) || Infinity);
  return { size, mark: percent(own), words: `are ${shortened(levels[best - 1], 60)}, of all rows ${percent(share)}` };
}
