/** Builds the interface, for the Chromium of today and of Electron 9 (83). */

import { fileURLToPath } from 'node:url';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

export default {
  root: here('.'),
  base: '/',
  // The page never scrolls as a whole; this library would also write styles into it, which the
  // content security policy forbids.
  resolve: {
    alias: { 'react-remove-scroll': here('src/view/common/remove-scroll.tsx') },
    // Code that is shared with the extension brings no React of its own.
    dedupe: ['react', 'react-dom'],
  },
  build: {
    outDir: here('dist'),
    emptyOutDir: true,
    target: 'chrome83',
    cssTarget: 'chrome83',
    // The content security policy allows data URLs for images only.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
    // kB. Whoever types `npm start` for the first time sees the warning above it.
    chunkSizeWarningLimit: 1000,
    rolldownOptions: {
      // Radix marks each of its files as code for clients, and the bundler warns of each mark.
      onLog: (level, log, handle) => {
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') handle(level, log);
      },
      checks: { pluginTimings: false },
    },
  },
};
