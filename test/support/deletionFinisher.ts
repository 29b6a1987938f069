// The process after the one that was killed: finishes what it has left, as the start of the service does, and prints what is stored.
import { finishDeletions } from '../../shared/records/delete.ts';
import { columnFinder } from '../../shared/records/findColumn.ts';
import { openDeletionStores } from './deletionStores.ts';

const [, , folder = '', run = ''] = process.argv;
const stores = await openDeletionStores(folder);
const service = stores.processOf();
const before = await stores.rows(JSON.parse(run));
for (const one of await service.notes.unfinished()) await service.writer.exclusively(one, async () => {});
const columns = { findColumn: async () => columnFinder([]) };
await finishDeletions({ ...service.deps, ...columns }, 0, new AbortController().signal);
const after = await stores.rows(JSON.parse(run));
process.stdout.write(`${JSON.stringify({ before, after, unfinished: await service.notes.unfinished() })}\n`);
await stores.close();
