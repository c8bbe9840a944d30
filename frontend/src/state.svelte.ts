// Where the reader is: the address behind # says it, so that a place can be sent to others.
import { held, placeOf } from './data';

export type Route =
  | { page: 'overview' }
  | { page: 'cluster'; code: number }
  | { page: 'pairs'; from?: number; to?: number }
  | { page: 'table'; doubtful?: boolean; gaps?: boolean; code?: number; chosen?: boolean } // the rows nearest to a border first, of one cluster; those with most values missing; those in the lasso
  | { page: 'words' };

function read(hash: string): { route: Route; row: number | null } {
  // Places within the words have plain addresses.
  if (hash && !hash.startsWith('#/')) return { route: { page: 'words' }, row: null };
  const [path, query] = hash.replace(/^#\/?/, '').split('?');
  const [page, ...rest] = path.split('/');
  const row = new URLSearchParams(query ?? '').get('row');
  const numbers = rest.map(Number).filter((one) => Number.isInteger(one) && one >= 0);
  const known = row !== null && /^\d+$/.test(row) ? placeOf(Number(row)) : undefined;
  const route: Route =
    page === 'cluster' && numbers.length ? { page: 'cluster', code: numbers[0] }
    : page === 'pairs' ? { page: 'pairs', from: numbers[0], to: numbers[1] }
    : page === 'table' ? (rest[0] === 'doubtful' ? { page: 'table', doubtful: true, code: numbers[0] } : { page: 'table', gaps: rest[0] === 'gaps', chosen: rest[0] === 'chosen' })
    : page === 'words' ? { page: 'words' }
    : { page: 'overview' };
  return { route, row: held && known !== undefined && known < held.count ? known : null };
}

export function addressOf(route: Route, position: number | null): string {
  const path =
    route.page === 'overview' ? '/'
    : route.page === 'cluster' ? `/cluster/${route.code}`
    : route.page === 'pairs' ? (route.to === undefined ? '/pairs' : `/pairs/${route.from}/${route.to}`)
    : route.page === 'table' && route.gaps ? '/table/gaps'
    : route.page === 'table' && route.doubtful ? `/table/doubtful${route.code === undefined ? '' : `/${route.code}`}`
    : route.page === 'table' && route.chosen ? '/table/chosen'
    : `/${route.page}`;
  return `#${path}${position === null ? '' : `?row=${position}`}`;
}

class View {
  route = $state<Route>({ page: 'overview' });
  row = $state<number | null>(null);
  map = $state(0); // which of the maps
  chosen = $state.raw<Uint32Array | null>(null); // rows in the lasso

  start() {
    const follow = () => {
      const found = read(location.hash);
      // Another page begins at its top; another row leaves the reader where they are.
      if (addressOf(found.route, null) !== addressOf(this.route, null) && !(found.route.page === 'pairs' && this.route.page === 'pairs')) window.scrollTo(0, 0);
      this.route = found.route;
      // A place within the words says nothing of the row that is open.
      if (!location.hash || location.hash.startsWith('#/')) this.row = found.row;
      // The words were hidden when the browser looked for the place in them.
      if (found.route.page === 'words' && location.hash && !location.hash.startsWith('#/')) setTimeout(() => document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView());
    };
    window.addEventListener('hashchange', follow);
    follow();
  }

  go(route: Route, row: number | null = null) {
    location.hash = addressOf(route, row === null ? null : positionOf(row));
  }

  select(row: number | null) {
    this.row = row; // the address tells of it later, and keys may be faster
    this.go(this.route, row);
  }
}

import { array } from './data';
/** The position in the whole table of a row that the page holds. */
export function positionOf(row: number): number {
  return held?.positions ? array('positions')[row] : row;
}

export const view = new View();
