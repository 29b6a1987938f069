import { setTimeout as pause } from 'node:timers/promises';
import { treeMemory } from './treeMemory.ts';

const SAMPLE_EVERY_MS = 500;

/** Says the PSS of the process tree of this id, in MiB, again and again. */
const pid = Number(process.argv[2]);
process.once('disconnect', () => process.exit());
for (;;) {
  process.send?.((await treeMemory(pid)).pss);
  await pause(SAMPLE_EVERY_MS);
}
