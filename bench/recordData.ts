import { setTimeout } from 'node:timers/promises';
import { WITHOUT_COST } from '../shared/columns/systemMetrics.ts';
import type { ClickHouse } from '../shared/stores/clickhouse/clickHouse.ts';
import { metricValues, migrateTables } from '../shared/stores/clickhouse/tables/tables.ts';

export const SPANS_PER_TRACE = 8;
/** Words that occur in a known share of the records. */
export const rareWords = { rare: 'zyxquorin', uncommon: 'brimwold', common: 'thistledrake' } as const;
/** Metrics of every tenth record; the value of each is uniform in [0, 1). */
export const METRICS = 10;
export const metricNames = Array.from({ length: METRICS }, (_, position) =>
  position === 0 ? 'toxicity' : `quality_${position}`,
);

/** Rows a statement makes: one part of each table. */
const BATCH = 100_000;
const WORDS = 20_000;
const SENTENCES = 100_000;

export interface GeneratedRun {
  projectId: string;
  runId: string;
  records: number;
}

/**
 * Fills one run with records made inside the engine: traces of a trace record and seven spans, 1 to 4 KB of text each (1.6 on average). Sentences of 20 to 34 words
 * are made once, with word frequencies of a natural kind (a word of rank r comes up in proportion to 1/r); a record joins some of them. The words
 * of `rareWords` are in 0.001 %, 1 % and 30 % of the records, ten metrics on a tenth of them.
 */
export async function generateRecords(clickhouse: ClickHouse, target: GeneratedRun): Promise<void> {
  await migrateTables(clickhouse);
  for (const [position, sql] of vocabulary.entries()) await clickhouse.command({ name: `vocabulary ${position}`, sql });
  for (let from = 0; from < target.records; from += BATCH) {
    const params = { project: target.projectId, run: target.runId, from, count: Math.min(BATCH, target.records - from) };
    for (const [name, sql] of Object.entries(statements)) {
      await clickhouse.command({ name: `generate ${name}`, sql, params });
    }
  }
}

/** One trace of `spans` spans, all below its trace record, at the end of the run. */
export async function generateLongTrace(clickhouse: ClickHouse, target: GeneratedRun, spans: number): Promise<void> {
  const params = { project: target.projectId, run: target.runId, from: target.records + 1, count: spans + 1 };
  const first = 'toUInt64({from:UInt64})';
  const rows = `SELECT number + ${first} AS n, number AS k, toDateTime64('2026-06-01 00:00:00', 6, 'UTC') + toIntervalMicrosecond(k * 1000) AS at,
    ${uuid('n')} AS record_id, ${uuid(first)} AS trace, if(k = 0, 'trace', 'llm') AS kind FROM numbers({count:UInt64})`;
  for (const [table, columns, values] of [
    ['record_keys', keyColumns, keyOf],
    ['trace_members', `${keyColumns}, usage`, `${keyOf}, ${usage([])}`],
  ])
    await clickhouse.command({
      name: 'long trace',
      sql: `INSERT INTO ${table} (${columns}) SELECT ${values} FROM (${rows})`,
      params,
    });
  await clickhouse.command({
    name: 'long trace',
    sql: `INSERT INTO records (${keyColumns}, is_rewrite, input, output, name, model, short_columns) SELECT ${keyOf}, false, ${sentences('3', '1')}, ${sentences('2', '2')}, 'step', 'model-1', '{"name":"step","model":"model-1"}' FROM (${rows})`,
    params,
  });
}

/**
 * Makes the merges that a fill leaves to do: they would take a core from what is measured. The engine chooses them, as it would by and by: it looks
 * for the next one after up to a minute only, so that none runs does not say that none is left.
 */
export async function mergesDone(clickhouse: ClickHouse, { furtherToo = true } = {}): Promise<void> {
  const tables = {
    name: 'parts',
    sql: `SELECT table, toUInt32(count()) AS parts FROM system.parts WHERE active AND database = currentDatabase() GROUP BY table`,
    row: (row: unknown) => row as { table: string; parts: number },
  };
  const merging = {
    name: 'merges',
    sql: 'SELECT toUInt32(count()) AS running FROM system.merges',
    row: (row: unknown) => (row as { running: number }).running,
  };
  const settled = async () => {
    while (((await clickhouse.query(merging))[0] ?? 0) > 0) await setTimeout(500);
    return clickhouse.query(tables);
  };
  for (let before = 0; ; ) {
    const found = await settled();
    const parts = found.reduce((sum, one) => sum + one.parts, 0);
    if (!furtherToo || parts === before) return;
    before = parts;
    for (const { table } of found) await clickhouse.command({ name: `merge ${table}`, sql: `OPTIMIZE TABLE ${table}` });
  }
}

const uniform = (...seed: string[]) => `(sipHash64(${seed.join(', ')}) % 1000000 / 1000000)`;
// exp(uniform · ln WORDS) is a rank that comes up in proportion to its inverse.
const rank = (...seed: string[]) => `toUInt32(exp(${uniform(...seed)} * ${Math.log(WORDS).toFixed(2)}))`;

const vocabulary = [
  'CREATE TABLE IF NOT EXISTS bench_words (position UInt32, word String) ENGINE = Join(ANY, LEFT, position)',
  `INSERT INTO bench_words SELECT number, concat(char(97 + number * 7919 % 26), lower(hex(toUInt16(number * 40503 % 65536))), char(97 + number % 26)) FROM numbers(${WORDS + 1})`,
  'CREATE TABLE IF NOT EXISTS bench_sentences (position UInt32, sentence String) ENGINE = Join(ANY, LEFT, position)',
  `INSERT INTO bench_sentences SELECT number, arrayStringConcat(arrayMap(i -> joinGet('bench_words', 'word', ${rank('number', 'i')}), range(toUInt32(20 + number % 15))), ' ') FROM numbers(${SENTENCES})`,
];

const sentences = (count: string, seed: string) =>
  `arrayStringConcat(arrayMap(i -> joinGet('bench_sentences', 'sentence', toUInt32(sipHash64(n, i, ${seed}) % ${SENTENCES})), range(toUInt32(${count}))), ' ')`;
const withWord = (word: string, seed: number, share: number) => `if(${uniform('n', String(seed))} < ${share}, ' ${word}', '')`;
const uuid = (...parts: string[]) => `reinterpret(sipHash128({run:UUID}, ${parts.join(', ')}), 'UUID')`;

const base = `SELECT number + {from:UInt64} AS n, intDiv(n, ${SPANS_PER_TRACE}) AS t, n % ${SPANS_PER_TRACE} AS k,
  toDateTime64('2026-01-01 00:00:00', 6, 'UTC') + toIntervalMicrosecond(t * 1300000 + k * 20000) AS at,
  ${uuid('n')} AS record_id, ${uuid(`t * ${SPANS_PER_TRACE}`)} AS trace,
  multiIf(k = 0, 'trace', k = 1, 'agent', k = 2, 'workflow', k = 3, 'retriever', k = 4, 'tool', 'llm') AS kind
  FROM numbers({count:UInt64})`;

const keyOf = '{project:UUID}, {run:UUID}, record_id, at, kind, trace, if(k = 0, NULL, trace), trace, 1';
const keyColumns = 'project_id, run_id, id, created_at, type, trace_id, parent_id, session_id, version';

/** Tokens of a generated model call. */
const tokens: Readonly<Record<string, string>> = {
  num_input_tokens: '100 + n % 900',
  num_output_tokens: '10 + n % 300',
  num_total_tokens: '110 + n % 1200',
};

/** Returns what the model calls among the rows used, of these names. */
const usage = (names: readonly string[]): string =>
  `if(kind = 'llm', map(${names.map((name) => `'${name}', ${tokens[name]}, `).join('')}'${WITHOUT_COST}', 1), map())`;

/** The short columns that a generated record has. */
const shorts: Readonly<Record<string, { type: string; value: string }>> = {
  name: { type: 'String', value: "concat(kind, '-', toString(sipHash64(n, 3) % 200))" },
  tags: { type: 'Array(String)', value: "if(n % 4 = 0, ['prod', concat('team-', toString(n % 7))], ['prod'])" },
  status_code: { type: 'Int32', value: `if(${uniform('n', '4')} < 0.02, 500, 200)` },
  model: { type: 'Nullable(String)', value: "if(kind = 'llm', concat('model-', toString(sipHash64(n, 5) % 6)), NULL)" },
  temperature: { type: 'Nullable(Float64)', value: "if(kind = 'llm', 0.7, NULL)" },
  step_number: { type: 'Int32', value: 'k' },
  finish_reason: { type: 'Nullable(String)', value: "if(kind = 'llm', 'stop', NULL)" },
  duration_ns: { type: 'Int64', value: '1000000 + sipHash64(n, 6) % 5000000000' },
  ...Object.fromEntries(
    Object.entries(tokens).map(([name, count]) => [name, { type: 'Nullable(Int64)', value: `if(kind = 'llm', ${count}, NULL)` }]),
  ),
  user_metadata: { type: 'Map(String, String)', value: "map('user', concat('u', toString(n % 5000)))" },
  external_id: { type: 'Nullable(String)', value: "if(k = 0, concat('ext-', toString(t)), NULL)" },
};

const statements = {
  record_keys: `INSERT INTO record_keys (${keyColumns}) SELECT ${keyOf} FROM (${base})`,
  trace_members: `INSERT INTO trace_members (${keyColumns}, usage) SELECT ${keyOf}, ${usage(Object.keys(tokens))} FROM (${base})`,
  records: `INSERT INTO records (${keyColumns}, is_rewrite, input, output, ${Object.keys(shorts).join(', ')}, short_columns)
    SELECT ${keyOf}, false,
      concat(${sentences('3 + n % 4 + if(n % 16 = 0, 12, 0)', '1')}, ${withWord(rareWords.rare, 7, 0.00001)}, ${withWord(rareWords.uncommon, 8, 0.01)}, ${withWord(rareWords.common, 9, 0.3)}),
      ${sentences('2 + n % 3', '2')}, ${Object.entries(shorts)
        .map(([name, { value }]) => `${value} AS made_${name}`)
        .join(', ')},
      toJSONString(CAST((${Object.keys(shorts).map((name) => `made_${name}`)}), 'Tuple(${Object.entries(shorts).map(([name, { type }]) => `${name} ${type}`)})'))
    FROM (${base})`,
  metric_values: `INSERT INTO ${metricValues.name} (project_id, run_id, metric, record_created_at, record_id, record_type, trace_id, status, number, value, computed_at, version, is_rewrite)
    SELECT {project:UUID}, {run:UUID}, metric, at, record_id, kind, trace, 'success', ${uniform('n', 'metric')} AS v, toString(v), at, 1, false
    FROM (${base}) ARRAY JOIN [${metricNames.map((name) => `'${name}'`).join(', ')}] AS metric WHERE n % 10 = 0`,
};
