// From the evidence h_k against each competitor to the evidence f_c for the cluster, and the weights α_k with which
// competitors take part in the explanation (src/whyclust/network/pools.py, 'Rules for the pool' of the design).
// The cluster itself is no competitor: its h is infinite, and its weight 0.

export interface Pooled {
  evidence: number;
  /** The strongest competitor, the first of equals. */
  competitor: number;
  weights: Float64Array;
  /** Σ_k α_k h_k. */
  explained: number;
  /** The part of f_c that belongs to no competitor. */
  offset: number;
}

/** h_k = z_c − z_k, against all or against one competitor. */
export function evidenceAgainst(scores: Float64Array, cluster: number, against?: number): Float64Array {
  return scores.map((score, k) =>
    k === cluster || (against !== undefined && k !== against) ? Infinity : scores[cluster] - score,
  );
}

function smallest(h: Float64Array): number {
  let best = 0;
  for (let k = 1; k < h.length; k++) if (h[k] < h[best]) best = k;
  return best;
}

/** exp(−stiffness (h_k − min h)); 0 for those that do not compete. */
function nearness(h: Float64Array, least: number, stiffness: number): Float64Array {
  return h.map((one) => (one === Infinity ? 0 : Math.exp(stiffness * (least - one))));
}

function explainedBy(weights: Float64Array, h: Float64Array): number {
  return weights.reduce((sum, weight, k) => (h[k] === Infinity ? sum : sum + weight * h[k]), 0);
}

/** numerator / denominator, where 0/0 on a border counts as 1. */
function ratio(numerator: number, denominator: number): number {
  return numerator === denominator ? 1 : numerator / denominator;
}

/** f_c = min_k h_k. `inside` is whether the row is in the cluster: there, relevance sums to f_c. */
export function minPool(h: Float64Array, beta: number, inside: boolean, rule: string): Pooled {
  const competitor = smallest(h);
  const least = h[competitor];
  const p = nearness(h, least, beta);
  const sum = p.reduce((one, other) => one + other, 0);
  let weights = p.map((one) => one / sum);
  if (rule === 'min_take_most' && inside) {
    weights = weights.map((one, k) => (h[k] === Infinity ? 0 : one * ratio(least, h[k]))); // Eq. (2)
  } else if (inside) {
    const factor = ratio(least, explainedBy(weights, h));
    weights = weights.map((one) => one * factor);
  }
  return { evidence: least, competitor, weights, explained: explainedBy(weights, h), offset: 0 };
}

/** Is the probability above the threshold? (Prop. 7, Eq. 30.) */
export function softMinPool(h: Float64Array, threshold: number, stiffness: number): Pooled {
  const competitor = smallest(h);
  const least = h[competitor];
  const p = nearness(h, least, stiffness);
  const sum = p.reduce((one, other) => one + other, 0);
  const competitors = h.reduce((count, one) => (one === Infinity ? count : count + 1), 0);
  const offset = Math.log1p(-threshold) - Math.log(threshold) - Math.log(competitors);
  const weights = p.map((one) => (stiffness * one) / sum);
  const evidence = stiffness * least - Math.log(sum / competitors) + offset;
  return { evidence, competitor, weights, explained: explainedBy(weights, h) + offset, offset };
}
