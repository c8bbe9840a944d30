// What the engine asks of a head that Python has folded into the space of the encoded columns.

export interface Response {
  /** A score for each cluster; differences of them are the evidence. */
  scores: Float64Array;
}

export interface Head {
  /** Whether the last cluster is noise. */
  noise: boolean;
  respond(encoded: Float64Array): Response;
  /**
   * Relevance of the encoded columns and the base value, for weights α of the competitors. There are fewer weights
   * than clusters where noise is left aside.
   */
  spread(response: Response, cluster: number, weights: Float64Array): { values: Float64Array; base: number };
}
