import { ServiceError } from '../../errors/errors.ts';

/**
 * For `catch`: what a row refers to was deleted since the caller was let in (Postgres' foreign key violation, 23503), so it is answered as if
 * it had gone before.
 */
export function missingReference(what: string): (err: unknown) => never {
  return (err) => {
    if ((err as { code?: unknown }).code === '23503') throw new ServiceError('NotFound', `no such ${what}`, { cause: err });
    throw err;
  };
}
