import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addManyDatasets } from '../support/manyDatasets.ts';
import { type ServiceProcess, serviceFolder } from '../support/serviceProcess.ts';
import { logAndSearch, type Met, oneTrace } from '../support/victim.ts';
import { prepareInProcess } from '../support/worstThingProcess.ts';
import { neighbourSettings, newNeighbour, worstThings } from '../support/worstThings.ts';

/** `npm run bench -- neighbours` does the same for longer, and measures what the other caller feels. */
const BAD_MS = 3_000;
const BIG_TRACES = 100;
const DATASETS = 20_000;

let folder: string;
let service: ServiceProcess;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-neighbours-'));
  await addManyDatasets(join(folder, 'data'), DATASETS);
  service = await (await serviceFolder(join(folder, 'data'), await neighbourSettings(folder))).start();
});
afterAll(async () => {
  await service?.kill('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

test.each(worstThings.map((one) => [one.name, one] as const))(
  '%s: no answer is a 5xx, and another caller finds what they log',
  { timeout: 600_000 },
  async (_, thing) => {
    const [bad, other] = [await newNeighbour(service, 'bad'), await newNeighbour(service, 'other')];
    const act = await prepareInProcess(thing, bad, { bigTraces: BIG_TRACES });
    const ended = new AbortController();
    const others = logAndSearch(other, ended.signal);
    const statuses = await act(BAD_MS);
    ended.abort();
    const meanwhile = await others;
    expect(statuses.filter((status) => status >= 500)).toEqual([]);
    expect(meanwhile.errors).toEqual([]);
    expect(meanwhile.took.length).toBeGreaterThan(0);
    const afterwards: Met = { took: [], errors: [] };
    await oneTrace(other, afterwards);
    expect(afterwards.errors).toEqual([]);
    expect(service.child.exitCode).toBeNull();
  },
);
