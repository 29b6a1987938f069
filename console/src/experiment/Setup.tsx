import { type ReactNode, useMemo } from 'react';
import { duration } from '../../../shared/figures/figureText.ts';
import { jsonWithBigInts } from '../../../shared/wire/longNumbers.ts';
import type { LiveProgress, RunSettings } from '../data/experiment.ts';
import type { Experiment } from '../data/experiments.ts';
import { countText, lineText, UNKNOWN } from '../parts/format.ts';
import { LoadingNote } from '../parts/notes.tsx';
import { Payload } from '../payload/Payload.tsx';
import styles from './Setup.module.css';

interface Props {
  experiment: Experiment;
  run: RunSettings | undefined;
  progress: LiveProgress | undefined;
}

/** Shows the parts of an experiment: runner and settings, prompt, dataset and judges. */
export function Setup({ experiment, run, progress }: Props) {
  if (!run) return <LoadingNote what="the settings" />;
  const { settings, runner } = run;
  const limits = settings.limits;
  const never = (count: number) => (count === 0 ? 'never' : `after ${countText(count)} in a row`);
  const perMinute = (limit: number | null | undefined, what: string) =>
    limit === null || limit === undefined ? [] : [`${countText(limit)} ${what}`];
  const said = [
    ...perMinute(limits?.concurrency, 'calls at a time'),
    ...perMinute(limits?.requests_per_minute, 'requests a minute'),
    ...perMinute(limits?.tokens_per_minute, 'tokens a minute'),
  ];
  return (
    <div className={styles.setup}>
      <Facts
        title="Run"
        facts={[
          ['Rows run by', runnerText(runner)],
          ['Headers', runner.headers && (runner.headers.join(', ') || 'none')],
          ['Concurrency', countText(progress?.concurrency ?? settings.concurrency)],
          ['Time limit of a row', duration(settings.row_time_limit_ms)],
          ['Attempts of a call', countText(settings.max_call_attempts)],
          ['Pauses when rows fail', never(settings.pause_after_failures)],
          ['Pauses when a provider fails', never(settings.pause_after_provider_failures)],
          ['Limits', limits ? said.join(', ') || 'none' : 'those of the integration'],
          ['Newest start', startText(run)],
          ['Workflow', run.workflow_id ?? UNKNOWN],
        ]}
      />
      <Facts
        title="Data"
        facts={[
          ['Dataset', experiment.dataset && lineText(experiment.dataset.name ?? experiment.dataset.dataset_id, 200)],
          ['Version', experiment.dataset && String(experiment.dataset.version_index)],
          ['Rows', selectionText(run)],
          ['Trials of each row', countText(run.trials)],
          ['Failed rows', run.failed_rows === 'worst' ? 'count as the worst value' : 'are left out of figures'],
        ]}
      />
      <Judges run={run} />
      <Prompt {...{ experiment, run, progress }} />
    </div>
  );
}

function Facts({ title, facts }: { title: string; facts: readonly [string, ReactNode][] }) {
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <dl className={styles.facts}>
        {facts
          .filter(([, value]) => value !== null && value !== undefined)
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
    </section>
  );
}

function Judges({ run }: { run: RunSettings }) {
  if (run.metrics.length === 0) return null;
  return (
    <section aria-label="Metrics">
      <h2>Metrics</h2>
      <dl className={styles.facts}>
        {run.metrics.map(({ name, judge_models: models, judged_by_model_under_test: isOwn }) => (
          <div key={name}>
            <dt>{lineText(name, 200)}</dt>
            <dd>
              {models.length > 0
                ? `judged by ${models.map((model) => lineText(model, 200)).join(', ')}`
                : 'computed, or judged by the default model'}
              {isOwn && <strong className="bad"> judges its own answers</strong>}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function Prompt({ experiment, run, progress }: Props & { run: RunSettings }) {
  const { prompt, prompt_run_settings: settings } = experiment;
  const content = useMemo(() => contentOf(prompt?.content), [prompt?.content]);
  if (!prompt && run.runner.kind !== 'prompt_template') return null;
  const all = { ...settings, ...run.runner.prompt_settings };
  const unsent = progress?.settings_not_sent ?? [];
  return (
    <section aria-label="Prompt">
      <h2>Prompt{prompt && ` ${lineText(prompt.name, 200)}, version ${prompt.version_index}`}</h2>
      {prompt && <Payload value={content} />}
      <dl className={styles.facts}>
        {Object.entries(all)
          .filter(([, value]) => value !== null && value !== undefined)
          .map(([key, value]) => (
            <div key={key}>
              <dt>{lineText(key, 200)}</dt>
              <dd>
                {typeof value === 'string' ? value : jsonWithBigInts(value)}
                {unsent.includes(key) && <span className="bad"> is not sent: the model does not take it</span>}
              </dd>
            </div>
          ))}
      </dl>
    </section>
  );
}

/** Messages where the text of a template is their JSON. */
function contentOf(content: string | undefined): unknown {
  try {
    return content?.trimStart().startsWith('[') ? JSON.parse(content) : content;
  } catch {
    return content;
  }
}

function runnerText({ kind, name, url }: RunSettings['runner']): string {
  switch (kind) {
    case 'prompt_template':
      return 'a prompt';
    case 'dataset_outputs':
      return 'nothing: the outputs are those of the dataset';
    case 'caller_function':
      return 'a function in a process of the caller';
    case 'module':
      return `the module ${name}`;
    default:
      return `a call of ${url}`;
  }
}

function startText({ rows_to_run: rows, rerun }: RunSettings): string {
  if (rerun?.metric) return `${rerun.again} of ${rerun.metric}${rerun.state ? ` that are ${rerun.state.join(', ')}` : ''}`;
  if (rerun) return `${countText(rerun.executions)} chosen rows`;
  if (rows === 'failed') return 'rows that failed or were missing';
  return rows === 'none' ? 'scores alone' : 'all rows that were missing';
}

function selectionText({ row_selection: selection, row_count: executions, trials }: RunSettings): string {
  if (!selection) return executions > 0 ? `all ${countText(executions / trials)}` : UNKNOWN;
  const { selected, of, sample, filter, limit, listed } = selection;
  const how = [
    listed !== null && `${countText(listed)} listed`,
    filter?.map((one) => `${one.column_name} ${one.operator} ${one.value}`).join(' and '),
    sample && `a sample with the seed ${sample.seed}`,
    limit !== null && `the first ${countText(limit)}`,
    selection.same_as !== null && 'those of another experiment',
  ].filter((part) => typeof part === 'string');
  return `${countText(selected)} of ${countText(of)}${how.length > 0 ? `: ${how.join(', ')}` : ''}`;
}
