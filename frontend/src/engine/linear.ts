// The few products of vectors and tables that the engine needs. A table is one array, row by row.

/** Row `index` of a table with `width` columns; no copy. */
export function rowOf(table: Float64Array, index: number, width: number): Float64Array {
  return table.subarray(index * width, (index + 1) * width);
}

export function dot(one: Float64Array, other: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < one.length; i++) sum += one[i] * other[i];
  return sum;
}

/** target += factor · vector. */
export function add(target: Float64Array, factor: number, vector: Float64Array): void {
  if (factor === 0) return;
  for (let i = 0; i < target.length; i++) target[i] += factor * vector[i];
}

/** Σ_j weights_j · row_j of a table. */
export function weighted(weights: Float64Array, table: Float64Array, width: number): Float64Array {
  const sum = new Float64Array(width);
  for (let j = 0; j < weights.length; j++) add(sum, weights[j], rowOf(table, j, width));
  return sum;
}

/** table · vector. */
export function times(table: Float64Array, vector: Float64Array): Float64Array {
  const width = vector.length;
  return Float64Array.from({ length: table.length / width }, (_, row) => dot(rowOf(table, row, width), vector));
}

export function total(values: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i];
  return sum;
}

/** The first position of the largest number. */
export function largest(values: Float64Array): number {
  let best = 0;
  for (let i = 1; i < values.length; i++) if (values[i] > values[best]) best = i;
  return best;
}
