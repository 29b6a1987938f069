import { z } from 'zod';
import { documentedAs } from './common.ts';
import { ExactNumber } from './exactNumber.ts';

/**
 * A number that is kept as it was sent, also where no double holds it. The type says what clients have then: in their answers, a whole number that a double
 * would round is a bigint. In the service it is an `ExactNumber`.
 */
export const AnyNumber = z.union([z.number(), z.instanceof(ExactNumber)]) as unknown as z.ZodType<number | bigint>;
documentedAs.set(AnyNumber, z.number());
