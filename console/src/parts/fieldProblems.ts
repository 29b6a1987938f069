import { HttpStatusError } from '../../../client/errors.ts';

/** One item of a 422. */
export interface Problem {
  loc?: unknown[];
  msg?: unknown;
  type?: unknown;
}

export function problemsOf({ body }: HttpStatusError): Problem[] {
  const detail = (body as { detail?: unknown } | undefined)?.detail;
  return Array.isArray(detail) ? detail : [];
}

const fieldOf = ({ loc = [] }: Problem): string => loc.slice(1).join('.');

/**
 * Returns the problems that the service finds with a form, by its fields.
 * @param fields their paths in the body, such as `limits.concurrency`; a problem of something in one is one of it
 */
export function fieldProblems(error: unknown, fields: readonly string[]) {
  const all = error instanceof HttpStatusError && error.status === 422 ? problemsOf(error) : [];
  const isOf = (field: string) => (one: Problem) => fieldOf(one) === field || fieldOf(one).startsWith(`${field}.`);
  const arePlaced = all.length > 0 && all.every((one) => fields.some((field) => isOf(field)(one)));
  return {
    of(field: string): string | undefined {
      const messages = all.filter(isOf(field)).map(({ msg }) => String(msg));
      return messages.length > 0 ? messages.join('; ') : undefined;
    },
    /** The error, where a part of it has no field to stand at. */
    rest: arePlaced ? undefined : (error ?? undefined),
  };
}
