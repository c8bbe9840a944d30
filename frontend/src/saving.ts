// What the reader takes home: texts and drawings as files.

export function save(content: string | Blob, kind: string, name: string) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type: kind }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export interface DrawnStep { text: string; figure: string; from: number; to: number; kind: 'for' | 'against' | 'total' }

// Whatever columns are called stays text; characters that XML does not know are left out.
const escaped = (text: string) =>
  text.replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '').replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);

/** A waterfall as an SVG of its own: black on white, whatever the page looks like. */
export function waterfallSvg(title: string, steps: DrawnStep[]): string {
  const [names, bars, figures, line, head] = [300, 280, 80, 26, 44];
  const low = Math.min(0, ...steps.map((one) => Math.min(one.from, one.to))), high = Math.max(0, ...steps.map((one) => Math.max(one.from, one.to)));
  const at = (value: number) => names + (bars * (value - low)) / (high - low || 1);
  const [width, height] = [names + bars + figures + 20, head + line * steps.length + 12];
  const colours = { for: '#b2182b', against: '#2166ac', total: '#1b2430' };
  const drawn = steps.map((one, place) => {
    const top = head + line * place, left = at(Math.min(one.from, one.to)), wide = Math.max(Math.abs(at(one.to) - at(one.from)), 1.5);
    const bar = one.kind === 'total' ? `<rect x="${at(one.to) - 1.5}" y="${top + 2}" width="3" height="20" fill="${colours.total}"/>` : `<rect x="${left}" y="${top + 5}" width="${wide}" height="14" rx="2" fill="${colours[one.kind]}"/>`;
    const weight = one.kind === 'total' ? ' font-weight="bold"' : '';
    return `<text x="12" y="${top + 17}"${weight}>${escaped(one.text)}</text>${bar}<text x="${width - 12}" y="${top + 17}" text-anchor="end" fill="${colours[one.kind]}"${weight}>${escaped(one.figure)}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="13" fill="#1b2430"><rect width="100%" height="100%" fill="#ffffff"/><text x="12" y="26" font-size="16" font-weight="bold">${escaped(title)}</text><line x1="${at(0)}" x2="${at(0)}" y1="${head}" y2="${height - 8}" stroke="#566270" stroke-dasharray="3 3"/>${drawn.join('')}</svg>\n`;
}

/** The same drawing as pixels, twice as fine as it is wide. */
export async function pngOf(svg: string): Promise<Blob> {
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }));
  await image.decode();
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [2 * image.naturalWidth, 2 * image.naturalHeight];
  canvas.getContext('2d')!.drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(image.src);
  return new Promise((found, failed) => canvas.toBlob((blob) => (blob ? found(blob) : failed(new Error('The picture could not be drawn.')))));
}
