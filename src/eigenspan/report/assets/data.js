"use strict";
// Data of the page: decompressed once, then read by row number.

const KINDS = { f4: Float32Array, f8: Float64Array, i4: Int32Array, u1: Uint8Array, u2: Uint16Array, u4: Uint32Array };

/** Decode base64 text and decompress it. */
async function unpack(text) {
  const letters = atob(text.trim());
  const packed = new Uint8Array(letters.length);
  for (let k = 0; k < letters.length; k++) packed[k] = letters.charCodeAt(k);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).arrayBuffer();
}

/** Shortest decimal notation that parses to the same number. */
function shortest(value, single) {
  if (Number.isNaN(value)) return "";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  for (let digits = 6; single && digits <= 9; digits++) {
    const decimal = Number(value.toPrecision(digits));
    if (Math.fround(decimal) === value) return String(decimal);
  }
  return String(value);
}

/** A column of the table. Missing values have the code 0 among classes and are NaN among numbers. */
class Column {
  constructor(facts, buffer, n) {
    Object.assign(this, facts);
    this.values = new KINDS[facts.type](buffer, facts.at, n);
    this.quantity = facts.kind !== "class";
    if (!this.quantity) {
      const words = new Uint8Array(buffer, facts.levels.at, facts.levels.bytes);
      this.levels = JSON.parse(new TextDecoder().decode(words));
    }
  }

  missing(i) {
    return this.quantity ? Number.isNaN(this.values[i]) : this.values[i] === 0;
  }

  /** Full value, as saved in CSV; empty if missing. */
  text(i) {
    if (this.missing(i)) return "";
    return this.quantity ? this.write(this.values[i]) : this.levels[this.values[i] - 1];
  }

  write(value) {
    if (this.kind !== "time") return shortest(value, this.type === "f4");
    const moment = new Date(value).toISOString().replace("T", " ").replace("Z", "");
    return this.whole_days ? moment.slice(0, 10) : moment.replace(/\.000$/, "");
  }

  /** Shortened value for display: numbers with about four digits, text of at most two lines. */
  brief(i) {
    if (this.missing(i)) return "missing";
    if (this.kind === "number") return rounded(this.values[i]);
    return shortened(this.text(i), 160);
  }
}

const shortened = (text, most) => (text.length > most ? text.slice(0, most) + "…" : text);

function rounded(value) {
  if (!Number.isFinite(value)) return shortest(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return String(value);
  return String(Number(value.toPrecision(4)));
}

/** An embedding of the rows: for each axis, 16-bit positions between its ends. */
class Embedding {
  constructor(facts, buffer, n) {
    this.name = facts.name;
    this.note = facts.note;
    this.arrows = facts.arrows;
    this.distortion = facts.distortion === null ? null : new Uint8Array(buffer, facts.distortion, n);
    this.axes = facts.axes.map((axis) => ({ ...axis, places: new Uint16Array(buffer, axis.at, n) }));
    if (this.axes.length === 1) {
      const places = Uint16Array.from({ length: n }, (_, i) => (n > 1 ? Math.round((65535 * i) / (n - 1)) : 32768));
      this.axes.push({ label: "row number", lo: 0, hi: Math.max(1, n - 1), places });
    }
  }
}
