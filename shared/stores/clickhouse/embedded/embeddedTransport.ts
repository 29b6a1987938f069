import type { ParamValue } from '../clickHouse.ts';
import { textOrBytes } from '../rowLines.ts';
import { nativeSettings, nativeSql, type Transport } from '../transport.ts';
import { type ChdbEngine, paramText } from './chdbEngine.ts';
import { linesOf } from './linesOf.ts';

/** Statements to the engine in this process, which keeps their time limits and lets them in by turns. */
export function embeddedTransport(engine: ChdbEngine): Transport {
  return {
    isEmbedded: true,
    broken: engine.broken,
    get isLost() {
      return engine.lost;
    },
    async read({ sql, params }, format) {
      return textOrBytes((await engine.query({ sql, params: paramTexts(params), format })).bytes);
    },
    async *rows({ sql, params }, signal) {
      const pieces = engine.stream({ sql, params: paramTexts(params), format: 'JSONEachRow', signal });
      for await (const lines of linesOf(pieces)) yield parsed(lines);
    },
    insert: (sql, body, settings) => engine.insert({ sql, body, settings }),
    insertsInOrder(steps) {
      const inserts = steps.flat();
      const last = inserts.at(-1);
      if (!last) return [];
      const statements = inserts.map((one) => ({ sql: nativeSql(one), body: one.native, settings: nativeSettings(one) }));
      return [[{ table: last.table, send: () => engine.insertAll(statements) }]];
    },
    command: (sql, params) => engine.query({ sql, params: paramTexts(params) }),
    close: () => engine.close(),
  };
}

/** One by one: a piece may hold 65,000 rows. */
function* parsed(lines: readonly string[]): Generator<unknown, void> {
  for (const line of lines) yield JSON.parse(line);
}

const paramTexts = (params: Record<string, ParamValue> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(params).map(([name, value]) => [name, paramText(value)]));
