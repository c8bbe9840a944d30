import { defineConfig } from 'vite';

// The page's arithmetic alone, for node: tests hold it against Python's.
export default defineConfig({
  build: {
    outDir: 'build',
    target: 'node20',
    minify: false,
    lib: { entry: 'src/engine/index.ts', formats: ['es'], fileName: () => 'engine.mjs' },
  },
});
