import { parentPort, workerData } from 'node:worker_threads';
import { type Neighbour, type Scale, worstThings } from './worstThings.ts';

/** Does one of the worst things: says when it is prepared, begins at the first message and ends at the next one, with the statuses. */
const { name, caller, scale } = workerData as { name: string; caller: Neighbour; scale: Scale };
const thing = worstThings.find((one) => one.name === name);
if (!parentPort || !thing) throw new Error(`nothing to do in this thread: ${name}`);
const port = parentPort;
const deed = await thing.prepare(caller, scale);
const ending = new AbortController();
port.once('message', async () => {
  port.once('message', () => ending.abort());
  port.postMessage(await deed(ending.signal));
  port.close();
});
port.postMessage('prepared');
