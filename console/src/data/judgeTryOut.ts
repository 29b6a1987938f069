import type { z } from 'zod';
import type {
  ValidateLLMScorerDatasetRequest,
  ValidateLLMScorerLogRecordRequest,
  ValidateLLMScorerResponse,
} from '../../../shared/wire/judgeTryOut.ts';
import { send } from './service.ts';

/** The result of a try-out, of a judge or of code. */
export type Tried = z.output<typeof ValidateLLMScorerResponse>;
export type TriedSample = Tried['samples'][number];

type OfRecords = z.input<typeof ValidateLLMScorerLogRecordRequest>;
type OfRows = z.input<typeof ValidateLLMScorerDatasetRequest>;
/** How a judge is asked that is not saved. */
export type UnsavedJudge = Pick<OfRecords, 'user_prompt' | 'scorer_configuration' | 'chain_poll_template'>;

/** Which records a metric is tried on. */
export type ChosenRecords = Pick<OfRecords, 'log_stream_id' | 'experiment_id' | 'filter_tree'> & { limit: number };
/** Which rows: the first ones of a dataset. */
export type ChosenRows = Pick<OfRows, 'dataset_id'> & { project_id: string; limit: number };

/** The service wants them of every try-out, and looks at none of them where it reads records. */
const unread = { query: '', response: '' };

/** Milliseconds: the service itself stops asking judges after 90 seconds. */
const TIMEOUT_MS = 120_000;
const call = { timeoutMs: TIMEOUT_MS, repeatable: false };

/** Asks a judge about records of a run. */
export const tryOnRecords = (judge: UnsavedJudge, records: ChosenRecords) =>
  send<Tried>('/scorers/llm/validate/log_record', { ...call, body: { ...unread, ...judge, ...records } });

/** Asks a judge about the first rows of a dataset. */
export const tryOnRows = (judge: UnsavedJudge, rows: ChosenRows) =>
  send<Tried>('/scorers/llm/validate/dataset', { ...call, body: { ...unread, ...judge, ...rows } });
