// Reads { models: [{ spec, arrays: { name: base64 }, questions: [[row, cluster, against]], changes: [[row, fixed, to]] }] }
// from standard input, and prints what the engine answers, for tests/test_report_engine.py. The engine is the one
// beside this file, or the one given as argument.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const path = process.argv[2] ? pathToFileURL(process.argv[2]) : new URL('./engine.mjs', import.meta.url);
const { makeEngine } = await import(path);

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

const asked = JSON.parse(readFileSync(0, 'utf8'));
const answers = asked.models.map(({ spec, arrays, questions, changes }) => {
  const known = Object.fromEntries(Object.entries(arrays).map(([name, text]) => [name, floats(text)]));
  const engine = makeEngine(spec, (name) => {
    if (!(name in known)) throw new Error(`no array ${name}`);
    return known[name];
  });
  return {
    explained: questions.map(([row, cluster, against]) =>
      tried(() => engine.explain(row, cluster ?? undefined, against ?? undefined)),
    ),
    changed: changes.map(([row, fixed, to]) =>
      tried(() => engine.smallestChange(row, new Set(fixed), to ?? undefined)),
    ),
  };
});
process.stdout.write(JSON.stringify(answers));
