// What Python wrote into the page: plain values, and typed arrays that are unpacked when they are needed.

export interface Feature {
  name: string;
  column: number;
  relevance: number;
  fraction: number;
  direction: string;
  inside: number | string | null;
  there: number | string | null;
  against: string | null;
}
export interface Rule { text: string; precision: number; coverage: number }
export interface Cluster {
  id: string;
  name: string;
  noise: boolean;
  size: number;
  share: number;
  evidence: number;
  doubt: string | null;
  flagged: number;
  doubtful?: number;
  sentences: string[];
  features: Feature[];
  strongest: number[];
  typical: number[];
  borderline: number[];
  pictures: { caption: string; html: string }[];
  model?: Shown;
  groups?: { asked: number; sentence: string; groups: { share: number; columns: string[]; sentence: string }[] } | null;
  rules?: Rule[] | null;
  sufficient?: { sentence: string; rows: Record<string, string> } | null;
}
interface Way { told: string; pictures?: string[]; columns?: { name: string; values: number[] }[] }
/** What a deep model itself shows of a cluster: pictures are HTML that Python wrote. */
export interface Shown {
  decoded?: { picture?: string; columns?: { name: string; decoded: number; mean: number | null }[] };
  ways?: Way[];
  /** `doubt` says that the spaces are not quite apart, or why there is nothing to list: one of them has no dimension. */
  spaces?: { doubt: string | null; collapsed: boolean; uses: { name: string; share: number; negative: boolean }[]; ignores: { name: string; share: number; negative: boolean }[]; used_picture: string | null; picture: string | null };
  gates?: { open: number; columns: { name: string; gate: number }[]; picture: string | null };
}
/** A smallest change that Python found beforehand: names of columns, values now and then. */
export interface Known { to: number; distance: number; exact: boolean; metric: string; changes: [string, Cell, Cell][]; left: number }
export type Distribution =
  | { kind: 'number'; low: number; high: number; whole: boolean; counts: number[][]; missing: number[] }
  | { kind: 'category'; bars: string[]; counts: number[][]; missing: number[] };
export interface Pair { from: number; to: number; evidence: number; columns: number[]; relevance: number[]; rest: number; base: number }
export interface HeldColumn { column: number; name: string; kind: 'number' | 'category'; categories?: string[] }
export interface Held {
  count: number;
  positions: boolean;
  counted_from?: number | null; // where rows have no names of their own
  maps: { name: string; axes: [string, string]; aspect: number; beyond: number }[];
  names: { from?: number; names?: string[] };
  columns: HeldColumn[];
  relevance: { kind: 'all' } | { kind: 'strongest'; width: number; texts?: string[][] };
  pictures?: { height: number; width: number };
  texts?: string[];
  beside: { name: string; values: string[] }[]; // text that has no part in the clustering
}
export interface Values {
  title: string;
  /** What to know before anything else: how well k is supported, how well labels are reproduced. */
  headlines: { about: string; text: string; care: boolean }[];
  rows: number;
  columns: string[];
  clusters: Cluster[];
  others: string[];
  question: string;
  ignored: boolean;
  measures: string | null;
  model: string;
  labels: boolean;
  words: boolean;
  trust: { grade: 'yes' | 'care' | 'no' | 'unknown'; word: string | null; lines: { what: string; text: string }[]; lump: string | null }; // why an audit finds no structure
  notes: string[];
  distributions: Record<string, Distribution>;
  pairs: { members: number; pairs: Pair[] } | null;
  held: Held | null;
  said: string;
  /** Rows with less evidence than `below` are doubtful. */
  doubtful?: { below: number; count: number; sentence: string } | null;
  /** Rows of which most values are missing, by their places in the whole table. */
  gaps?: { rows: number[]; sentence: string } | null;
  engine?: any;
  changes?: { few: boolean; rows: Record<string, Known> } | null;
}

type Numbers = Uint8Array | Int8Array | Uint16Array | Int32Array | Float32Array | Float64Array;
const TYPES: Record<string, new (buffer: ArrayBuffer) => Numbers> = {
  uint8: Uint8Array, int8: Int8Array, uint16: Uint16Array, int32: Int32Array, float32: Float32Array, float64: Float64Array,
};

const unpacked = new Map<string, Numbers>();

async function unpack(element: Element): Promise<void> {
  const name = element.id.slice('array-'.length);
  const packed = Uint8Array.from(atob(element.textContent ?? ''), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  const buffer = await new Response(stream).arrayBuffer();
  unpacked.set(name, new TYPES[element.getAttribute('data-type') ?? 'float64'](buffer));
  element.remove(); // the text is as large as the numbers
}

/** Unpack all arrays whose names begin so. */
export async function ready(...beginnings: string[]): Promise<void> {
  const waiting = [...document.querySelectorAll('script[type="text/plain"][id^="array-"]')].filter((element) =>
    beginnings.some((beginning) => element.id.slice('array-'.length).startsWith(beginning)),
  );
  await Promise.all(waiting.map(unpack));
}

export function array(name: string): Numbers {
  const found = unpacked.get(name);
  if (!found) throw new Error(`The page has no array called ${name}.`);
  return found;
}

export const values: Values = JSON.parse(document.getElementById('page-values')?.textContent ?? '{}');

export type Cell = number | string | null;

export const held = values.held;
const places = new Map<number, HeldColumn>((held?.columns ?? []).map((one) => [one.column, one]));

/** The user's own value of a column in a row that the page holds; undefined where it holds none. */
export function cell(row: number, column: number): Cell | undefined {
  const known = places.get(column);
  if (known) {
    const value = array(`column-${column}`)[row];
    if (known.kind === 'number') return Number.isNaN(value) ? null : value;
    return value < 0 ? null : (known.categories ?? [])[value];
  }
  if (held?.relevance.kind !== 'strongest') return undefined;
  const place = strongest(row).indexOf(column);
  if (place < 0) return undefined;
  if (held.relevance.texts) return held.relevance.texts[row][place];
  return array('top-data')[row * held.relevance.width + place];
}

function strongest(row: number): number[] {
  const width = held?.relevance.kind === 'strongest' ? held.relevance.width : 0;
  return [...array('top-columns').subarray(row * width, (row + 1) * width)];
}

export interface Share { column: number; name: string; relevance: number; value: Cell | undefined }

/** Relevance of a row, the strongest columns first, and what is left to columns that the page does not hold. */
export function shares(row: number): { shares: Share[]; rest: number } {
  const width = values.columns.length;
  const wide = held?.relevance.kind === 'strongest';
  const columns = wide ? strongest(row) : values.columns.map((_, column) => column);
  const numbers = wide
    ? array('top-values').subarray(row * columns.length, (row + 1) * columns.length)
    : array('relevance').subarray(row * width, (row + 1) * width);
  const found = columns.map((column, place) => ({
    column,
    name: values.columns[column],
    relevance: numbers[place],
    value: cell(row, column),
  }));
  found.sort((one, other) => Math.abs(other.relevance) - Math.abs(one.relevance));
  const sum = found.reduce((total, one) => total + one.relevance, 0);
  return { shares: found, rest: array('explained')[row] - array('base')[row] - sum };
}

export function rowName(row: number): string {
  if (!held) return String(row);
  if (held.names.names) return held.names.names[row];
  return String((held.names.from ?? 0) + row);
}

/** Text that the table has beside what was clustered, such as the model of a car. */
export function besideRow(row: number): string {
  return (held?.beside ?? []).map((one) => one.values[row]).filter(Boolean).join(' · ');
}

const heldPlaces = new Map<number, number>();
/** The place in the page of a row of the whole table; undefined where the page does not hold it. */
export function placeOf(position: number): number | undefined {
  if (!held) return undefined;
  if (!held.positions) return position < held.count ? position : undefined;
  if (!heldPlaces.size) array('positions').forEach((one, place) => heldPlaces.set(one, place));
  return heldPlaces.get(position);
}

export function clusterTitle(code: number): string {
  const one = values.clusters[code];
  if (!one) return values.others[code - values.clusters.length] ?? '';
  return one.noise ? 'Noise' : `Cluster ${one.id}`;
}

/** The same within a sentence; ids keep their letters. */
export function clusterInText(code: number): string {
  return clusterTitle(code).replace(/^(Cluster |Noise$)/, (word) => word.toLowerCase());
}

const known = values.clusters?.flatMap((one, code) => (one.noise ? [] : [code])) ?? [];
/** Pairs by the places of their clusters in the list of clusters; Python counts without noise. */
export const pairs = new Map<string, Pair>((values.pairs?.pairs ?? []).map((pair) => [`${known[pair.from]}/${known[pair.to]}`, pair]));
