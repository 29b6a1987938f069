import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { filterTypeOf, type RecordKind, recordKinds, spanKinds } from '../../shared/columns/columnDef.ts';
import { standardColumns } from '../../shared/columns/standard.ts';
import { metricsTestingColumns } from '../../shared/records/metricsTestingColumns.ts';
import { metricStatuses } from '../../shared/wire/metricResults.ts';
import { OutputType } from '../../shared/wire/scorers.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/columns.md'), 'utf8');
const section = (title: string) => page.split(`## ${title}\n`)[1]?.split('\n## ')[0] ?? '';
/** The rows of the first table of a section, cell by cell. */
const rows = (title: string) =>
  section(title)
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.slice(2, -2).split(' | '));

const kinds = (named: string): readonly RecordKind[] => {
  if (named === 'all') return recordKinds;
  if (named === 'all but session') return recordKinds.filter((kind) => kind !== 'session');
  return named === 'spans' ? spanKinds : (named.split(', ') as RecordKind[]);
};

describe('the page of columns', () => {
  test('has every standard column as the catalogs list it, in their order', () => {
    expect(
      rows('Standard columns').map(([id, type, filter, of, sortable, what]) => [
        id,
        type,
        filter,
        kinds(of ?? ''),
        sortable,
        what,
      ]),
    ).toEqual(
      standardColumns.map(({ id, dataType, kinds: of, sortable, description }) => [
        ...[`\`${id}\``, dataType, `\`${filterTypeOf[dataType]}\``, of, sortable ? 'yes' : 'no', description],
      ]),
    );
  });

  test('has every state of a metric', () => {
    const named = rows('Metrics').flatMap(([states = '']) => states.split(', ').map((state) => state.replaceAll('`', '')));
    expect(named.sort()).toEqual([...metricStatuses].sort());
  });

  test('has every output type with the data type of its column', () => {
    const said = rows('A metric under test').flatMap(([types = '', dataType = '']) =>
      types.split(', ').map((type) => [type.replaceAll('`', ''), dataType.split(',')[0]]),
    );
    const tested = { name: 'm', metricKey: 'm', scoreType: null, withChainOfThought: false, requiredScorers: [] };
    const given = OutputType.options.map((outputType) => [
      outputType,
      metricsTestingColumns({ ...tested, outputType })[0]?.dataType,
    ]);
    expect(said.sort()).toEqual(given.sort());
  });
});
