// The nearest row in another cluster, as `ex.smallest_change` of Python has it (src/whyclust/answers), where all scores
// are affine: a cluster is a polyhedron then, and the nearest point of it is found exactly. The distance is Euclidean in
// the space in which clusters are compared. Categories, and whatever else would be tried value by value, stay.

import type { Encoder } from './encoding';
import { dot, rowOf } from './linear';
import { shortest, type Side } from './projection';
import type { Arrays, Cell, ChangeSpec, EngineSpec } from './spec';

export interface Change {
  /** The cluster of the point, by position. */
  to: number;
  distance: number;
  /** Columns that change, the largest change first. */
  changes: { column: number; from: Cell; to: Cell }[];
  /** The row as it would have to be. */
  point: Cell[];
}

// How far beyond the border the point lies, in units of the distance: the first at which the clustering agrees.
const STEPS = [1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2];

export function makeSmallestChange(
  spec: EngineSpec,
  change: ChangeSpec,
  array: Arrays,
  encoder: Encoder,
  assign: (encoded: Float64Array) => number,
) {
  // Mixtures with equal covariances have affine scores of their own.
  const own = spec.head.kind === 'quadratics' ? 'change-' : '';
  const [slopes, constants] = [array(`${own}slopes`), array(`${own}constants`)];
  const [center, scale] = [array('center'), array('scale')];
  const width = center.length;
  const several = spec.head.kind === 'prototypes' && spec.head.gamma !== undefined;
  const starts = several ? array('starts') : Float64Array.from(constants, (_, node) => node);
  const memberOf = (node: number) => starts.reduce((found, start, k) => (start <= node ? k : found), 0);
  const members = Array.from(constants, (_, node) => memberOf(node));
  const nodes = members.map((_, node) => node);
  const neverNegative = new Set(change.never_negative);
  const moves = new Set([...change.numbers, ...Object.keys(change.bent).map(Number)]);

  /** Where a node is ahead of others, as sides in the scaled change of the moving columns. */
  function ahead(node: number, others: number[], start: Float64Array, moving: number[], step: number): Side[] {
    return others.map((other) => {
      const [one, two] = [rowOf(slopes, node, width), rowOf(slopes, other, width)];
      const normal = Float64Array.from(moving, (i) => (one[i] - two[i]) / scale[i]);
      const behind = dot(two, start) - dot(one, start) + constants[node] - constants[other];
      return { normal, level: behind + step * Math.sqrt(dot(normal, normal)) };
    });
  }

  /** The nearest point of a union of polyhedra, in encoded columns; null where there is none. */
  function nearest(encoded: Float64Array, moving: number[], from: number, to: number | undefined, step: number) {
    const start = encoded.map((value, i) => value - center[i]);
    const inside = nodes.filter((node) => members[node] === (to ?? from));
    const outside = nodes.filter((node) => members[node] !== (to ?? from));
    // To a cluster: one of its nodes is ahead of all others. Anywhere else: another node is ahead of all of this one's.
    const [leaders, others] = to === undefined ? [outside, inside] : [inside, outside];
    const bound = (side: 'low' | 'high', none: number) =>
      Float64Array.from(moving, (i) => {
        const { source } = spec.encoded[i];
        const bent = change.bent[source];
        if (bent) return (bent[side] - encoded[i]) * scale[i];
        return side === 'low' && neverNegative.has(source) && encoded[i] >= 0 ? -encoded[i] * scale[i] : none;
      });
    const [lowest, highest] = [bound('low', -Infinity), bound('high', Infinity)];
    let best: { distance: number; change: Float64Array } | null = null;
    for (const node of leaders) {
      const found = shortest(ahead(node, others, start, moving, step), lowest, highest);
      const distance = found ? Math.sqrt(dot(found, found)) : Infinity;
      if (found && (!best || distance < best.distance)) best = { distance, change: found };
    }
    return best;
  }

  /** A value of a bent column whose encoded one is wanted: where it is reached first, from the lowest on. */
  function valueOf(column: number, position: number, wanted: number): number {
    const { lowest, highest } = change.bent[column];
    const rising = encoder.one(position, highest) > encoder.one(position, lowest);
    let [before, after] = [lowest, highest];
    for (let round = 0; round < 100; round++) {
      const middle = (before + after) / 2;
      const encoded = encoder.one(position, middle);
      if (rising ? encoded < wanted : encoded > wanted) before = middle;
      else after = middle;
    }
    return (before + after) / 2;
  }

  return (row: readonly Cell[], fixed: ReadonlySet<number>, to?: number): Change | { why: string } => {
    const encoded = encoder.row(row);
    const from = assign(encoded);
    if (to === from) return { why: 'The row is in this cluster already.' };
    const moving: number[] = [];
    spec.encoded.forEach(({ source }, i) => {
      if (moves.has(source) && !fixed.has(source) && scale[i] > 0) moving.push(i);
    });
    if (!moving.length) return { why: 'All columns that could change are held fixed.' };
    for (const step of STEPS) {
      const found = nearest(encoded, moving, from, to, step);
      if (!found) {
        const where = to === undefined ? 'another cluster' : 'this cluster';
        return { why: `No change of the free columns leads to ${where}: free a column.` };
      }
      const { distance } = found;
      const point = row.slice();
      const sizes = new Map<number, number>();
      moving.forEach((i, place) => {
        const moved = found.change[place];
        if (Math.abs(moved) <= 1e-11 * distance) return; // rounding
        const column = spec.encoded[i].source;
        const wanted = encoded[i] + moved / scale[i];
        point[column] = column in change.bent ? valueOf(column, i, wanted) : wanted;
        sizes.set(column, Math.max(sizes.get(column) ?? 0, Math.abs(moved)));
      });
      const landed = assign(encoder.row(point));
      if (landed === from || (to !== undefined && landed !== to)) continue;
      const columns = [...sizes.keys()].sort((a, b) => sizes.get(b)! - sizes.get(a)! || a - b);
      const changes = columns.map((column) => ({ column, from: row[column] ?? null, to: point[column] }));
      return { to: landed, distance, changes, point };
    }
    return { why: 'No values of the free columns were found that lead there.' };
  };
}
