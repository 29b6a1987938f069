const KEY = Symbol.for('assay.client');

/**
 * What all copies of this module in one process share: a bundle, or a package that exists as ES module and as CommonJS, may bring several. Made at the
 * first use. A change of what is kept under a name needs a new name, since the copies may be of different versions.
 */
export function shared<T>(name: string, make: () => T): T {
  const global = globalThis as { [KEY]?: Map<string, unknown> };
  global[KEY] ??= new Map();
  const values = global[KEY];
  if (!values.has(name)) values.set(name, make());
  return values.get(name) as T;
}
