// The arithmetic of the report's page: what depends on a reader's choice. Everything here is Python's own arithmetic
// on Python's own numbers, one row at a time; tests/test_report_engine.py holds the two against each other.

import { limitsOf, makeEncoder } from './encoding';
import type { Head } from './heads';
import { largest } from './linear';
import { evidenceAgainst, minPool, softMinPool, type Pooled } from './pools';
import { prototypes } from './prototypes';
import { quadratics } from './quadratics';
import { makeSmallestChange, type Change } from './smallest_change';
import { UnfitRow, type Arrays, type Cell, type EngineSpec } from './spec';

export { same } from './encoding';
export { shortest } from './projection';
export { UnfitRow, type Arrays, type Cell, type Change, type EngineSpec };

/** Clusters are positions in the order of `spec.clusters`. */
export interface Explained {
  /** The cluster that the row is in, and the one that is explained. */
  assigned: number;
  cluster: number;
  /** f_c of the cluster explained, and the strongest competitor. */
  evidence: number;
  competitor: number;
  /** Relevance of every user's column; with `base` they sum to `explained`. */
  values: Float64Array;
  base: number;
  explained: number;
  /** f_c of every cluster; NaN for those that the model does not know. */
  scores: Float64Array;
}

export interface Engine {
  /** Why this row is in a cluster (by default its own), against all others or against one. */
  explain(row: readonly Cell[], cluster?: number, against?: number): Explained;
  /** Between which values a column counts; beyond them nothing changes. */
  limits(column: number): [number, number];
  /** The nearest row in another cluster, `within` the range of the data; only where borders are flat. Categories stay. */
  smallestChange?(row: readonly Cell[], fixed: ReadonlySet<number>, to?: number, within?: boolean): Change | { why: string };
  /** The smallest change of one column, by a number within the range of the data, whole where the column is, or another category or flag; null where none leads there. */
  changeOf?(row: readonly Cell[], column: number, to?: number): Change | null;
  /** The smallest change of two columns of numbers together, likewise, but not in whole numbers. */
  changeOfTwo?(row: readonly Cell[], fixed: ReadonlySet<number>, to?: number): Change | null;
  /** A change with whole numbers where columns hold no others, if these lead to the same cluster. */
  inWhole?(row: readonly Cell[], change: Change): Change;
  /** A change in numbers of few digits, which lead to the same cluster. */
  rounded?(row: readonly Cell[], change: Change, within: boolean): Change;
}

// Scores near the largest number could not be told from no competitor at all; Python refuses the same.
const MOST = Number.MAX_VALUE / 1e4;

export function makeEngine(spec: EngineSpec, array: Arrays): Engine {
  const encoder = makeEncoder(spec.encoded, array);
  const head: Head = spec.head.kind === 'prototypes' ? prototypes(spec.head, array) : quadratics(spec.head, array);
  const { pool, places } = spec;
  const countOf = (place: number) => places.indexOf(place);

  /** Where a cluster of the page is among the model's. */
  function placeOf(cluster: number): number {
    if (!(places[cluster] >= 0)) throw new UnfitRow('The model does not know this cluster.');
    return places[cluster];
  }

  function respond(encoded: Float64Array) {
    const response = head.respond(encoded);
    const top = response.scores[largest(response.scores)];
    if (!(Math.abs(top) < MOST)) throw new UnfitRow('These numbers are too large for the model.');
    return response;
  }

  function pooled(h: Float64Array, inside: boolean, duel: boolean, rule: string): Pooled {
    if (pool.kind === 'soft_min' && !duel) return softMinPool(h, pool.threshold, pool.stiffness);
    return minPool(h, spec.beta, inside, rule);
  }

  function explain(row: readonly Cell[], cluster?: number, against?: number): Explained {
    const response = respond(encoder.row(row));
    const { scores } = response;
    const assigned = largest(scores);
    const asked = cluster === undefined ? assigned : placeOf(cluster);
    const rival = against === undefined ? undefined : placeOf(against);
    const duel = rival !== undefined;
    if (asked === rival) throw new UnfitRow('A cluster does not compete with itself.');
    // Noise has no place of its own: it competes only with rows that are noise, or taken for it (network/apart.py).
    const noise = scores.length - 1;
    const aside =
      head.noise && scores.length > 2 && pool.kind === 'min' && !duel && asked !== noise && assigned !== noise;
    const h = evidenceAgainst(aside ? scores.subarray(0, noise) : scores, asked, rival);
    // The paper's rule is defined for the row's own cluster; against one competitor all rules are the same.
    const rule = asked === assigned && !duel ? spec.rule : 'expected';
    const { evidence, competitor, weights, explained, offset } = pooled(h, duel || asked === assigned, duel, rule);
    const { values, base } = head.spread(response, asked, weights);
    const collected = new Float64Array(spec.columns);
    spec.encoded.forEach(({ source }, position) => (collected[source] += values[position]));
    const evidenceOf = (k: number) => pooled(evidenceAgainst(scores, k), true, false, 'expected').evidence;
    return {
      assigned: countOf(assigned),
      cluster: countOf(asked),
      evidence,
      competitor: countOf(competitor),
      values: collected,
      base: base + offset,
      explained,
      scores: Float64Array.from(places, (place) => (place < 0 ? NaN : evidenceOf(place))),
    };
  }

  /** A column that is used twice may count further on. */
  function limits(column: number): [number, number] {
    const found = spec.encoded.filter(({ source }) => source === column).map(({ steps }) => limitsOf(steps));
    return [Math.min(...found.map(([low]) => low)), Math.max(...found.map(([, high]) => high))];
  }
  if (!spec.change) return { explain, limits };
  const assign = (encoded: Float64Array) => largest(respond(encoded).scores);
  const change = makeSmallestChange(spec, spec.change, array, encoder, assign);
  const goal = (to?: number) => (to === undefined ? undefined : placeOf(to));
  const counted = (found: Change): Change => ({ ...found, to: countOf(found.to) });
  return {
    explain,
    limits,
    smallestChange(row, fixed, to, within) {
      const found = change.several(row, fixed, goal(to), within);
      return 'why' in found ? found : counted(found);
    },
    changeOf(row, column, to) {
      const found = change.alone(row, column, goal(to));
      return found && counted(found);
    },
    changeOfTwo(row, fixed, to) {
      const found = change.two(row, fixed, goal(to));
      return found && counted(found);
    },
    inWhole: (row, found) => counted(change.inWhole(row, { ...found, to: placeOf(found.to) })),
    rounded: (row, found, within) => counted(change.rounded(row, { ...found, to: placeOf(found.to) }, within)),
  };
}
