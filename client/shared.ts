const KEY = Symbol.for('assay.client');

/**
 * Returns a value that all copies of this module in one process share: a bundle, or a package that exists as ES module and as CommonJS, may bring
 * several copies. The first use makes it. When its shape changes the name must change, because the copies may be of different versions.
 */
export function shared<T>(name: string, make: () => T): T {
  const global = globalThis as { [KEY]?: Map<string, unknown> };
  global[KEY] ??= new Map();
  const values = global[KEY];
  if (!values.has(name)) values.set(name, make());
  return values.get(name) as T;
}
