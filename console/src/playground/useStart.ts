import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { type Origin, originOf, type PlaygroundAddress, promptOf } from '../address/playgroundAddress.ts';
import { experimentQuery } from '../data/experiment.ts';
import type { Experiment } from '../data/experiments.ts';
import type { ValueSource } from '../data/playground.ts';
import { logStreamsQuery } from '../data/projects.ts';
import { type Prompt, type PromptVersion, promptQuery } from '../data/prompts.ts';
import { type RecordNode, recordQuery } from '../data/records.ts';
import { plainText } from '../payload/messages.ts';
import { messagesOf } from '../prompt/promptText.ts';
import type { Start } from './draft.ts';
import { holdsMedia, messagesOfRecord, settingsOfRecord } from './recordStart.ts';

export interface Opened {
  start: Start | undefined;
  origin: Origin | undefined;
  record: RecordNode | undefined;
  prompt: Prompt | undefined;
  /** The dataset that the row of the record is of. */
  datasetId: string | undefined;
  error: unknown;
  retry(): void;
}

/** Loads what the address names: a record, a row, a version of a prompt. A row of an experiment brings the prompt of the experiment. */
export function useStart(projectId: string, address: PlaygroundAddress): Opened {
  const origin = useMemo(() => originOf(address.from), [address.from]);
  const isRecord = origin?.kind === 'span' || origin?.kind === 'trace';
  const kind = origin?.kind === 'trace' ? 'traces' : 'spans';
  const record = useQuery({ ...recordQuery(projectId, kind, isRecord ? origin.id : ''), enabled: isRecord });
  const streams = useQuery({ ...logStreamsQuery(projectId), enabled: isRecord });
  const runId = String(record.data?.run_id ?? '');
  const isOfExperiment =
    origin?.kind === 'trace' && runId !== '' && streams.data !== undefined && !streams.data.some(({ id }) => id === runId);
  const experiment = useQuery({ ...experimentQuery({ projectId, experimentId: runId }), enabled: isOfExperiment });
  const named = promptOf(address.prompt) ?? promptOfExperiment(experiment.data);
  const prompt = useQuery({ ...promptQuery(named?.id ?? ''), enabled: named !== undefined });
  const version = prompt.data?.all_versions.find((one) => one.version === named?.version) ?? prompt.data?.selected_version;
  const isWaiting =
    (isRecord && (!record.data || !streams.data)) ||
    (isOfExperiment && !experiment.data) ||
    (named !== undefined && prompt.data === undefined);
  const opened = useMemo(
    () =>
      isWaiting
        ? undefined
        : startOf(`${projectId} ${address.from} ${address.prompt}`, origin, record.data, experiment.data, version),
    [isWaiting, projectId, address, origin, record.data, experiment.data, version],
  );
  const asked = [record, streams, experiment, prompt];
  const failed = asked.filter(({ error, data }) => error && data === undefined);
  return {
    start: opened,
    origin,
    record: record.data,
    prompt: named && prompt.data,
    datasetId: origin?.kind === 'row' ? origin.datasetId : experiment.data?.dataset?.dataset_id,
    error: failed[0]?.error,
    retry: () => {
      for (const one of failed) void one.refetch();
    },
  };
}

function promptOfExperiment(experiment: Experiment | undefined) {
  const prompt = experiment?.prompt;
  return prompt ? { id: prompt.prompt_template_id, version: prompt.version_index } : undefined;
}

function startOf(
  place: string,
  origin: Origin | undefined,
  record: RecordNode | undefined,
  experiment: Experiment | undefined,
  version: PromptVersion | undefined,
): Start {
  const settings = version ? { ...version.settings, ...experiment?.prompt_run_settings } : record ? settingsOfRecord(record) : {};
  const messages = version
    ? messagesOf(version)
    : record
      ? messagesOfRecord(record)
      : [{ role: 'user', text: '', isJson: false, others: {} }];
  const row = origin?.kind === 'row' ? origin : record && rowOf(record, experiment);
  return {
    // The first model has a name that a reload does not change, so that its output is found again.
    draft: { messages, values: {}, columns: [{ id: `first of ${place}`, settings }] },
    source: row ?? inputOf(record),
    version,
    isMediaText: version === undefined && record !== undefined && holdsMedia(record),
    recorded: record && plainText(record.output),
  };
}

/** The row of the dataset that a record of an experiment is of. */
function rowOf({ dataset_row_ordinal: index, dataset_version: version }: RecordNode, experiment: Experiment | undefined) {
  const datasetId = experiment?.dataset?.dataset_id;
  const of = typeof version === 'number' ? version : experiment?.dataset?.version_index;
  if (datasetId === undefined || of === undefined || typeof index !== 'number') return undefined;
  return { datasetId, version: of, index };
}

const inputOf = (record: RecordNode | undefined): ValueSource | undefined =>
  typeof record?.dataset_input === 'string' ? { input: record.dataset_input } : undefined;
