export type Cell = number | string | boolean | null;
export interface Explained { assigned: number; cluster: number; evidence: number; competitor: number; values: Float64Array; base: number; explained: number; scores: Float64Array }
export interface Change { to: number; distance: number; changes: { column: number; from: Cell; to: Cell }[]; point: Cell[] }
export interface Engine {
  explain(row: Cell[], cluster?: number, against?: number): Explained;
  smallestChange?(row: Cell[], fixed: ReadonlySet<number>, to?: number): Change | { why: string };
}
export type EngineSpec = any;
export function makeEngine(_spec: EngineSpec, _array: (name: string) => Float64Array): Engine {
  throw new Error('not built yet');
}
