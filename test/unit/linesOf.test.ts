import { fc, test } from '@fast-check/vitest';
import { expect } from 'vitest';
import { linesOf } from '../../shared/stores/clickhouse/embedded/linesOf.ts';

const line = fc
  .string({ unit: 'binary', minLength: 1, maxLength: 12 })
  .filter((text) => text.isWellFormed() && !text.includes('\n'));

test.prop([fc.array(line), fc.boolean(), fc.array(fc.nat({ max: 200 }))])(
  'wherever the bytes are cut, the lines are those of the whole text',
  async (lines, endsWithLine, cuts) => {
    const bytes = Buffer.from(lines.join('\n') + (endsWithLine && lines.length > 0 ? '\n' : ''));
    const ends = [...cuts.filter((cut) => cut < bytes.length).sort((one, other) => one - other), bytes.length];
    const pieces = async function* () {
      let from = 0;
      for (const to of ends) {
        yield bytes.subarray(from, to);
        from = to;
      }
    };
    const found: string[] = [];
    for await (const some of linesOf(pieces())) found.push(...some);
    expect(found).toEqual(lines);
  },
);
