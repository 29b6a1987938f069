import type { ClickHouse } from '../shared/stores/clickhouse/connect.ts';
import { migrateTables } from '../shared/stores/clickhouse/tables.ts';

export const SPANS_PER_TRACE = 8;
/** Words that occur in a known share of the records. */
export const rareWords = { rare: 'zyxquorin', uncommon: 'brimwold', common: 'thistledrake' } as const;

/**
 * Fills one run with records made inside the engine: traces of eight records, 1.2 to 2 KB of text each with word frequencies of a natural kind
 * (rank to the power of -1), a metric on a tenth of them. The words of `rareWords` are in 0.01 %, 1 % and 30 % of the records.
 */
export async function generateRecords(
  clickhouse: ClickHouse,
  target: { projectId: string; runId: string; records: number },
): Promise<void> {
  await migrateTables(clickhouse);
  const batch = 50_000;
  for (let from = 0; from < target.records; from += batch) {
    const params = {
      project: target.projectId,
      run: target.runId,
      from,
      count: Math.min(batch, target.records - from),
    };
    for (const [name, sql] of Object.entries(statements)) {
      await clickhouse.command({ name: `generate ${name}`, sql, params });
    }
  }
}

// A word of rank r (1 … 20,000) comes up with a probability in proportion to 1/r: exp(uniform · ln 20000).
const words = (count: string, seed: string) => `arrayStringConcat(arrayMap(i -> concat(
  char(97 + (toUInt32(exp((sipHash64(n, i, ${seed}) % 1000000) / 1000000 * 9.9)) * 7919) % 26),
  lower(hex(toUInt16(toUInt32(exp((sipHash64(n, i, ${seed}) % 1000000) / 1000000 * 9.9)) * 40503 % 65536))),
  char(97 + toUInt32(exp((sipHash64(n, i, ${seed}) % 1000000) / 1000000 * 9.9)) % 26)), range(toUInt32(${count}))), ' ')`;
const uuid = (...parts: string[]) =>
  `toUUID(concat(substring(hex(sipHash128(${parts.join(', ')})) AS h${parts.length}, 1, 8), '-', substring(h${parts.length}, 9, 4), '-4', substring(h${parts.length}, 14, 3), '-a', substring(h${parts.length}, 18, 3), '-', substring(h${parts.length}, 21, 12)))`;

const base = `SELECT number + {from:UInt64} AS n, intDiv(n, ${SPANS_PER_TRACE}) AS t, n % ${SPANS_PER_TRACE} AS k,
  toDateTime64('2026-01-01 00:00:00', 6, 'UTC') + toIntervalMicrosecond(t * 1300000 + k * 20000) AS at,
  ${uuid('n', "'record'")} AS record_id, ${uuid(`t * ${SPANS_PER_TRACE}`, "'record'").replaceAll('h2', 'g2')} AS trace,
  multiIf(k = 0, 'trace', k = 1, 'agent', k = 2, 'workflow', k = 3, 'retriever', k = 4, 'tool', 'llm') AS kind
  FROM numbers({count:UInt64})`;

const statements = {
  record_keys: `INSERT INTO record_keys (project_id, run_id, id, created_at, type, trace_id, parent_id, session_id, version)
    SELECT {project:UUID}, {run:UUID}, record_id, at, kind, trace, if(k = 0, NULL, trace), trace, 1 FROM (${base})`,
  records: `INSERT INTO records (project_id, run_id, id, created_at, type, trace_id, parent_id, session_id, version, input, output, name, tags, status_code, model,
      temperature, step_number, finish_reason, duration_ns, num_input_tokens, num_output_tokens, num_total_tokens, user_metadata, external_id)
    SELECT {project:UUID}, {run:UUID}, record_id, at, kind, trace, if(k = 0, NULL, trace), trace, 1,
      concat(${words('130 + n % 80', '1')}, if(sipHash64(n, 7) % 10000 = 0, ' ${rareWords.rare}', ''), if(sipHash64(n, 8) % 100 = 0, ' ${rareWords.uncommon}', ''),
        if(sipHash64(n, 9) % 100 < 30, ' ${rareWords.common}', '')),
      ${words('60 + n % 50', '2')}, concat(kind, '-', toString(sipHash64(n, 3) % 200)), if(n % 4 = 0, ['prod', concat('team-', toString(n % 7))], ['prod']),
      if(sipHash64(n, 4) % 50 = 0, 500, 200), if(kind = 'llm', concat('model-', toString(sipHash64(n, 5) % 6)), NULL), if(kind = 'llm', 0.7, NULL), k,
      if(kind = 'llm', 'stop', NULL), 1000000 + sipHash64(n, 6) % 5000000000, if(kind = 'llm', 100 + n % 900, NULL), if(kind = 'llm', 10 + n % 300, NULL),
      if(kind = 'llm', 110 + n % 1200, NULL), map('user', concat('u', toString(n % 5000))), if(k = 0, concat('ext-', toString(t)), NULL)
    FROM (${base})`,
  metric_values: `INSERT INTO metric_values (project_id, run_id, metric, record_created_at, record_id, record_type, trace_id, status, number, value, computed_at, version)
    SELECT {project:UUID}, {run:UUID}, 'toxicity', at, record_id, kind, trace, 'success', (sipHash64(n, 10) % 1000000) / 1000000 AS v, toString(v), at, 1
    FROM (${base}) WHERE n % 10 = 0`,
};
