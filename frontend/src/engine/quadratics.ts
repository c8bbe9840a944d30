// Gaussian mixtures (src/whyclust/network/quadratic.py): closed form 4. The score of cluster k is
// z_k(x) = b_k − ½‖M_k x − t_k‖², and with the mid-point m_k of two means as reference the exact Shapley value of
// h_k = z_c − z_k is R = Σ_k α_k (x − m_k) ⊙ ½(∇h_k(x) + ∇h_k(m_k)); the base value is Σ_k α_k h_k(m_k).

import { dot, rowOf, times, weighted } from './linear';
import type { Arrays, QuadraticsSpec } from './spec';
import type { Head, Response } from './heads';

export function quadratics(spec: QuadraticsSpec, array: Arrays): Head {
  const [maps, shifts, constants] = [array('maps'), array('shifts'), array('constants')];
  const [positions, center] = [array('positions'), array('center')];
  const width = center.length;
  const clusters = constants.length;
  const mapOf = (k: number) => rowOf(maps, k, maps.length / clusters);
  const shiftOf = (k: number) => rowOf(shifts, k, shifts.length / clusters);

  function residuals(x: Float64Array, k: number): Float64Array {
    const image = spec.diagonal ? x.map((value, i) => value * mapOf(k)[i]) : times(mapOf(k), x);
    return image.map((value, i) => value - shiftOf(k)[i]);
  }

  function score(x: Float64Array, k: number): number {
    const away = residuals(x, k);
    return constants[k] - 0.5 * dot(away, away);
  }

  /** −∇z_k. */
  function fall(x: Float64Array, k: number): Float64Array {
    const away = residuals(x, k);
    return spec.diagonal ? away.map((value, i) => value * mapOf(k)[i]) : weighted(away, mapOf(k), width);
  }

  function respond(encoded: Float64Array): Response & { point: Float64Array } {
    const point = encoded.map((value, i) => value - center[i]);
    return { scores: constants.map((_, k) => score(point, k)), point };
  }

  function spread(response: Response, cluster: number, weights: Float64Array) {
    const { point } = response as ReturnType<typeof respond>;
    const values = new Float64Array(width);
    const own = fall(point, cluster);
    let base = 0;
    weights.forEach((weight, k) => {
      if (weight === 0) return; // the cluster itself, and whoever is too far to count
      const middle = rowOf(positions, k, width).map((value, i) => 0.5 * (value + positions[cluster * width + i]));
      const here = fall(point, k);
      const [ownThere, there] = [fall(middle, cluster), fall(middle, k)];
      for (let i = 0; i < width; i++) {
        const gradients = here[i] - own[i] + there[i] - ownThere[i];
        values[i] += weight * (point[i] - middle[i]) * 0.5 * gradients;
      }
      base += weight * (score(middle, cluster) - score(middle, k));
    });
    return { values, base };
  }

  return { respond, spread, noise: false };
}
