// Prototypes, one or several a cluster (src/whyclust/network/nodes.py, competition.py, noise.py): closed forms 1 to 3.
//
// A node j (a prototype) has the score z_j = s_j·x − b_j and stands at p_j, all around `center`. One row at a time:
//
//   R = x ⊙ Σ_j w_j s_j − Σ_j w_j ½ p_j ⊙ s_j        forms 1 and 2; w_j is what a node gains or loses
//     − ½ [(Σ o s) ⊙ (Σ t p) − (Σ o p) ⊙ (Σ t s)]    form 3, where a map mixes columns: cross terms of the pairs
//                                                     of the cluster's nodes (shares o) and the others' (shares t)

import { add, dot, rowOf, total, weighted } from './linear';
import type { Arrays, PrototypesSpec } from './spec';
import type { Head, Response } from './heads';

interface Nodes extends Response {
  point: Float64Array;
  nodes: Float64Array;
  /** Each node's part of its cluster: 1 where it is the only one. */
  shares: Float64Array;
  /** What all nodes of a cluster are of it; the rest is its background. */
  mass: Float64Array;
}

export function prototypes(spec: PrototypesSpec, array: Arrays): Head {
  const [slopes, constants, positions] = [array('slopes'), array('constants'), array('positions')];
  const [bases, center] = [array('bases'), array('center')];
  const width = center.length;
  const count = constants.length;
  const several = spec.gamma !== undefined;
  const gamma = spec.gamma ?? Infinity;
  const starts = several ? Array.from(array('starts')) : Array.from({ length: count }, (_, node) => node);
  const clusters = starts.length;
  const members = starts.flatMap((start, cluster) =>
    new Array<number>((starts[cluster + 1] ?? count) - start).fill(cluster),
  );
  const background = spec.background ? array('background') : undefined;
  const root = spec.noise || spec.background ? array('root') : undefined;
  const moments = slopes.map((slope, place) => 0.5 * slope * positions[place]);

  /** √τ A x, whose squared length the scores of nodes leave out. */
  function image(x: Float64Array): Float64Array {
    if (!spec.mixes) return x.map((value, i) => value * root![i]);
    return Float64Array.from({ length: root!.length / width }, (_, i) => dot(rowOf(root!, i, width), x));
  }

  /** √τ Aᵀ of it. */
  function back(of: Float64Array): Float64Array {
    return spec.mixes ? weighted(of, root!, width) : of.map((value, i) => value * root![i]);
  }

  function squaredLength(x: Float64Array): number {
    const seen = image(x);
    return dot(seen, seen);
  }

  function respond(encoded: Float64Array): Nodes {
    const point = encoded.map((value, i) => value - center[i]);
    const nodes = constants.map((constant, j) => dot(rowOf(slopes, j, width), point) - constant);
    if (spec.noise) nodes[count - 1] += squaredLength(point);
    if (!several) {
      const ones = new Float64Array(count).fill(1);
      return { scores: nodes, point, nodes, shares: ones, mass: ones };
    }
    const [scores, mass] = [new Float64Array(clusters), new Float64Array(clusters)];
    const shares = new Float64Array(count);
    const quadratic = background ? squaredLength(point) : 0;
    for (let k = 0; k < clusters; k++) {
      const [first, last] = [starts[k], starts[k + 1] ?? count];
      const level = background ? quadratic + Math.log(background[k]) / gamma : -Infinity;
      let top = level;
      for (let j = first; j < last; j++) top = Math.max(top, nodes[j]);
      let sum = 0;
      for (let j = first; j < last; j++) {
        // An infinite γ: the nearest prototype alone stands for its cluster.
        shares[j] = gamma === Infinity ? Number(nodes[j] === top) : Math.exp(gamma * (nodes[j] - top));
        sum += shares[j];
      }
      const whole = level === -Infinity ? sum : sum + Math.exp(gamma * (level - top));
      for (let j = first; j < last; j++) shares[j] /= whole;
      mass[k] = sum / whole;
      scores[k] = top + Math.log(whole) / gamma;
    }
    return { scores, point, nodes, shares, mass };
  }

  function spread(response: Response, cluster: number, weights: Float64Array) {
    const { scores, point, nodes, shares, mass } = response as Nodes;
    const all = total(weights);
    // Eqs. (2), (4) and (10) at once: pairs of nodes enter with the product of their shares.
    const perCluster = weights.map((weight) => -weight * mass[cluster]);
    perCluster[cluster] = weights.reduce((sum, weight, k) => sum + weight * mass[k], 0);
    const signed = shares.map((share, j) => (members[j] < weights.length ? perCluster[members[j]] * share : 0));
    let base = dot(signed, bases);
    if (several) {
      base += all * scores[cluster] - weights.reduce((sum, weight, k) => sum + weight * scores[k], 0);
      base -= dot(signed, nodes);
    }
    const values = weighted(signed, slopes, width);
    for (let i = 0; i < width; i++) values[i] *= point[i];
    add(values, -1, weighted(signed, moments, width));
    const own = shares.map((share, j) => (members[j] === cluster ? share : 0));
    if (!spec.symmetric) {
      const others = shares.map((share, j) => share * (weights[members[j]] ?? 0));
      const [ownSlopes, ownPositions] = [weighted(own, slopes, width), weighted(own, positions, width)];
      const [slope, position] = [weighted(others, slopes, width), weighted(others, positions, width)];
      for (let i = 0; i < width; i++) {
        values[i] -= 0.5 * (ownSlopes[i] * position[i] - ownPositions[i] * slope[i]);
      }
    }
    if (spec.noise && signed[count - 1] !== 0) {
      const noise = clusters - 1;
      const pairs = cluster === noise ? signed : own.map((share) => share * weights[noise]);
      addNoise(values, point, signed[count - 1], pairs);
    }
    return { values, base };
  }

  /** What is quadratic: noise is one more competitor, with a constant outlier score (closed form 4). */
  function addNoise(values: Float64Array, point: Float64Array, weight: number, pairs: Float64Array): void {
    const curved = back(image(point));
    if (spec.symmetric) {
      for (let i = 0; i < width; i++) values[i] += weight * point[i] * curved[i];
      return;
    }
    const [position, slope] = [weighted(pairs, positions, width), weighted(pairs, slopes, width)];
    for (let i = 0; i < width; i++) {
      values[i] += (position[i] + weight * point[i]) * curved[i] - 0.5 * slope[i] * point[i];
    }
  }

  return { respond, spread, noise: spec.noise };
}
