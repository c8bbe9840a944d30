// Numbers as people write them; the same digits as in Python's sentences.

export function number(value: number, digits = 4): string {
  if (!Number.isFinite(value)) return '–';
  if (Math.abs(value) >= 1e4 && Math.abs(value) < 1e15) return Math.round(value).toLocaleString('en-US');
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return String(value);
  return String(Number(value.toPrecision(digits)));
}

/** With a sign, and no more decimals than the largest of the numbers beside it has with three digits. */
export function signed(value: number, largest = Math.abs(value)): string {
  const decimals = Math.max(0, 2 - Math.floor(Math.log10(largest || 1)));
  const kept = Number(Number(value.toPrecision(3)).toFixed(Math.min(decimals, 100)));
  if (kept === 0) return value === 0 ? '0' : '≈ 0';
  const own = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(kept))));
  const text = Math.abs(kept) >= 1e4 || own > 8 ? number(kept, 3) : kept.toFixed(Math.min(decimals, own));
  return kept > 0 ? `+${text}` : text;
}

export function percent(share: number): string {
  if (share > 0 && share < 0.005) return 'under 1%';
  if (share < 1 && share >= 0.995) return 'over 99%';
  // Halves go to the even number, as in Python's sentences about the same share.
  const exact = 100 * share, whole = Math.round(exact);
  return `${whole - exact === 0.5 && whole % 2 ? whole - 1 : whole}%`;
}

export function count(value: number): string {
  return value >= 1e4 ? value.toLocaleString('en-US') : String(value);
}

export function shown(value: number | string | boolean | null | undefined): string {
  if (value === null || value === undefined) return 'missing';
  return typeof value === 'number' ? number(value) : String(value);
}

/** Long texts lose their middle: names of questions and files often differ at their ends. */
export function short(text: string, most = 40): string {
  if (text.length <= most) return text;
  const end = Math.floor((most - 1) / 3);
  return `${text.slice(0, most - 1 - end)}…${text.slice(text.length - end)}`;
}

/** Where a name may go on in the next line: after what joins its words, and before capitals. */
export function parted(name: string): string[] {
  return name.split(/(?<=[_\-./:])(?=[^_\-./:])|(?<=\p{Ll})(?=\p{Lu})/u);
}

/** Beside numbers to copy: the same digits as these may have, without commas. */
export function plainly(value: number | string | boolean | null): string {
  return typeof value === 'number' ? String(Number(value.toPrecision(6))) : shown(value);
}

/** All digits, so that what is shown is what is meant. */
export function exactly(value: number | string | boolean | null): string {
  return typeof value === 'number' ? String(Number(value.toPrecision(15))) : shown(value);
}
