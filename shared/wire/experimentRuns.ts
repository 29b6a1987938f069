import { z } from 'zod';
import { CallLimitsBody } from './callLimits.ts';
import { QueryFlag, Uuid } from './common.ts';
import { FailedRowsSetting, LoggedMetrics } from './experimentFigures.ts';
import { runState, Trials } from './experiments.ts';
import { Headers } from './integrations.ts';
import { PromptRunSettings } from './prompts.ts';
import { RowSelectionReply, RowSelectionRequest } from './rowSelection.ts';
import { RerunReply, RowsToRunRequest } from './rowsToRun.ts';
import { RunUsageBody } from './runUsage.ts';

const runnerKind = z.enum(['prompt_template', 'dataset_outputs', 'caller_function', 'module', 'http']);

/** No separators: nothing outside the runners folder can be named. */
const ModuleName = z
  .string()
  .max(255)
  .regex(/^[\w-][\w.-]*$/, { error: 'must be the name of a file in the runners folder, without a path' });

/** Settings of a prompt that are given for one run: of the kinds that those of a template have, and none is filled in. */
const GivenPromptSettings = z.record(z.string(), z.unknown()).superRefine((given, context) => {
  for (const { path, message } of PromptRunSettings.safeParse(given).error?.issues ?? [])
    context.addIssue({ code: 'custom', path, message, input: given });
});

/** The runner of the rows of an experiment. */
export const RunnerRequest = z
  .discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('prompt_template'),
      prompt_template_version_id: Uuid,
      prompt_settings: GivenPromptSettings.nullish(),
    }),
    z.strictObject({ kind: z.literal('dataset_outputs') }),
    z.strictObject({ kind: z.literal('caller_function') }),
    z.strictObject({ kind: z.literal('module'), name: ModuleName }),
    z.strictObject({ kind: z.literal('http'), url: z.url({ protocol: /^https?$/ }), headers: Headers.nullish() }),
  ])
  .meta({ id: 'ExperimentRunner' });

const settings = {
  concurrency: z.number().int().min(1).max(1_000).nullish().describe('Rows in flight at any time, over the whole run.'),
  row_time_limit_ms: z
    .number()
    .int()
    .min(1)
    .max(86_400_000)
    .nullish()
    .describe('Milliseconds after which a row is given up and recorded as failed.'),
  max_call_attempts: z.number().int().min(1).max(100).nullish(),
  pause_after_failures: z
    .number()
    .int()
    .min(0)
    .nullish()
    .describe('Failed rows in a row after which the run pauses by itself; 0: never.'),
  pause_after_provider_failures: z
    .number()
    .int()
    .min(0)
    .nullish()
    .describe('The same, of rows that failed because their provider is down or refuses whatever it is asked.'),
  limits: CallLimitsBody.nullish().describe("What the run's calls may use, instead of what is set on their integration."),
};

export const RunRequest = z
  .strictObject({
    runner: RunnerRequest.nullish(),
    records: z.array(z.record(z.string(), z.unknown())).min(1).max(1_000_000).nullish(),
    rows_to_run: RowsToRunRequest.nullish(),
    logged_metrics: LoggedMetrics.nullish(),
    rows: RowSelectionRequest.nullish().describe('Which rows the run is over; frozen at the first start.'),
    trials: Trials,
    failed_rows: FailedRowsSetting.nullish(),
    process: Uuid.nullish().describe('The process that hosts the function, for `caller_function`.'),
    ...settings,
  })
  .meta({ id: 'ExperimentRunRequest' });

export const RunReply = z
  .object({
    experiment_id: Uuid,
    state: runState,
    started: z.boolean(),
    row_count: z.int().describe('Executions: rows times trials.'),
    trials: z.int(),
    row_selection: RowSelectionReply.nullable(),
    rerun: RerunReply.nullable().describe('What this start runs again, where it was asked for certain rows or scores.'),
    workflow_id: z.string(),
    concurrency: z.int(),
  })
  .meta({ id: 'ExperimentRun' });

const RunLimits = z.object({
  concurrency: z.int(),
  row_time_limit_ms: z.int(),
  max_call_attempts: z.int(),
  pause_after_failures: z.int(),
  pause_after_provider_failures: z.int(),
  limits: CallLimitsBody.nullable().describe("What the run's calls may use; null where the limits of their integration hold."),
});

/** Settings of a run, as replies show them. */
export const RunSettingsReply = z
  .object({
    ...RunReply.omit({ started: true, concurrency: true, workflow_id: true }).shape,
    workflow_id: z.string().nullable().describe('Of its newest start; null before the first.'),
    workflow_url: z
      .string()
      .nullable()
      .describe("The workflow in Temporal's own pages; null before the first start, and where no address of those is known."),
    runner: z
      .object({
        kind: runnerKind,
        prompt_template_version_id: Uuid.nullable(),
        prompt_settings: z
          .record(z.string(), z.unknown())
          .nullable()
          .describe('Given for this run beside those of the template.'),
        name: z.string().nullable().describe('Of a module.'),
        url: z.string().nullable().describe('Of an address that runs rows, without credentials and query.'),
        headers: z.array(z.string()).nullable().describe('Names of the headers that it is sent.'),
      })
      .describe('What runs the rows.'),
    settings: RunLimits,
    rows_to_run: z
      .enum(['missing', 'failed', 'none', 'chosen', 'scores'])
      .describe('What its newest start was asked for; the details of `chosen` and `scores` are in `rerun`.'),
    failed_rows: FailedRowsSetting,
    metrics: z
      .array(
        z.object({
          name: z.string(),
          judge_models: z
            .array(z.string())
            .describe('The models that judge, in turn; empty of a metric that none judges, or the default one.'),
          judged_by_model_under_test: z.boolean().describe('The judge is the model whose answers it judges.'),
        }),
      )
      .describe('The metrics that its values are made by; before the first start, those of its settings.'),
  })
  .meta({ id: 'ExperimentRunSettings' });

export const ProgressQuery = z.strictObject({
  wait_ms: z.coerce
    .number()
    .int()
    .min(0)
    .max(30_000)
    .default(0)
    .describe('The answer comes when the run has ended, and after so many milliseconds at the latest.'),
  figures: QueryFlag(false).describe(
    'Also what the metrics come to so far. The values of all rows are read for it: ask every ten seconds, say.',
  ),
  failures: QueryFlag(false).describe('Also what failed rows failed of.'),
});

const Failures = z
  .array(
    z.object({
      message: z.string().nullable().describe('The error of one of them; null where only the status says what failed.'),
      status_code: z.int().nullable(),
      is_same: z.boolean().describe('Whether all of them have just this message. Else they differ in numbers or ids.'),
      rows: z.int(),
      examples: z
        .array(z.object({ trace_id: Uuid, dataset_row_ordinal: z.int().nullable(), trial: z.int().nullable() }))
        .describe('Some of them.'),
    }),
  )
  .describe('What failed rows failed of, the most frequent first: the 20 most frequent causes.');

export const ProgressReply = z
  .object({
    experiment_id: Uuid,
    state: runState,
    runner: runnerKind,
    rows_total: z.int().describe('Executions: rows times trials. All counts of rows are of these.'),
    rows_done: z.int(),
    rows_failed: z.int(),
    rows_running: z.int().describe('Rows in flight; never more than the concurrency.'),
    trials: z.int(),
    row_selection: RowSelectionReply.nullable(),
    rerun: RerunReply.nullable(),
    scores_total: z.int(),
    scores_done: z.int(),
    rows_per_second: z.number().nullable(),
    usage: RunUsageBody,
    started_at: z.string().nullable(),
    ended_at: z.string().nullable(),
    error: z.string().nullable().describe('Why the run failed or was cancelled.'),
    message: z
      .string()
      .nullable()
      .describe(
        'Why the run does not get on: it paused by itself, its calls wait until a time that is named, or the tasks of its workflow fail.',
      ),
    concurrency: z.int(),
    seconds_left: z.int().nullable().describe('Until it ends, at the rate so far; null where nothing says it.'),
    failures: Failures.optional().describe('Where it was asked for.'),
    figures: z
      .array(
        z.object({
          metric: z.string(),
          figure: z.number(),
          values: z.int().describe('Values that the figure is made of.'),
        }),
      )
      .optional()
      .describe('Where it was asked for: the figure of each metric that has a value, as it is now.'),
    settings_not_sent: z
      .array(z.string())
      .describe(
        'Settings of the prompt that were asked for and that the model is not sent: it does not take them, or there are none of that name.',
      ),
  })
  .meta({ id: 'ExperimentProgress' });

export const ConcurrencyRequest = z.strictObject({ concurrency: z.number().int().min(1).max(1_000) });

const holding = z.array(z.number().int().min(0)).max(10_000).nullish();

export const LeaseRequest = z.strictObject({
  process: Uuid,
  limit: z.number().int().min(1).max(1_000).default(100),
  wait_ms: z.number().int().min(0).max(30_000).default(20_000),
  holding: holding.describe(
    'Rows that the process has. Others that were leased to it are on offer again: for use after an answer was lost, or after rows were given up.',
  ),
});

export const LeasedRow = z.object({
  ordinal: z
    .int()
    .describe(
      'Position in the run, which says whose results are handed in: the rows of the first trial, then those of the second.',
    ),
  dataset_row_ordinal: z.int().describe('Position in the dataset version or list of records.'),
  trial: z.int().describe('From 0.'),
  row_id: z.string(),
  input: z.string().describe('Text of the cell `input`; without that column, the input of the trace.'),
  expected: z.string().nullable(),
  metadata: z.record(z.string(), z.string()),
  values: z.record(z.string(), z.unknown()),
});

export const LeaseReply = z
  .object({ state: runState, attempt: z.int(), concurrency: z.int(), row_time_limit_ms: z.int(), rows: z.array(LeasedRow) })
  .meta({ id: 'ExperimentRowLease' });

export const ResultsReply = z.object({
  recorded: z.array(z.int()).describe('Ordinals of the rows that were recorded; the others were no longer held by this process.'),
});
export const HeartbeatRequest = z.strictObject({
  process: Uuid,
  holding: holding.describe(
    'Rows that the process has, whose time is prolonged; without it, those of all that were leased to it.',
  ),
});
export const HeartbeatReply = z.object({ state: runState, concurrency: z.int().describe('Rows that may run at once now.') });

/** The data of an event `progress`: the same as of `progress`, the time left at the rate of the last half minute. */
export interface LiveProgressEvent extends Omit<z.output<typeof ProgressReply>, 'failures'> {
  failures: z.output<typeof Failures>;
  /** Rows recorded per second in the last half minute; null until two seconds of it are known. */
  recent_rows_per_second: number | null;
}
