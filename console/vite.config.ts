import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

// Tests set another, and React is then built with all that helps those who develop it: 74 KB more.
// biome-ignore lint/style/noProcessEnv: Vite takes it from there alone
process.env.NODE_ENV = 'production';

/** Files with hashed names that find each other by relative addresses, so that the service may be below any path. */
export default defineConfig({
  root: import.meta.dirname,
  base: './',
  plugins: [react()],
  build: {
    outDir: 'dist',
    // Files of the build before are removed behind this one: two builds at once, as of two test files, take nothing from each other.
    emptyOutDir: false,
    target: 'es2022',
    manifest: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  logLevel: 'warn',
});
