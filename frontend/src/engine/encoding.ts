// From the user's columns to the encoded ones, as `Features.encode` does it in Python: every encoded column comes
// from one of the user's by a chain of small steps (src/whyclust/report/engine_encoding.py lists them).

import { UnfitRow, type Arrays, type Cell, type EncodedColumn, type Step } from './spec';

const FUNCTIONS: Record<string, (x: number) => number> = {
  log: Math.log,
  log1p: Math.log1p,
  log2: Math.log2,
  log10: Math.log10,
  exp: Math.exp,
  expm1: Math.expm1,
  sqrt: Math.sqrt,
  cbrt: Math.cbrt,
  square: (x) => x * x,
  abs: Math.abs,
  tanh: Math.tanh,
};

export interface Encoder {
  row(row: readonly Cell[]): Float64Array;
  /** One encoded column, from a value of the user's column that it comes from. */
  one(position: number, value: Cell): number;
}

/** A value that has no number, where one is needed, is refused. */
export function makeEncoder(columns: EncodedColumn[], array: Arrays): Encoder {
  function one(position: number, value: Cell): number {
    const { source, steps } = columns[position];
    for (const step of steps ?? []) value = follow(step, value, source, array);
    return asNumber(value, source);
  }
  return { one, row: (row) => Float64Array.from(columns, ({ source }, position) => one(position, row[source] ?? null)) };
}

function follow(step: Step, value: Cell, source: number, array: Arrays): Cell {
  if ('fill' in step) return isGap(value) ? step.fill! : value;
  if (step.missing) return isGap(value) ? 1 : 0;
  if (step.one_of) return step.one_of.some((one) => same(one, value)) ? 1 : 0;
  if (step.none_of) return step.none_of.some((one) => same(one, value)) ? 0 : 1;
  if (step.known) {
    if (step.known.some((one) => same(one, value))) return value;
    throw new UnfitRow('The model does not know this category.', source);
  }
  if (isGap(value)) return null; // whoever needs a number says so at the end
  const x = asNumber(value, source);
  if (step.factor !== undefined) return (x - step.origin!) * step.factor + step.offset!;
  if (step.low !== undefined) return Math.min(Math.max(x, step.low), step.high!);
  if (step.ranks !== undefined) return rank(x, array(step.ranks));
  if (step.function !== undefined) return FUNCTIONS[step.function](x);
  if (step.above !== undefined) return x > step.above ? 1 : 0;
  throw new Error(`unknown step ${JSON.stringify(step)}`);
}

/** Between which of the user's values a column counts: beyond them the clustering limits it. */
export function limitsOf(steps: Step[] = []): [number, number] {
  const back: Step[] = [];
  for (const step of steps) {
    if (step.low !== undefined) {
      const ends = [step.low, step.high!].map((end) => back.reduceRight((x, { origin, factor, offset }) => (x - offset!) / factor! + origin!, end));
      return [Math.min(...ends), Math.max(...ends)];
    }
    if (step.factor) back.push(step);
    else if (!('fill' in step)) break; // bent before it is limited
  }
  return [-Infinity, Infinity];
}

function isGap(value: Cell): boolean {
  return value === null || (typeof value === 'number' && Number.isNaN(value));
}

/** Whether a value is one that the model knows. A page may hold all categories as texts, as Python writes them. */
export function same(known: Cell, value: Cell): boolean {
  if (isGap(known) || isGap(value)) return isGap(known) && isGap(value);
  if (typeof known === 'string') return known === value;
  return plain(known) === plain(value) || (typeof value === 'string' && Number(value || NaN) === plain(known));
}

/** Yes is 1 and no is 0, as in Python, which writes them so. */
function plain(value: Cell): Cell {
  if (value === 'True' || value === 'False') return Number(value === 'True');
  return typeof value === 'boolean' ? Number(value) : value;
}

function asNumber(value: Cell, source: number): number {
  if (isGap(value)) throw new UnfitRow('The model needs a value here.', source);
  const number = plain(value);
  if (typeof number !== 'number') throw new UnfitRow('The model needs a number here.', source);
  if (!Number.isFinite(number)) throw new UnfitRow('This number is too large for the model.', source);
  return number;
}

/** scikit-learn's QuantileTransformer: of repeated quantiles, the mean of the first and the last rank. */
function rank(x: number, knots: Float64Array): number {
  const last = knots.length - 1;
  if (x <= knots[0]) return 0;
  if (x >= knots[last]) return 1;
  // The first knot above x, and the first that is not below it.
  const above = firstKnot(knots, (knot) => knot > x);
  const from = firstKnot(knots, (knot) => knot >= x);
  const upper = between(x, knots, above - 1, above);
  const lower = knots[from] === x ? from : between(x, knots, from - 1, from);
  return (upper + lower) / (2 * last);
}

function between(x: number, knots: Float64Array, before: number, after: number): number {
  return before + (x - knots[before]) / (knots[after] - knots[before]);
}

/** Knots ascend, and so does the condition: position of the first knot that fulfils it. */
function firstKnot(knots: Float64Array, fulfils: (knot: number) => boolean): number {
  let before = -1;
  let found = knots.length;
  while (found - before > 1) {
    const middle = (before + found) >> 1;
    if (fulfils(knots[middle])) found = middle;
    else before = middle;
  }
  return found;
}
