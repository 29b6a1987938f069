import { once } from 'node:events';
import { type Neighbour, type Scale, worstThings } from './worstThings.ts';

/** Does one of the worst things: says when it is prepared, begins at the first message and ends at the next one, with the statuses. */
const { name, caller, scale } = JSON.parse(process.argv[2] ?? '') as { name: string; caller: Neighbour; scale: Scale };
const thing = worstThings.find((one) => one.name === name);
if (!thing) throw new Error(`nothing to do in this process: ${name}`);
process.once('disconnect', () => process.exit());
const deed = await thing.prepare(caller, scale);
const begin = once(process, 'message');
process.send?.('prepared');
await begin;
const ending = new AbortController();
process.once('message', () => ending.abort());
const statuses = await deed(ending.signal);
process.send?.(statuses, () => process.exit());
