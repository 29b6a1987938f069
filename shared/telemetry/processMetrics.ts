import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Telemetry } from './telemetry.ts';

/** Milliseconds between two looks at the event loop: a delay that is shorter than this is not seen. */
const RESOLUTION_MS = 20;

/** Has the memory, the CPU time and the event loop of this process shown. */
export function observeProcess(telemetry: Pick<Telemetry, 'observe'>): void {
  telemetry.observe('process_resident_memory_bytes', () => [{ value: process.memoryUsage.rss(), labels: {} }]);
  telemetry.observe('process_cpu_seconds_total', () => {
    const { user, system } = process.cpuUsage();
    return [{ value: (user + system) / 1e6, labels: {} }];
  });
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  telemetry.observe('assay_event_loop_delay_seconds', () => {
    // The histogram holds times between two looks, of which only what is beyond the resolution is a delay.
    const seconds = (ns: number) => Math.max(0, ns / 1e9 - RESOLUTION_MS / 1e3);
    const readings = (['0.5', '0.99', '1'] as const).map((quantile) => ({
      value: delays.count === 0 ? 0 : seconds(delays.percentile(100 * Number(quantile))),
      labels: { quantile },
    }));
    delays.reset();
    return readings;
  });
}
