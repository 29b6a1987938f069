import type { z } from 'zod';
import type { GateReply } from '../shared/wire/experimentGate.ts';

/** As the service gives it. `undecided`: the rows do not tell. */
export type GateResult = z.output<typeof GateReply>;
