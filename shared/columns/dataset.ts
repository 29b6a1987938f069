import { z } from 'zod';
import { Uuid } from '../wire/common.ts';
import type { ColumnDef } from './columnDef.ts';
import { column } from './recordField.ts';

const ofDataset = { category: 'dataset', groupLabel: 'Dataset', kinds: ['trace'], optional: true } as const;
const number = {
  dataType: 'integer',
  answered: { trace: z.int().nullable() },
  stored: { sqlType: 'Nullable(UInt32) CODEC(ZSTD(1))' },
} as const;

/** Fields that name the row that an experiment ran for a trace, and count its attempts. The service alone sets them; the catalogs of experiments list them after the standard columns. */
export const datasetFields = [
  column({
    ...ofDataset,
    id: 'dataset_row_id',
    label: 'Dataset Row Id',
    description: 'Id of the dataset row that the trace ran, or of the record of a list of records.',
    dataType: 'uuid',
    answered: { trace: Uuid.nullable() },
    stored: { sqlType: 'Nullable(UUID)' },
  }),
  column({
    ...ofDataset,
    ...number,
    id: 'dataset_version',
    label: 'Dataset Version',
    description: 'Index of the dataset version that the row was read from; none for a list of records.',
  }),
  column({
    ...ofDataset,
    ...number,
    id: 'dataset_row_ordinal',
    label: 'Dataset Row Ordinal',
    description: 'Position of the row in its dataset version or list of records, from 0.',
  }),
  column({
    ...ofDataset,
    ...number,
    id: 'trial',
    label: 'Trial',
    description: 'Which repetition of the row the trace is, from 0.',
  }),
  column({
    ...ofDataset,
    ...number,
    id: 'attempts',
    label: 'Attempts',
    description: 'How often the row was tried, in all runs of it: calls of its model or URL, or executions of its function.',
  }),
] as const;

/** The same, for those who treat all columns alike. */
export const datasetColumns: readonly ColumnDef[] = [...datasetFields];
