import { existsSync } from 'node:fs';
import { runProcess } from '../../shared/childProcesses/runProcess.ts';
import { watchEventLoop } from '../../shared/concurrency/eventLoopWatch.ts';
import { openClickHouse } from '../../shared/stores/clickhouse/connect.ts';

/** A process of the service with the embedded engine in it, whose event loop is watched every 50 ms. It carries out commands from standard input. */
const [folder = '', warnMs = '0', endMs = '0'] = process.argv.slice(2);
const does: Record<string, (path: string) => unknown> = {
  block() {
    for (;;);
  },
  blockUntil(path) {
    while (!existsSync(path));
  },
  exhaustHeap() {
    for (const kept: unknown[] = []; ; ) kept.push(new Array(100_000).fill(0).map((_, at) => ({ at })));
  },
};
await runProcess(
  async () => {
    const clickhouse = openClickHouse({ dataDir: folder });
    await clickhouse.command({ name: 'asked', sql: 'SELECT 1' });
    const watch = await watchEventLoop({ warnMs: Number(warnMs), endMs: Number(endMs), logFd: 2, beatMs: 50 });
    process.stdin.on('data', (line) => {
      const [what = '', path = ''] = line.toString().trim().split(' ');
      does[what]?.(path);
    });
    process.stdout.write('ready\n');
    return {
      async stop() {
        await watch.stop();
        await clickhouse.close();
      },
    };
  },
  { underNpm: false },
);
