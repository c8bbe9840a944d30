// What depends on the reader's choice is computed here, by the same arithmetic as in Python (see engine/).
import { array, cell, held, ready, values, type Cell } from './data';
import { makeEngine, same, type Change, type Engine } from './engine';

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

/** A change as the page holds rows: categories, yes and no as texts. */
export function inTexts(change: Change): Change {
  const text = (column: number, value: Change['point'][number]) => {
    const known = held!.columns.find((one) => one.column === column);
    return known?.kind === 'category' ? (known.categories?.find((one) => same(value, one)) ?? value) : value;
  };
  const changes = change.changes.map((one) => ({ ...one, to: text(one.column, one.to) }));
  const point = change.point.slice();
  for (const { column, to } of changes) point[column] = to;
  return { ...change, changes, point };
}
