import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** Files with hashed names that find each other by relative addresses, so that the service may be below any path. */
export default defineConfig({
  root: import.meta.dirname,
  base: './',
  plugins: [react()],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2022',
    manifest: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  logLevel: 'warn',
});
