import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { filterTypeOf } from '../../shared/columns/columnDef.ts';
import { datasetColumns } from '../../shared/columns/dataset.ts';
import { standardColumns } from '../../shared/columns/standard.ts';
import { metricsTestingColumns } from '../../shared/records/metricsTestingColumns.ts';
import { metricStatuses } from '../../shared/wire/metricResults.ts';
import { type RecordKind, recordKinds, spanKinds } from '../../shared/wire/recordKinds.ts';
import { OutputType } from '../../shared/wire/scorers.ts';

/** The rows of the tables of a section, cell by cell. */
const rows = (page: string, title: string) =>
  (
    readFileSync(join(import.meta.dirname, '../../docs', page), 'utf8')
      .split(`## ${title}\n`)[1]
      ?.split('\n## ')[0] ?? ''
  )
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.slice(2, -2).split(' | '));

const kinds = (named: string): readonly RecordKind[] => {
  if (named === 'all') return recordKinds;
  if (named === 'all but session') return recordKinds.filter((kind) => kind !== 'session');
  return named === 'spans' ? spanKinds : (named.split(', ') as RecordKind[]);
};

describe('the pages of columns and metrics', () => {
  test.each([
    ['standard', 'Standard columns', standardColumns],
    ['dataset', 'Columns of experiments', datasetColumns],
  ])('have every %s column as the catalogs list it, in their order', (_category, title, listed) => {
    expect(
      rows('columns.md', title).map(([id, type, filter, of, sortable, what]) => [
        id,
        type,
        filter,
        kinds(of ?? ''),
        sortable,
        what,
      ]),
    ).toEqual(
      listed.map(({ id, dataType, kinds: of, sortable, description }) => [
        ...[`\`${id}\``, dataType, `\`${filterTypeOf[dataType]}\``, of, sortable ? 'yes' : 'no', description],
      ]),
    );
  });

  test('have every state of a metric', () => {
    const named = rows('metric-values.md', 'What does the state of a metric mean?').flatMap(([states = '']) =>
      states.split(', ').map((state) => state.replaceAll('`', '')),
    );
    expect(named.sort()).toEqual([...metricStatuses].sort());
  });

  test('have every output type with the data type of its column', () => {
    const said = rows('metrics-testing.md', 'Output types').flatMap(([types = '', dataType = '']) =>
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
