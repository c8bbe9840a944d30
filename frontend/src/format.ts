// Numbers as people write them; the same digits as in Python's sentences.

export function number(value: number, digits = 4): string {
  if (!Number.isFinite(value)) return '–';
  if (Math.abs(value) >= 1e4 && Math.abs(value) < 1e15) return Math.round(value).toLocaleString('en-US');
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return String(value);
  return String(Number(value.toPrecision(digits)));
}

export function signed(value: number, digits = 3): string {
  const text = number(Number(value.toPrecision(digits)), digits);
  return value > 0 ? `+${text}` : text;
}

export function percent(share: number): string {
  if (share > 0 && share < 0.005) return 'under 1%';
  if (share < 1 && share > 0.995) return 'over 99%';
  return `${Math.round(100 * share)}%`;
}

export function count(value: number): string {
  return value >= 1e4 ? value.toLocaleString('en-US') : String(value);
}

export function shown(value: number | string | boolean | null | undefined): string {
  if (value === null || value === undefined) return 'missing';
  return typeof value === 'number' ? number(value) : String(value);
}

export function short(text: string, most = 40): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}
