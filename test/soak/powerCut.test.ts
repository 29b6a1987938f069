import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { ServiceClient } from '../../client/http.ts';
import { describeWithDisk, ownDisk } from '../support/ownDisk.ts';
import { serviceFolder } from '../support/serviceProcess.ts';

/** The README's promise: a power cut may lose acknowledged data of this many last milliseconds, and nothing older. */
const MAY_BE_LOST_MS = 10_000;
const PER_REQUEST = 20;

describeWithDisk('a power cut', () => {
  test.each([3, 30])(
    '%i s after the start takes the last moments alone',
    async (seconds) => {
      using disk = ownDisk(2_000);
      const where = await serviceFolder(join(disk.folder, 'data'));
      const first = await where.start();
      onTestFinished(() => first.kill('SIGKILL'));
      const client = new ServiceClient({ apiUrl: first.url, apiKey: first.apiKey, timeoutMs: 5_000 });
      const { id } = await client.send<{ id: string }>('/projects', { body: { name: 'cut' } });
      const stream = await client.send<{ id: string }>(`/projects/${id}/log_streams`, { body: { name: 'main' } });
      const acknowledged: { name: string; at: number }[] = [];
      const end = performance.now() + seconds * 1_000;
      let n = 0;
      while (performance.now() < end) {
        const names = Array.from({ length: PER_REQUEST }, () => `t${n++}`);
        const traces = names.map((name) => ({ name, input: `${name} ${'x'.repeat(300)}`, output: 'y' }));
        await client.send(`/projects/${id}/traces`, { body: { log_stream_id: stream.id, traces } });
        for (const name of names) acknowledged.push({ name, at: performance.now() });
        await sleep(100);
      }
      const cutAt = performance.now();
      disk.cutPower();
      await first.kill('SIGKILL');
      await disk.restore();

      const again = await where.start();
      onTestFinished(() => again.kill('SIGKILL'));
      const found = new Set<string>();
      let token: number | null = 0;
      while (token !== null) {
        const page: { records: { name: string }[]; next_starting_token: number | null } = await client.send(
          `/projects/${id}/traces/search`,
          { body: { log_stream_id: stream.id, starting_token: token, limit: 1000 } },
        );
        for (const { name } of page.records) found.add(name);
        token = page.next_starting_token;
      }
      const lost = acknowledged.filter(({ name }) => !found.has(name));
      const oldest = Math.max(0, ...lost.map(({ at }) => cutAt - at));
      console.log(
        `after ${seconds} s: ${acknowledged.length} acknowledged, ${lost.length} lost, the oldest ${Math.round(oldest)} ms before the cut`,
      );
      expect(oldest).toBeLessThan(MAY_BE_LOST_MS);
      await again.kill('SIGKILL');
    },
    600_000,
  );
});
