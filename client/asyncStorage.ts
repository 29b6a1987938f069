// Node's own, also in Bun and Deno. The package takes `asyncStorage.portable.ts` in its place elsewhere, by a condition of its `imports`.
// biome-ignore lint/performance/noBarrelFile: one name under two conditions
export { AsyncLocalStorage } from 'node:async_hooks';
