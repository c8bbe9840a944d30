import { mount } from 'svelte';
import App from './App.svelte';
import './page.css';
import { ready, values } from './data';
import { view } from './state.svelte';

// The map first: what else the page holds is unpacked after it is drawn.
async function start() {
  if (!values.clusters) return;
  await ready('x', 'y', 'cluster', 'positions');
  view.start();
  document.documentElement.classList.add('app');
  mount(App, { target: document.getElementById('page')! });
}

start().catch((error) => {
  // The same in words stands below and needs no script.
  const note = document.createElement('p');
  note.textContent = `The interactive page could not be started (${error instanceof Error ? error.message : error}). What it would show follows in words.`;
  document.getElementById('page')?.replaceChildren(note);
});
