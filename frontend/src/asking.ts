// What depends on the reader's choice is computed here, by the same arithmetic as in Python (see engine/).
import { array, cell, held, ready, values, type Cell } from './data';
import { makeEngine, type Engine } from './engine';

let made: Engine | null = null;

/** Why the page cannot compute other rows by itself; null where it can. */
export const whyNot: string | null =
  !held ? 'This page holds no rows.'
  : values.engine?.why_not ? values.engine.why_not
  : held.relevance.kind !== 'all' ? 'The table has so many columns that the page does not hold them all.'
  : null;

export async function engine(): Promise<Engine> {
  if (!made) {
    await ready('engine-', 'column-');
    made = makeEngine(values.engine, (name: string) => array(`engine-${name}`) as Float64Array);
  }
  return made;
}

/** The user's own values of a row, a cell for each column. */
export function rowOf(row: number): Cell[] {
  return values.columns.map((_, column) => cell(row, column) ?? null);
}
