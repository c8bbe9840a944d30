// Colours of clusters: Okabe and Ito's, and two that colour-blind people tell from them; the second blue comes late, since
// two blues over each other are hard to tell apart. More clusters get steps around the wheel. plots/drawing.py has the same.
import { values } from './data';

const FEW = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#d55e00', '#7c4a1c', '#56b4e9', '#a264f6'];
const NOISE = '#8a929c';

export function clusterColour(code: number): string {
  const one = values.clusters[code];
  if (!one || one.noise) return NOISE;
  const many = values.clusters.length;
  if (many <= FEW.length) return FEW[code % FEW.length];
  // The golden angle keeps neighbours in the list apart; three levels of lightness tell the rest.
  const hue = (code * 137.508) % 360;
  return hexOf(hue, 62, [42, 55, 66][code % 3]);
}

// Tol's, for categories: colours that no cluster has, so that none is taken for one.
const KINDS = ['#7a6fd0', '#ddcc77', '#117733', '#cc6677', '#88ccee', '#a0406f', '#44aa99', '#999933'];
/** Colours of the most frequent categories of a column; the others are grey. */
export const kindColour = (place: number): string => KINDS[place] ?? NOISE;

function hexOf(hue: number, saturation: number, lightness: number): string {
  const s = saturation / 100, l = lightness / 100;
  const part = (n: number) => {
    const k = (n + hue / 30) % 12;
    const value = l - s * Math.min(l, 1 - l) * Math.max(-1, Math.min(k - 3, 9 - k, 1));
    return Math.round(255 * value).toString(16).padStart(2, '0');
  };
  return `#${part(0)}${part(8)}${part(4)}`;
}

export function rgb(hex: string): [number, number, number] {
  return [1, 3, 5].map((place) => parseInt(hex.slice(place, place + 2), 16)) as [number, number, number];
}

const VIRIDIS = ['#440154', '#46327e', '#365c8d', '#277f8e', '#1fa187', '#4ac16d', '#a0da39', '#fde725'].map(rgb);
/** A colour on the way from low (0) to high (1). */
export function level(share: number): [number, number, number] {
  const at = Math.max(0, Math.min(1, share)) * (VIRIDIS.length - 1);
  const low = Math.floor(at), high = Math.min(low + 1, VIRIDIS.length - 1);
  return VIRIDIS[low].map((part, place) => Math.round(part + (VIRIDIS[high][place] - part) * (at - low))) as [number, number, number];
}
