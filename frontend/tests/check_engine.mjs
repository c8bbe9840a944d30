// For tests/test_report_engine.py. Each line of standard input is a model with questions about it,
//   { spec, arrays: { name: base64 }, questions: [[row, cluster, against]], changes: [[row, fixed, to, within]],
//     alone: [[row, column, to]], pairs: [[row, fixed, to]], wholly: [[row, to]] },
// or { polyhedra: [[normals, levels, low, high]] } to which the shortest way is asked,
// and each line of standard output what the engine answers. The engine is the built one beside this file.
import { createInterface } from 'node:readline';
import { makeEngine, shortest } from './engine.mjs';

function floats(text) {
  const bytes = Buffer.from(text, 'base64');
  return new Float64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}

function tried(answer) {
  try {
    const found = answer();
    return found.values ? { ...found, values: [...found.values], scores: [...found.scores] } : found;
  } catch (error) {
    return { error: error.message, column: error.column ?? null };
  }
}

function answered({ spec, arrays, questions, changes, alone, pairs, wholly }) {
  const known = Object.fromEntries(Object.entries(arrays).map(([name, text]) => [name, floats(text)]));
  const engine = makeEngine(spec, (name) => {
    if (!(name in known)) throw new Error(`no array is called ${name}`);
    return known[name];
  });
  // A change, and the same in numbers of few digits with the cluster that these lead to.
  const rounded = (row, found, within) => {
    if (!found?.changes) return found ?? { why: 'none' };
    const told = engine.rounded(row, found, Boolean(within));
    return { ...found, rounded: { ...told, landed: engine.explain(told.point).assigned } };
  };
  return {
    explained: questions.map(([row, cluster, against]) =>
      tried(() => engine.explain(row, cluster ?? undefined, against ?? undefined)),
    ),
    changed: changes.map(([row, fixed, to, within]) =>
      tried(() => rounded(row, engine.smallestChange(row, new Set(fixed), to ?? undefined, within), within)),
    ),
    pairs: pairs.map(([row, fixed, to]) =>
      tried(() => {
        const found = engine.changeOfTwo(row, new Set(fixed), to ?? undefined);
        if (!found) return { why: 'none' };
        const whole = engine.rounded(row, engine.inWhole(row, found), true);
        return { ...found, whole: { ...whole, landed: engine.explain(whole.point).assigned } };
      }),
    ),
    wholly: wholly.map(([row, to]) =>
      tried(() => {
        const found = engine.smallestChange(row, new Set(), to ?? undefined, true);
        if ('why' in found) return found;
        const whole = engine.rounded(row, engine.inWhole(row, found), true);
        return { ...whole, wanted: found.to, landed: engine.explain(whole.point).assigned };
      }),
    ),
    alone: alone.map(([row, column, to]) => tried(() => rounded(row, engine.changeOf(row, column, to ?? undefined), true))),
  };
}

function projected([normals, levels, low, high]) {
  const sides = normals.map((normal, i) => ({ normal: Float64Array.from(normal), level: levels[i] }));
  const box = [low.map((end) => end ?? -Infinity), high.map((end) => end ?? Infinity)];
  const found = shortest(sides, ...box.map((ends) => Float64Array.from(ends)));
  return found && [...found];
}

for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  const answer = asked.polyhedra ? asked.polyhedra.map(projected) : answered(asked);
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
