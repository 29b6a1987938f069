import { z } from 'zod';

/** Clients in Python send an absent value as its text, which is a value only where the part takes it as one. */
export const ABSENT = 'None';

const absent = <T extends string>(text: T) => z.literal(text).transform(() => undefined);

/** A part that may be absent; an empty one means the same. */
export const part = <T extends z.ZodType>(schema: T) => z.union([absent(''), schema, absent(ABSENT)]).nullish();

/** A part of a form that holds a value as JSON text. */
export const jsonPart = <T extends z.ZodType>(schema: T) =>
  z
    .string()
    .transform((text, context): unknown => {
      try {
        return JSON.parse(text);
      } catch {
        context.addIssue({ code: 'custom', message: 'must be JSON text' });
        return z.NEVER;
      }
    })
    .pipe(schema);
