"use strict";
// Colours of a column: a code for every row, a colour for every code, and the legend.

const VIRIDIS = ["#440154", "#482878", "#3e4a89", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6dcd59", "#b4de2c", "#fde725"];
const MOST_CLASSES = 12;

const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

/** Colour of the scale at t, from 0 to 1. */
function ramp(t) {
  const place = t * (VIRIDIS.length - 1);
  const below = Math.min(VIRIDIS.length - 2, Math.floor(place));
  const [from, to] = [channels(VIRIDIS[below]), channels(VIRIDIS[below + 1])];
  return from.map((value, k) => Math.round(value + (place - below) * (to[k] - value)));
}

/** Table of 256 RGBA colours; the first is that of missing values. */
function colourTable(colours, missing) {
  const table = new Uint8Array(1024);
  [channels(missing), ...colours].forEach((rgb, code) => table.set([...rgb, 255], 4 * code));
  return table;
}

const rampTable = (missing) => colourTable(Array.from({ length: 255 }, (_, k) => ramp(k / 254)), missing);

/** Palette for a dark background: dark colours are lightened, and black becomes white. */
function seen(palette, dark) {
  const lighter = (hex) => {
    const [r, g, b] = channels(hex);
    const lift = r + g + b === 0 ? 0.95 : 0.3 * r + 0.6 * g + 0.1 * b < 110 ? 0.3 : 0;
    return "#" + [r, g, b].map((value) => Math.round(value + lift * (255 - value)).toString(16).padStart(2, "0")).join("");
  };
  return dark ? palette.map(lighter) : palette;
}

/** Colours of classes: one each for at most twelve; otherwise one each for the eleven largest and one for all others. */
function classScheme(column, palettes, dark) {
  const { levels, values } = column;
  const counts = new Uint32Array(levels.length + 1);
  for (const code of values) counts[code]++;
  let shown = levels.map((_, k) => k + 1);
  if (levels.length > MOST_CLASSES) {
    shown = shown.sort((a, b) => counts[b] - counts[a] || a - b).slice(0, MOST_CLASSES - 1);
  }
  const others = shown.length + 1;
  const codeOf = new Uint8Array(levels.length + 1).fill(others);
  codeOf[0] = 0;
  shown.forEach((level, k) => (codeOf[level] = k + 1));
  const codes = Uint8Array.from(values, (code) => codeOf[code]);
  const colours = seen(shown.length <= palettes.few.length ? palettes.few : palettes.twelve, dark).slice(0, shown.length);
  const entries = shown.map((level, k) => ({ code: k + 1, label: levels[level - 1], colour: colours[k], count: counts[level] }));
  if (shown.length < levels.length) {
    colours.push(palettes.others);
    const count = values.length - counts[0] - entries.reduce((sum, entry) => sum + entry.count, 0);
    const label = `${(levels.length - shown.length).toLocaleString("en")} others`;
    entries.push({ code: others, label, colour: palettes.others, count });
  }
  if (counts[0]) entries.push({ code: 0, label: "missing", colour: palettes.missing, count: counts[0] });
  return { codes, table: colourTable(colours.map(channels), palettes.missing), entries };
}

/** Ends of the scale: the extreme values, unless a few outliers would take most of the scale. */
function scaleEnds(values) {
  const sorted = Float64Array.from(values).filter(Number.isFinite).sort();
  if (!sorted.length) return null;
  const at = (share) => sorted[Math.round(share * (sorted.length - 1))];
  const [lo, hi, low, high] = [at(0), at(1), at(0.02), at(0.98)];
  const stray = high > low && (high - low) * 2 < hi - lo;
  return stray ? { lo: low, hi: high, below: lo < low, above: hi > high } : { lo, hi, below: false, above: false };
}

function numberScheme(column, palettes) {
  const { values } = column;
  const ends = scaleEnds(values);
  const codes = new Uint8Array(values.length);
  let missing = 0;
  for (let i = 0; i < values.length; i++) {
    if (!ends || !Number.isFinite(values[i])) missing++;
    else if (ends.hi === ends.lo) codes[i] = 128;
    else codes[i] = 1 + Math.round(254 * Math.min(1, Math.max(0, (values[i] - ends.lo) / (ends.hi - ends.lo))));
  }
  const entries = missing ? [{ code: 0, label: "missing", colour: palettes.missing, count: missing }] : [];
  const write = (value) => (column.kind === "time" ? column.write(value) : rounded(value));
  const scale = ends && { from: (ends.below ? "≤ " : "") + write(ends.lo), to: (ends.above ? "≥ " : "") + write(ends.hi) };
  return { codes, table: rampTable(palettes.missing), entries, scale };
}

const schemeOf = (column, palettes, dark) =>
  column.quantity ? numberScheme(column, palettes) : classScheme(column, palettes, dark);
