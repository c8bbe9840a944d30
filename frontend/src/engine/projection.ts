// The shortest change into a polyhedron: min ‖y‖ with normals · y ≥ levels and low ≤ y ≤ high, exact. Python solves the
// same problem by non-negative least squares (src/whyclust/answers/_projection.py); it has one solution, so the way is
// free. Here it is the dual active-set method of Goldfarb and Idnani: sides are taken in, the most violated first, and
// let go again where they would have to pull. A coordinate at a side of the box is fixed, which costs nothing.

import { add, dot } from './linear';

export interface Side {
  normal: Float64Array;
  level: number;
}

const TINY = 1e-12;
// Squared sine of the angle below which a side is taken for a combination of others.
const PARALLEL = 1e-13;

/** The shortest y on the right side of all sides and in the box; null where there is none. */
export function shortest(sides: Side[], low: Float64Array, high: Float64Array): Float64Array | null {
  const lengths = sides.map(({ normal }) => Math.sqrt(dot(normal, normal)));
  const flat = TINY * Math.max(1, ...lengths);
  // A side without direction is met everywhere or nowhere.
  if (sides.some(({ level }, i) => lengths[i] <= flat && level > TINY)) return null;
  const unit = sides.flatMap(({ normal, level }, i) =>
    lengths[i] <= flat ? [] : [{ normal: normal.map((value) => value / lengths[i]), level: level / lengths[i] }],
  );
  return new Descent(unit, low, high).found();
}

class Descent {
  private y: Float64Array;
  /** Sides that hold the point, and with which multiplier. */
  private held = new Map<number, number>();
  /** Coordinates that stand at a side of the box: 1 at the low one, −1 at the high one, and the multiplier. */
  private fixed = new Map<number, { sign: number; multiplier: number }>();

  constructor(
    private sides: Side[],
    private low: Float64Array,
    private high: Float64Array,
  ) {
    this.y = new Float64Array(low.length);
  }

  found(): Float64Array | null {
    for (let i = 0; i < this.low.length; i++) if (this.low[i] > this.high[i]) return null;
    const most = 50 * (this.sides.length + this.low.length + 1);
    for (let round = 0; round < most; round++) {
      const worst = this.mostViolated();
      if (!worst) return this.y;
      if (!this.take(worst)) return null;
      this.settle();
    }
    return null;
  }

  /** A side that the point is not on, or a coordinate outside the box, as a side of its own. */
  private mostViolated(): (Side & { side?: number; coordinate?: number }) | null {
    const { y, low, high } = this;
    let gap = 0;
    for (const { level } of this.sides) gap = Math.max(gap, Math.abs(level));
    gap = 1e-13 * Math.max(gap, Math.sqrt(dot(y, y)));
    let [side, coordinate] = [-1, -1];
    this.sides.forEach(({ normal, level }, i) => {
      const missing = level - dot(normal, y);
      if (missing > gap && !this.held.has(i)) [side, gap] = [i, missing];
    });
    for (let i = 0; i < y.length; i++) {
      const missing = Math.max(low[i] - y[i], y[i] - high[i]);
      if (missing > gap && !this.fixed.has(i)) [coordinate, gap] = [i, missing];
    }
    if (coordinate >= 0) {
      const sign = y[coordinate] < low[coordinate] ? 1 : -1;
      const normal = new Float64Array(y.length);
      normal[coordinate] = sign;
      return { normal, level: sign > 0 ? low[coordinate] : -high[coordinate], coordinate };
    }
    return side < 0 ? null : { ...this.sides[side], side };
  }

  /** Move until the side is met; sides that would have to pull are let go on the way. */
  private take(worst: Side & { side?: number; coordinate?: number }): boolean {
    const { normal, level } = worst;
    let multiplier = 0;
    for (;;) {
      const held = [...this.held.keys()];
      const pull = this.solve(held.map((i) => this.freeDot(this.sides[i].normal, normal)));
      const rest = normal.slice();
      held.forEach((i, place) => add(rest, -pull[place], this.sides[i].normal));
      // What is left along fixed coordinates is what the box pulls; the point moves along the others.
      const move = rest.slice();
      for (const i of this.fixed.keys()) move[i] = 0;
      const rise = dot(move, move);
      const whole = rise > PARALLEL ? (level - dot(normal, this.y)) / rise : Infinity;
      let part = Infinity;
      let leave = () => {};
      held.forEach((i, place) => {
        const until = pull[place] > TINY ? this.held.get(i)! / pull[place] : Infinity;
        if (until < part) [part, leave] = [until, () => this.held.delete(i)];
      });
      for (const [i, { sign, multiplier: own }] of this.fixed) {
        const until = sign * rest[i] > TINY ? own / (sign * rest[i]) : Infinity;
        if (until < part) [part, leave] = [until, () => this.fixed.delete(i)];
      }
      const step = Math.min(whole, part);
      if (step === Infinity) return false;
      held.forEach((i, place) => this.held.set(i, this.held.get(i)! - step * pull[place]));
      for (const [i, one] of this.fixed) one.multiplier -= step * one.sign * rest[i];
      multiplier += step;
      if (whole < Infinity) add(this.y, step, move);
      if (whole <= part) break;
      leave();
    }
    if (worst.side !== undefined) this.held.set(worst.side, multiplier);
    else this.fixed.set(worst.coordinate!, { sign: normal[worst.coordinate!], multiplier });
    return true;
  }

  /** The sides that hold the point are known: it follows from them to the last digit, so that rounding does not grow. */
  private settle(): void {
    const y = new Float64Array(this.y.length);
    for (const [i, { sign }] of this.fixed) y[i] = sign > 0 ? this.low[i] : this.high[i];
    const held = [...this.held.keys()];
    const pull = this.solve(held.map((i) => this.sides[i].level - dot(this.sides[i].normal, y)));
    held.forEach((i, place) => {
      const { normal } = this.sides[i];
      for (let j = 0; j < y.length; j++) if (!this.fixed.has(j)) y[j] += pull[place] * normal[j];
    });
    this.y = y;
  }

  /** A product over the coordinates that are not fixed. */
  private freeDot(one: Float64Array, other: Float64Array): number {
    let sum = dot(one, other);
    for (const i of this.fixed.keys()) sum -= one[i] * other[i];
    return sum;
  }

  /** (N Nᵀ) m = right by Cholesky's method, N the held normals on the free coordinates. */
  private solve(right: number[]): number[] {
    const rows = [...this.held.keys()].map((i) => this.sides[i].normal);
    const root: number[][] = [];
    const solution = right.slice();
    for (let i = 0; i < rows.length; i++) {
      root.push([]);
      for (let j = 0; j <= i; j++) {
        let sum = this.freeDot(rows[i], rows[j]);
        for (let k = 0; k < j; k++) sum -= root[i][k] * root[j][k];
        root[i].push(i === j ? Math.sqrt(Math.max(sum, Number.MIN_VALUE)) : sum / root[j][j]);
      }
      for (let k = 0; k < i; k++) solution[i] -= root[i][k] * solution[k];
      solution[i] /= root[i][i];
    }
    for (let i = rows.length - 1; i >= 0; i--) {
      for (let k = i + 1; k < rows.length; k++) solution[i] -= root[k][i] * solution[k];
      solution[i] /= root[i][i];
    }
    return solution;
  }
}
