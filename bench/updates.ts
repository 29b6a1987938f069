import { parseArgs } from 'node:util';
import { percentile } from '../shared/statistics/percentile.ts';
import { cpuSeconds } from './cpu.ts';
import { type LiveService, startLiveService } from './liveService.ts';

/**
 * Updates of stored traces over HTTP, as streaming clients send them: each of the traces of `--spans N` (default 20,000) spans is patched `--times K`
 * (default 2), one request for each, over `--connections` (8). Prints how many a second are answered, which means stored, their p50 and p95, and
 * the newest page before and after. Goals: 1,500 a second, p95 under 30 ms, the page at most 1.3 times what it was.
 */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      spans: { type: 'string', default: '20000' },
      times: { type: 'string', default: '2' },
      connections: { type: 'string', default: '8' },
      seconds: { type: 'string', default: '60' },
    },
  });
  await using service = await startLiveService();
  const traces = await service.fill(Number(values.spans));
  const before = await newestPage(service);
  for (let time = 1; time <= Number(values.times); time++) {
    const { runId } = service.target;
    const end = performance.now() + 1_000 * Number(values.seconds);
    const waiting = traces.slice();
    const times: number[] = [];
    const cpuBefore = cpuSeconds(service.pid);
    const begun = performance.now();
    const lane = async () => {
      for (let id = waiting.pop(); id !== undefined && performance.now() < end; id = waiting.pop()) {
        const update = { log_stream_id: runId, trace_id: id, output: `answer ${time} of ${id}`, tags: [`update-${time}`] };
        times.push((await service.send('PATCH', `/traces/${id}`, update)).ms);
      }
    };
    await Promise.all(Array.from({ length: Number(values.connections) }, lane));
    const seconds = (performance.now() - begun) / 1_000;
    times.sort((a, b) => a - b);
    const cpuMs = (1_000 * (cpuSeconds(service.pid) - cpuBefore)) / times.length;
    console.log(
      `update ${time} of ${times.length} traces, ${values.connections} connections: ${(times.length / seconds).toFixed(0)} a second, p50 ${percentile(times, 0.5).toFixed(1)} ms, p95 ${percentile(times, 0.95).toFixed(1)} ms, ${cpuMs.toFixed(2)} ms of CPU each`,
    );
  }
  const after = await newestPage(service);
  console.log(
    `newest 50: p50 ${before.p50.toFixed(1)} ms before, ${after.p50.toFixed(1)} after; p95 ${before.p95.toFixed(1)}, ${after.p95.toFixed(1)}`,
  );
}

/** While new traces arrive. */
async function newestPage(service: LiveService): Promise<{ p50: number; p95: number }> {
  const { result } = await service.whileTracesArrive(async () => {
    const times: number[] = [];
    for (let n = 0; n < 40; n++) {
      const body = { log_stream_id: service.target.runId, limit: 50, filters: [], truncate_fields: true };
      times.push((await service.send('POST', '/traces/search', body)).ms);
      await new Promise((resolve) => setTimeout(resolve, 150));
    }
    return times.slice(5).sort((a, b) => a - b);
  });
  return { p50: percentile(result, 0.5), p95: percentile(result, 0.95) };
}
