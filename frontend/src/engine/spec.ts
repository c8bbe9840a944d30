// What Python writes down of a model: `engine_spec` of src/whyclust/report/engine.py.

/** One value in the user's own column; null is a gap. */
export type Cell = number | string | boolean | null;

/** One step from a user's column to an encoded one; which, is told by the only (or first) key that it has. */
export interface Step {
  fill?: Cell;
  origin?: number;
  factor?: number;
  offset?: number;
  low?: number;
  high?: number;
  ranks?: string;
  function?: string;
  above?: number;
  one_of?: Cell[];
  none_of?: Cell[];
  known?: Cell[];
  missing?: boolean;
}

export interface EncodedColumn {
  source: number;
  steps?: Step[];
}

export interface PrototypesSpec {
  kind: 'prototypes';
  symmetric: boolean;
  /** Whether the last cluster is noise, which has no prototypes. */
  noise: boolean;
  /** γ of clusters with several prototypes, null for infinite; left out where each has one. */
  gamma?: number | null;
  /** Whether clusters have a constant similarity besides. */
  background: boolean;
  /** Whether `root` (of noise, and of such a background) is a matrix, and not the diagonal of one. */
  mixes: boolean;
}

export interface QuadraticsSpec {
  kind: 'quadratics';
  diagonal: boolean;
}

/** The range of the data, outside of which nothing is known of a bent column: their values, and these encoded. */
export interface BentColumn {
  lowest: number;
  highest: number;
  low: number;
  high: number;
}

export interface ChangeSpec {
  /** User's columns that are read as they are. */
  numbers: number[];
  /** User's columns that are bent by themselves (logarithms, ranks, limits). */
  bent: Record<string, BentColumn>;
  /** Values of user's columns that are tried one by one: categories, False and True, bins. */
  choices: Record<string, Cell[]>;
  /** User's columns that are nowhere below zero, and stay so. */
  never_negative: number[];
  /** The units of the distance, in words. */
  measured: string;
}

export interface EngineSpec {
  /** Clusters as the page counts them, and where each is among the model's; −1 for one that it does not know. */
  clusters: (number | string | boolean)[];
  places: number[];
  /** How many columns the user's table has. */
  columns: number;
  encoded: EncodedColumn[];
  beta: number;
  rule: string;
  pool: { kind: 'min' } | { kind: 'soft_min'; threshold: number; stiffness: number };
  head: PrototypesSpec | QuadraticsSpec;
  /** Lowest and highest values of the user's columns of numbers, of all rows, and those that hold whole numbers only. */
  ranges: Record<string, [number, number]>;
  whole: number[];
  change?: ChangeSpec;
  /** Why there is no `change`, in a sentence. */
  why_no_change?: string;
}

/** Arrays by name, as Python has named them; tables row by row. */
export type Arrays = (name: string) => Float64Array;

/** What a reader has chosen cannot be computed; the message is a sentence for the reader. */
export class UnfitRow extends Error {
  constructor(
    message: string,
    /** The user's column, by position, where a single one is to blame. */
    readonly column?: number,
  ) {
    super(message);
  }
}
