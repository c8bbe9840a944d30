import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';

// One script and one style sheet, which Python puts into the page: no chunks, no addresses.
export default defineConfig({
  plugins: [svelte({ compilerOptions: { css: 'external' } })],
  build: {
    outDir: '../src/whyclust/report/built',
    emptyOutDir: true,
    cssCodeSplit: false,
    modulePreload: false,
    target: 'es2022',
    lib: { entry: 'src/main.ts', formats: ['iife'], name: 'whyclustPage', fileName: () => 'page.js', cssFileName: 'page' },
  },
});
