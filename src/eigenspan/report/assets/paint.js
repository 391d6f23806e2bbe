"use strict";
// Draw points on one canvas behind all panels: with WebGL2 or, without it, with a 2-D canvas.

const VERTEX = `#version 300 es
in float x; in float y; in float code; in float chosen;
uniform vec2 scale, shift; uniform float size, pass; uniform vec4 quiet; uniform sampler2D colours;
out vec4 colour;
void main() {
  bool other = pass >= 0.0 && pass != chosen;
  gl_Position = other ? vec4(9.0, 9.0, 0.0, 1.0) : vec4(vec2(x, y) * scale + shift, 0.0, 1.0);
  gl_PointSize = pass > 0.5 ? size * 1.35 : size;
  vec4 own = texture(colours, vec2((code * 255.0 + 0.5) / 256.0, 0.5));
  colour = pass == 0.0 ? quiet : own;
}`;
const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 colour; uniform float opacity, rim; out vec4 result;
void main() {
  float far = length(gl_PointCoord - 0.5) * 2.0;
  float alpha = colour.a * opacity * (1.0 - smoothstep(0.75, 1.0, far));
  result = vec4(colour.rgb * (1.0 - rim * smoothstep(0.45, 0.8, far)) * alpha, alpha); // a darker rim makes light colours visible
}`;

/** Random order of the rows, because points drawn last cover the others. */
function mixedOrder(n) {
  const order = Uint32Array.from({ length: n }, (_, i) => i);
  let state = 1;
  for (let i = n - 1; i > 0; i--) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const j = Math.floor((state / 4294967296) * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

/** Size and opacity of points, smaller for more points. */
function pointStyle(n, extent) {
  const size = Math.min(9, Math.max(2.4, 40 * n ** -0.25 * Math.sqrt(extent / 360) - 1));
  return { size: Math.min(size, 8), rim: size > 3 ? 0.28 : 0.12, opacity: n > 20000 ? 0.55 : n > 4000 ? 0.8 : 0.92 };
}

/** Map from the unit square of a panel to pixels: pixel = place * scale + shift, for upward and downward y. */
function pixelMap(panel) {
  const { width, height } = panel.box;
  const { x, y } = panel;
  const { cx, cy, kx, ky } = panel.view;
  return {
    sx: (x.hi - x.lo) * kx,
    tx: width / 2 + (x.lo - cx) * kx,
    sy: -(y.hi - y.lo) * ky,
    ty: height / 2 - (y.lo - cy) * ky,
  };
}

class GlPainter {
  constructor(canvas, n) {
    this.canvas = canvas;
    this.n = n;
    this.gl = canvas.getContext("webgl2", { antialias: false, alpha: true, premultipliedAlpha: true });
    if (!this.gl) throw new Error("no WebGL2");
    this.prepare();
  }

  prepare() {
    const gl = this.gl;
    this.program = this.link();
    gl.useProgram(this.program);
    const names = ["scale", "shift", "size", "pass", "quiet", "opacity", "rim"];
    this.at = Object.fromEntries(names.map((name) => [name, gl.getUniformLocation(this.program, name)]));
    this.buffers = new Map();
    this.chosen = gl.createBuffer();
    this.order = gl.createBuffer();
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.order);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, mixedOrder(this.n), gl.STATIC_DRAW);
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
    for (const filter of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, filter, gl.NEAREST);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  link() {
    const gl = this.gl;
    const program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    ["x", "y", "code", "chosen"].forEach((name, place) => gl.bindAttribLocation(program, place, name));
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program) || "no shader");
    return program;
  }

  fill(buffer, data) {
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, buffer);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, data, this.gl.STATIC_DRAW);
  }

  attribute(place, buffer, kind, unit) {
    const gl = this.gl;
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, 1, kind, unit, 0, 0);
  }

  /** Upload the axes and colour codes of a panel. */
  place(panel) {
    const gl = this.gl;
    if (!this.buffers.has(panel)) {
      const own = { array: gl.createVertexArray(), x: gl.createBuffer(), y: gl.createBuffer(), codes: gl.createBuffer() };
      gl.bindVertexArray(own.array);
      this.attribute(0, own.x, gl.UNSIGNED_SHORT, true);
      this.attribute(1, own.y, gl.UNSIGNED_SHORT, true);
      this.attribute(2, own.codes, gl.UNSIGNED_BYTE, true);
      this.attribute(3, this.chosen, gl.UNSIGNED_BYTE, false);
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.order);
      gl.bindVertexArray(null);
      this.buffers.set(panel, own);
    }
    const own = this.buffers.get(panel);
    this.fill(own.x, panel.x.places);
    this.fill(own.y, panel.y.places);
    this.fill(own.codes, panel.codes);
  }

  choose(rows) {
    this.fill(this.chosen, rows);
  }

  paint(panels, { table, chosen, quiet, ratio }) {
    const gl = this.gl;
    const { canvas, at } = this;
    gl.disable(gl.SCISSOR_TEST);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.enable(gl.SCISSOR_TEST);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, table);
    gl.uniform4f(at.quiet, ...quiet.map((value) => value / 255), 0.3);
    for (const panel of panels) {
      const { left, top, width, height } = panel.box;
      const place = [left * ratio, canvas.height - (top + height) * ratio, width * ratio, height * ratio].map(Math.round);
      gl.viewport(...place);
      gl.scissor(...place);
      const { sx, tx, sy, ty } = pixelMap(panel);
      gl.uniform2f(at.scale, (2 * sx) / width, (-2 * sy) / height);
      gl.uniform2f(at.shift, (2 * tx) / width - 1, 1 - (2 * ty) / height);
      const { size, opacity, rim } = pointStyle(this.n, Math.min(width, height));
      gl.uniform1f(at.size, (size + 0.5) * ratio * Math.min(2, panel.view.zoom ** 0.35));
      gl.uniform1f(at.opacity, opacity);
      gl.bindVertexArray(this.buffers.get(panel).array);
      for (const pass of chosen ? [0, 1] : [-1]) {
        gl.uniform1f(at.pass, pass);
        gl.uniform1f(at.rim, pass === 0 ? 0 : rim);
        gl.drawElements(gl.POINTS, this.n, gl.UNSIGNED_INT, 0);
      }
    }
    gl.bindVertexArray(null);
  }
}

/** Painter that draws squares on a 2-D canvas: slower, but supported by every browser. */
class FlatPainter {
  constructor(canvas, n) {
    this.canvas = canvas;
    this.n = n;
    this.pen = canvas.getContext("2d");
    if (!this.pen) throw new Error("no canvas");
  }

  place() {}

  choose(rows) {
    this.rows = rows;
  }

  paint(panels, { table, chosen, quiet, ratio }) {
    const { pen, canvas, n, rows } = this;
    const colours = Array.from({ length: 256 }, (_, code) => `rgb(${table.slice(4 * code, 4 * code + 3).join()})`);
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    for (const panel of panels) {
      const { left, top, width, height } = panel.box;
      const { sx, tx, sy, ty } = pixelMap(panel);
      const { size, opacity } = pointStyle(n, Math.min(width, height));
      pen.save();
      pen.setTransform(ratio, 0, 0, ratio, left * ratio, top * ratio);
      pen.beginPath();
      pen.rect(0, 0, width, height);
      pen.clip();
      for (const pass of chosen ? [0, 1] : [-1]) {
        pen.globalAlpha = pass === 0 ? 0.3 : opacity;
        for (let i = 0; i < n; i++) {
          if (pass >= 0 && rows[i] !== pass) continue;
          pen.fillStyle = pass === 0 ? `rgb(${quiet.join()})` : colours[panel.codes[i]];
          const across = (panel.x.places[i] / 65535) * sx + tx;
          const down = (panel.y.places[i] / 65535) * sy + ty;
          pen.fillRect(across - size / 2, down - size / 2, size, size);
        }
      }
      pen.restore();
    }
  }
}
