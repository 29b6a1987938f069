import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Endpoint } from '../../api/http/route.ts';

/** Replaces the dependencies of every route: no request of a test that uses this may get as far as using one. */
const unreachable: unknown = new Proxy(() => undefined, {
  get: (_, name) => (name === 'then' || typeof name === 'symbol' ? undefined : unreachable),
  apply: () => unreachable,
});

/** Every route that a file of api/routes exports, whatever composes them. */
export async function everyEndpoint(): Promise<Endpoint[]> {
  const folder = join(import.meta.dirname, '../../api/routes');
  const endpoints: Endpoint[] = [];
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.ts'))) {
    const module: Record<string, unknown> = await import(join(folder, file));
    const factories = Object.entries(module).filter(([name, value]) => name.endsWith('Routes') && typeof value === 'function');
    for (const [, factory] of factories) endpoints.push(...(factory as (deps: unknown) => Endpoint[])(unreachable));
  }
  return endpoints;
}
