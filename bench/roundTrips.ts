import { parseArgs } from 'node:util';
import { newId } from '../shared/identifiers/ids.ts';
import { percentile } from '../shared/statistics/percentile.ts';
import { postgresProgram } from '../test/support/postgresServer.ts';
import { oneAfterTheOther, postgresStatements } from '../test/support/postgresStatements.ts';
import { redisProgram } from '../test/support/redisServer.ts';
import { startServiceServers } from '../test/support/serviceServers.ts';
import { startTcpProxy } from '../test/support/tcpProxy.ts';
import { API_KEY } from '../test/support/testService.ts';

/**
 * How long one log takes over servers when Postgres is some milliseconds away, and how many of its round trips come one after the other: repeated,
 * and after a pause in which the caller is forgotten.
 *
 * Options: `--latency-ms` added to each round trip (5), `--logs` of each kind (100), `--pause-ms` (1,200), `--checkout` of another release.
 */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      'latency-ms': { type: 'string', default: '5' },
      logs: { type: 'string', default: '100' },
      'pause-ms': { type: 'string', default: '1200' },
      checkout: { type: 'string' },
    },
  });
  const { path: postgres } = postgresProgram;
  const { path: redis } = redisProgram;
  if (!postgres || !redis) throw new Error('postgres and redis-server must be installed');
  await using servers = await startServiceServers({ postgres, redis }, {}, values.checkout);
  const address = new URL(servers.postgres.url);
  const proxy = await startTcpProxy({ host: '127.0.0.1', port: Number(address.port) }, 0, Number(values['latency-ms']));
  const statements = postgresStatements(proxy);
  address.port = String(proxy.port);
  const api = await servers.api({ DATABASE_URL: address.href });
  await api.start();
  const { client } = api;
  const { id: projectId } = await client.send<{ id: string }>('/projects', { body: { name: 'round trips' } });
  const { id: streamId } = await client.send<{ id: string }>(`/projects/${projectId}/log_streams`, { body: { name: 'main' } });
  const log = async () => {
    const body = JSON.stringify({
      log_stream_id: streamId,
      traces: [{ id: newId(), input: 'q', output: 'a', spans: [{ type: 'llm', name: 'call', input: 'q', output: 'a' }] }],
    });
    const headers = { 'Service-API-Key': API_KEY, 'content-type': 'application/json' };
    const answer = await fetch(`${api.url}/v2/projects/${projectId}/traces`, { method: 'POST', headers, body });
    if (!answer.ok) throw new Error(await answer.text());
    await answer.arrayBuffer();
  };
  for (let n = 0; n < 20; n++) await log();
  for (const [kind, pauseMs] of [
    ['repeated', 0],
    ['after a pause', Number(values['pause-ms'])],
  ] as const) {
    const took: number[] = [];
    const trips: number[] = [];
    for (let n = 0; n < Number(values.logs); n++) {
      if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
      const from = statements.now();
      const begun = performance.now();
      await log();
      took.push(performance.now() - begun);
      trips.push(oneAfterTheOther(statements.since(from)));
    }
    const of = (numbers: number[], share: number) =>
      percentile(
        numbers.toSorted((a, b) => a - b),
        share,
      );
    console.log(
      `${kind.padEnd(14)} median ${of(took, 0.5).toFixed(1)} ms, p95 ${of(took, 0.95).toFixed(1)} ms; round trips one after the other: median ${of(trips, 0.5)}, most ${Math.max(...trips)}`,
    );
  }
  await proxy.close();
}
