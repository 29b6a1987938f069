// Fills a run, deletes its traces, prints a line in the middle of that, and goes no further: the test kills it there.
import { newId } from '../../shared/identifiers/ids.ts';
import { openDeletionStores } from './deletionStores.ts';

const [, , folder = ''] = process.argv;
const stores = await openDeletionStores(folder);
const run = await stores.run();
let erasures = 0;
const service = stores.processOf({
  eraser: (real) => ({
    ...real,
    async erase(of, keys) {
      erasures++;
      if (erasures === 1) return real.erase(of, keys);
      // Half of the second helping is gone, with its notes written and nothing behind it done.
      await (await real.erase(of, keys.slice(0, keys.length / 2))).gone;
      process.stdout.write(`${JSON.stringify(run)}\n`);
      return new Promise(() => setInterval(() => {}, 1_000));
    },
  }),
});
const traces = Array.from({ length: 1_200 }, (_, index) => ({
  id: newId(),
  name: index < 1_100 ? 'to delete' : 'kept',
  input: 'q',
  metrics: { score: 1 },
  spans: [{ type: 'tool', id: newId(), name: 'span', input: 'x' }],
}));
await service.log(run, traces);
await service.deleteNamed(run, 'to delete');
