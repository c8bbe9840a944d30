// Points on a canvas: by WebGL where the browser has it, else by its plain drawing. Nothing here knows clusters.

export interface Transform { scale: number; left: number } // pixels of a place p from 0 to 1: left + scale * p
export interface Points {
  kind: 'webgl' | 'canvas';
  /** Colours as red, green, blue of each point. */
  colour(bytes: Uint8Array): void;
  /** Draw the first points of the order, all by default. */
  draw(across: Transform, down: Transform, size: number, most?: number): void;
}

const VERTEX = `#version 300 es
in vec2 place; in vec3 tint; uniform vec4 shift; uniform float size; out vec3 shade;
void main() { gl_Position = vec4(shift.xy + shift.zw * place, 0.0, 1.0); gl_PointSize = size; shade = tint; }`;
const FRAGMENT = `#version 300 es
precision highp float; in vec3 shade; out vec4 colour; uniform float alpha; uniform float size;
void main() {
  float far = length(gl_PointCoord - 0.5) * size;
  float cover = clamp(size * 0.5 - far + 0.5, 0.0, 1.0);
  if (size > 3.0 && cover <= 0.0) discard;
  float seen = size > 3.0 ? cover * alpha : alpha;
  colour = vec4(shade * seen, seen);
}`;

/** `x` and `y` are from 0 to 65535, in the order in which points are drawn. */
export function pointsOn(canvas: HTMLCanvasElement, x: Uint16Array, y: Uint16Array): Points {
  const gl = canvas.getContext('webgl2', { antialias: false, premultipliedAlpha: true });
  const found = gl ? byWebGL(canvas, gl, x, y) : byCanvas(canvas, x, y);
  if (!found) throw new Error('WebGL is there but does not draw.');
  return found;
}

function byWebGL(canvas: HTMLCanvasElement, gl: WebGL2RenderingContext, x: Uint16Array, y: Uint16Array): Points | null {
  const program = gl.createProgram()!;
  for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]] as const) {
    const shader = gl.createShader(kind)!;
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) return null;
  gl.useProgram(program);
  const places = new Uint16Array(2 * x.length);
  for (let point = 0; point < x.length; point++) {
    places[2 * point] = x[point];
    places[2 * point + 1] = y[point];
  }
  const fill = (name: string, parts: number, kind: number, bytes: BufferSource) => {
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, bytes, gl.STATIC_DRAW);
    const at = gl.getAttribLocation(program, name);
    gl.enableVertexAttribArray(at);
    gl.vertexAttribPointer(at, parts, kind, true, 0, 0);
  };
  fill('place', 2, gl.UNSIGNED_SHORT, places);
  const at = (name: string) => gl.getUniformLocation(program, name);
  const shift = at('shift'), size = at('size'), alpha = at('alpha');
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  return {
    kind: 'webgl',
    colour: (bytes) => fill('tint', 3, gl.UNSIGNED_BYTE, bytes as BufferSource),
    draw(across, down, diameter, most = x.length) {
      const ratio = window.devicePixelRatio || 1;
      const width = canvas.width / ratio, height = canvas.height / ratio;
      gl.viewport(0, 0, canvas.width, canvas.height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT);
      gl.uniform4f(shift, (2 * across.left) / width - 1, 1 - (2 * down.left) / height, (2 * across.scale) / width, (-2 * down.scale) / height);
      gl.uniform1f(size, diameter * ratio);
      gl.uniform1f(alpha, x.length > 20_000 ? 0.7 : 0.85);
      gl.drawArrays(gl.POINTS, 0, Math.min(most, x.length));
    },
  };
}

function byCanvas(canvas: HTMLCanvasElement, x: Uint16Array, y: Uint16Array): Points {
  const plane = canvas.getContext('2d')!;
  let tints: Uint8Array = new Uint8Array(3 * x.length);
  return {
    kind: 'canvas',
    colour: (bytes) => { tints = bytes; },
    draw(across, down, diameter, most = x.length) {
      const ratio = window.devicePixelRatio || 1;
      plane.setTransform(ratio, 0, 0, ratio, 0, 0);
      plane.clearRect(0, 0, canvas.width, canvas.height);
      for (let point = 0; point < Math.min(most, x.length); point++) {
        plane.fillStyle = `rgb(${tints[3 * point]} ${tints[3 * point + 1]} ${tints[3 * point + 2]} / 85%)`;
        const at = [across.left + (across.scale * x[point]) / 65535, down.left + (down.scale * y[point]) / 65535];
        plane.fillRect(at[0] - diameter / 2, at[1] - diameter / 2, diameter, diameter);
      }
    },
  };
}
