// Milliseconds of a frame of the page's map, and of the same points by the barest program.
const [rows, size] = arguments;
const own = document.querySelector('#page canvas').getContext('webgl2');

// The page's context keeps its program and buffers: drawing again is a whole frame. Reading a pixel waits for it.
function timed(gl) {
  const taken = [];
  for (let turn = 0; turn < 5; turn++) {
    const start = performance.now();
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.drawArrays(gl.POINTS, 0, rows);
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
    taken.push(performance.now() - start);
  }
  return taken.sort((one, other) => one - other)[2];
}

const canvas = document.createElement('canvas');
[canvas.width, canvas.height] = [own.canvas.width, own.canvas.height];
const gl = canvas.getContext('webgl2', { antialias: false }); // as the page's own
const program = gl.createProgram();
const vertex = `#version 300 es
in vec2 place; void main() { gl_Position = vec4(place * 1.9 - 0.95, 0.0, 1.0); gl_PointSize = ${size.toFixed(2)}; }`;
const fragment = `#version 300 es
precision highp float; out vec4 colour; void main() { colour = vec4(0.1, 0.4, 0.7, 0.7); }`;
for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
  const shader = gl.createShader(kind);
  gl.shaderSource(shader, text);
  gl.compileShader(shader);
  gl.attachShader(program, shader);
}
gl.linkProgram(program);
gl.useProgram(program);
gl.enable(gl.BLEND);
gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);

const places = new Uint16Array(2 * rows);
const place = own.getAttribLocation(own.getParameter(own.CURRENT_PROGRAM), 'place');
own.bindBuffer(own.ARRAY_BUFFER, own.getVertexAttrib(place, own.VERTEX_ATTRIB_ARRAY_BUFFER_BINDING));
own.getBufferSubData(own.ARRAY_BUFFER, 0, places);
gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
gl.bufferData(gl.ARRAY_BUFFER, places, gl.STATIC_DRAW);
const at = gl.getAttribLocation(program, 'place');
gl.enableVertexAttribArray(at);
gl.vertexAttribPointer(at, 2, gl.UNSIGNED_SHORT, true, 0, 0);

// By turns, and the best of each: on a busy machine any one may be slow.
const turns = Array.from({ length: 8 }, () => [timed(gl), timed(own)]);
return [0, 1].map((place) => Math.min(...turns.map((turn) => turn[place])));
