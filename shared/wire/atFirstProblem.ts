import type { z } from 'zod';

/**
 * For `safeParse`: lists and objects are left at their first bad element. Without it zod keeps an issue for each: a body of 16 MB that holds nothing
 * else took 25 s and all of the heap. What fits is parsed as without it. zod sets it where `validate` asks for a yes or no; a test holds what it does.
 */
export const atFirstProblem: z.core.ParseContextInternal<z.core.$ZodIssue> = { abortEarly: true };
