// The nearest row in another cluster, as `ex.smallest_change` of Python has it (src/whyclust/answers), where all scores
// are affine: a cluster is a polyhedron then, and the nearest point of it is found exactly. The distance is Euclidean in
// the space in which clusters are compared. Where several columns change, categories, and whatever else would be tried value
// by value, stay. Of a single column all its values are tried, and the answer is whole where the column is, as with `whole=`
// and all others fixed in Python.

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
// Parts of clusters, squared, times columns, squared: more would take a second or two.
const MOST_PAIRED = 2_000_000;

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
  const parts = spec.head.kind === 'prototypes' && spec.head.gamma !== undefined;
  const starts = parts ? array('starts') : Float64Array.from(constants, (_, node) => node);
  const memberOf = (node: number) => starts.reduce((found, start, k) => (start <= node ? k : found), 0);
  const members = Array.from(constants, (_, node) => memberOf(node));
  const nodes = members.map((_, node) => node);
  const neverNegative = new Set(change.never_negative);
  const moves = new Set([...change.numbers, ...Object.keys(change.bent).map(Number)]);
  const whole = new Set(spec.whole);

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
  function nearest(encoded: Float64Array, moving: number[], from: number, to: number | undefined, step: number, within: boolean) {
    const [lowest, highest] = box(encoded, moving, within);
    let best: { distance: number; change: Float64Array } | null = null;
    for (const sides of regions(encoded, moving, from, to, step)) {
      const found = shortest(sides, lowest, highest);
      const distance = found ? Math.sqrt(dot(found, found)) : Infinity;
      if (found && (!best || distance < best.distance)) best = { distance, change: found };
    }
    return best;
  }

  /** The polyhedra whose union is asked for: a cluster, or all that is not the row's own. */
  function regions(encoded: Float64Array, moving: number[], from: number, to: number | undefined, step: number): Side[][] {
    const start = encoded.map((value, i) => value - center[i]);
    const inside = nodes.filter((node) => members[node] === (to ?? from));
    const outside = nodes.filter((node) => members[node] !== (to ?? from));
    // To a cluster: one of its nodes is ahead of all others. Anywhere else: another node is ahead of all of this one's.
    const [leaders, others] = to === undefined ? [outside, inside] : [inside, outside];
    return leaders.map((node) => ahead(node, others, start, moving, step));
  }

  /** How far columns may move, in the units of the distance. */
  function box(encoded: Float64Array, moving: number[], within: boolean): Float64Array[] {
    const ends = moving.map((i) => {
      const { source } = spec.encoded[i];
      const bent = change.bent[source];
      if (bent) return [bent.low, bent.high];
      const range = within ? spec.ranges[source] : undefined;
      if (range) return [Math.min(range[0], encoded[i]), Math.max(range[1], encoded[i])];
      return [neverNegative.has(source) && encoded[i] >= 0 ? 0 : -Infinity, Infinity];
    });
    return [0, 1].map((side) => Float64Array.from(moving, (i, place) => (ends[place][side] - encoded[i]) * scale[i]));
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

  function several(row: readonly Cell[], fixed: ReadonlySet<number>, to?: number, within = false): Change | { why: string } {
    const encoded = encoder.row(row);
    const from = assign(encoded);
    if (to === from) return { why: 'The row is in this cluster already.' };
    const moving: number[] = [];
    spec.encoded.forEach(({ source }, i) => {
      if (moves.has(source) && !fixed.has(source) && scale[i] > 0) moving.push(i);
    });
    if (!moving.length) return { why: moves.size ? 'All columns of numbers that could change are held fixed.' : 'The model reads no column of numbers that could change.' };
    for (const step of STEPS) {
      const found = nearest(encoded, moving, from, to, step, within);
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
  }

  /** Of the values that a column has, the one nearest to the row's own that leads there; the first of equals. */
  function chosen(row: readonly Cell[], column: number, to?: number): Change | null {
    const encoded = encoder.row(row);
    const from = assign(encoded);
    if (to === from) return null;
    let best: Change | null = null;
    for (const value of change.choices[column]) {
      const point = row.slice();
      point[column] = value;
      const other = encoder.row(point);
      const moved = other.map((code, i) => (code - encoded[i]) * scale[i]);
      const distance = Math.sqrt(dot(moved, moved));
      if (distance === 0 || (best && distance >= best.distance)) continue; // a rare value may be read as another is
      const landed = assign(other);
      if (landed === from || (to !== undefined && landed !== to)) continue;
      best = { to: landed, distance, changes: [{ column, from: row[column] ?? null, to: value }], point };
    }
    return best;
  }

  /** The nearest value of one column, within the range of the data and whole where all of them are; null for none. */
  function alone(row: readonly Cell[], column: number, to?: number): Change | null {
    if (column in change.choices) return chosen(row, column, to);
    const i = spec.encoded.findIndex(({ source }) => source === column);
    const range = spec.ranges[column];
    const encoded = encoder.row(row);
    const from = assign(encoded);
    if (to === from || !moves.has(column) || !range || !(scale[i] > 0)) return null;
    const [least, most] = box(encoded, [i], true).map(([end]) => end);
    for (const step of STEPS) {
      let best: { distance: number; value: number } | null = null;
      for (const sides of regions(encoded, [i], from, to, step)) {
        let [low, high] = [least, most];
        for (const { normal, level } of sides) {
          if (normal[0] > 1e-12) low = Math.max(low, level / normal[0]);
          else if (normal[0] < -1e-12) high = Math.min(high, level / normal[0]);
          else if (level > 1e-12) low = Infinity;
        }
        if (low > high) continue;
        const codes = [encoded[i] + low / scale[i], encoded[i] + high / scale[i]];
        const moved = low > 0 ? low : Math.min(high, 0);
        const wanted = encoded[i] + moved / scale[i];
        const value = whole.has(column) ? wholeBetween(i, codes, row[column] ?? null, encoded[i]) : column in change.bent ? valueOf(column, i, wanted) : wanted;
        if (value === null) continue;
        const distance = whole.has(column) ? Math.abs(encoder.one(i, value) - encoded[i]) * scale[i] : Math.abs(moved);
        if (!best || distance < best.distance) best = { distance, value };
      }
      if (!best) return null;
      const point = row.slice();
      point[column] = best.value;
      const landed = assign(encoder.row(point));
      if (landed === from || (to !== undefined && landed !== to)) continue;
      return { to: landed, distance: best.distance, changes: [{ column, from: row[column] ?? null, to: best.value }], point };
    }
    return null;
  }

  /** Of all pairs of columns of numbers, the one with the smallest change within the data; null where none leads there. */
  function two(row: readonly Cell[], fixed: ReadonlySet<number>, to?: number): Change | null {
    const free = [...moves].filter((column) => !fixed.has(column)).sort((a, b) => a - b);
    if (nodes.length ** 2 * free.length ** 2 > MOST_PAIRED) return null;
    let best: Change | null = null;
    for (const one of free) {
      for (const other of free.filter((column) => column > one)) {
        const found = several(row, new Set([...moves].filter((column) => column !== one && column !== other)), to, true);
        if (!('why' in found) && (!best || found.distance < best.distance)) best = found;
      }
    }
    return best;
  }

  /**
   * The same with whole numbers where columns hold no others: each rounded away from the row's own, then back as far as
   * still leads there, the smallest changes first. As it is where these do not lead there.
   */
  function inWhole(row: readonly Cell[], found: Change): Change {
    const point = found.point.slice();
    const whole_ = found.changes.filter((one) => whole.has(one.column) && typeof one.from === 'number');
    const away = (one: Change['changes'][number]) => Math.sign((one.to as number) - (one.from as number));
    for (const one of whole_) point[one.column] = away(one) > 0 ? Math.ceil(one.to as number) : Math.floor(one.to as number);
    if (!whole_.length || assign(encoder.row(point)) !== found.to) return found;
    const leads = (column: number, value: number) => {
      const before = point[column];
      point[column] = value;
      if (assign(encoder.row(point)) === found.to) return true;
      point[column] = before;
      return false;
    };
    for (const one of whole_.slice().reverse()) {
      if (leads(one.column, one.from as number)) continue;
      while (Math.abs((point[one.column] as number) - (one.from as number)) > 1 && leads(one.column, (point[one.column] as number) - away(one)));
    }
    const changes = found.changes.map((one) => ({ ...one, to: point[one.column] })).filter((one) => one.to !== one.from);
    const encoded = encoder.row(row), other = encoder.row(point);
    const moved = other.map((code, i) => (code - encoded[i]) * scale[i]);
    return { ...found, distance: Math.sqrt(dot(moved, moved)), changes, point };
  }

  /** The whole number nearest to the row's own whose code lies between two; codes rise or fall with numbers. */
  function wholeBetween(i: number, [low, high]: number[], own: Cell, code: number): number | null {
    const column = spec.encoded[i].source;
    let [first, last] = spec.ranges[column].map((end, side) => (column in change.bent ? end : side ? Math.max(end, code) : Math.min(end, code)));
    [first, last] = [Math.ceil(first), Math.floor(last)];
    const near = (x: number) => 1e-9 * (1 + Math.abs(x));
    const rising = encoder.one(i, last) >= encoder.one(i, first);
    /** The first whole number, from the lowest on, of which this is true. */
    const until = (true_: (code: number) => boolean) => {
      let [before, after] = [first - 1, last + 1];
      while (after - before > 1) {
        const middle = Math.floor((before + after) / 2);
        if (true_(encoder.one(i, middle))) after = middle;
        else before = middle;
      }
      return after;
    };
    const begin = until((x) => (rising ? x >= low - near(low) : x <= high + near(high)));
    const end = until((x) => (rising ? x > high + near(high) : x < low - near(low))) - 1;
    if (begin > end) return null;
    if (typeof own !== 'number') own = (begin + end) / 2;
    const clamp = (x: number) => Math.min(Math.max(x, begin), end);
    const [below, above] = [clamp(Math.floor(own)), clamp(Math.ceil(own))];
    return Math.abs(encoder.one(i, above) - code) < Math.abs(encoder.one(i, below) - code) ? above : below;
  }

  /**
   * The same with numbers that people can copy: of as few digits as lead to the same cluster, each rounded away from
   * the row's own, and by a fifth of its change at most. Three digits of what the column spans come first; what they do
   * not show stays as it is.
   */
  function rounded(row: readonly Cell[], found: Change, within: boolean): Change {
    for (let digits = 3; digits < 15; digits++) {
      for (const few of [true, false]) {
        const changes = found.changes.flatMap((one) => {
          if (one.column in change.choices) return [one]; // a value as the data have it
          const value = readable(one.column, one.from, one.to as number, digits, few, within);
          return value === one.from ? [] : [{ ...one, to: value }];
        });
        const near = changes.every(({ column, from, to }) => {
          if (column in change.choices) return true;
          const exact = found.changes.find((one) => one.column === column)!.to as number;
          return typeof from !== 'number' || Math.abs((to as number) - exact) <= 0.2 * Math.abs(exact - from);
        });
        const point = row.slice();
        for (const { column, to } of changes) point[column] = to;
        if (near && assign(encoder.row(point)) === found.to) return { ...found, changes, point };
      }
    }
    return found;
  }

  function readable(column: number, from: Cell, to: number, digits: number, few: boolean, within: boolean): Cell {
    const [lowest, highest] = spec.ranges[column] ?? [0, 0];
    const unit = 10 ** (Math.floor(Math.log10(highest - lowest || Math.abs(to) || 1)) - digits + 1);
    if (whole.has(column) && Number.isInteger(to)) return to;
    if (typeof from !== 'number') return Number((Math.round(to / unit) * unit).toPrecision(15));
    if (few && Math.round(to / unit) === Math.round(from / unit)) return from;
    const value = Number(((to > from ? Math.ceil(to / unit) : Math.floor(to / unit)) * unit).toPrecision(15));
    if (!within && !(column in change.bent)) return neverNegative.has(column) && from >= 0 ? Math.max(value, 0) : value;
    return Math.min(Math.max(value, Math.min(lowest, from)), Math.max(highest, from));
  }

  return { several, alone, two, inWhole, rounded };
}
