import type { Caller } from '../../shared/accounts/permissions.ts';
import type { ColumnDef } from '../../shared/columns/columnDef.ts';
import type { ComparisonAnswer } from '../../shared/comparison/comparison.ts';
import type { Comparisons } from '../../shared/comparison/openComparisons.ts';
import { selfJudgedReason } from '../../shared/comparison/selfJudged.ts';
import { ServiceError } from '../../shared/errors/errors.ts';
import { experimentColumns } from '../../shared/experiments/columns.ts';
import { type ExperimentRun, hasEnded, isUnderWay } from '../../shared/experiments/experiment.ts';
import type { Experiment } from '../../shared/experiments/experimentStore.ts';
import { type ExperimentDeps, getExperiment } from '../../shared/experiments/list.ts';
import type { RunProgressView } from '../../shared/experiments/progress.ts';
import type { ExperimentView } from '../../shared/experiments/response.ts';
import { figureText } from '../../shared/figures/figureText.ts';
import { gapsText } from '../../shared/figures/gapsText.ts';
import { errorOf, failedFilter } from '../../shared/records/failed.ts';
import { type FoundPage, searchRecords } from '../../shared/records/searchRecords.ts';
import { LogRecordsQueryCountRequest } from '../../shared/wire/recordSearch.ts';
import { type RecordSearchDeps, recordQuery } from '../records/recordQuery.ts';
import { comparisonSection } from './comparisonSection.ts';
import { type Html, html } from './html.ts';
import type { PageContent } from './pageLayout.ts';

export interface ExperimentPageDeps extends ExperimentDeps {
  records: RecordSearchDeps;
  /** Columns of the metrics that any run of the project computes. */
  metricColumns(projectId: string): Promise<ColumnDef[]>;
  findRun(experimentId: string): Promise<ExperimentRun | undefined>;
  progress(run: ExperimentRun): Promise<RunProgressView>;
  compare: Comparisons['compare'];
  /** Where Temporal's own pages show a workflow; undefined where no address of them is known. */
  temporalLink(workflowId: string): string | undefined;
}

type Columns = ReturnType<typeof experimentColumns>;

const FAILED_ROWS = 50;
const RUNS_OF_SERIES = 20;
/** Columns of the series: the metrics that most of its runs have. */
const METRICS_OF_SERIES = 4;
/** Of the same dataset, or without one like this experiment; the newest. */
const MAX_BASELINES = 50;
/** Of an input or error; the whole is in the record. */
const MAX_CHARACTERS = 2_000;

/**
 * The page of one experiment: how far it is, its figures with what they are made of, the comparison with a baseline, and its failed rows.
 * @param baselineId what it is compared with, if anything
 * @throws ServiceError `NotFound`
 */
export async function experimentPage(
  deps: ExperimentPageDeps,
  project: { id: string; name: string },
  experimentId: string,
  caller: Caller,
  below: string,
  baselineId: string | undefined,
): Promise<Omit<PageContent, 'below'>> {
  const experiment = await getExperiment(deps, project.id, experimentId);
  const [run, columns, failed, choices, series, comparison] = await Promise.all([
    deps.findRun(experimentId),
    columnsOf(deps, project.id),
    failedRows(deps, project.id, experimentId),
    baselinesOf(deps, experiment),
    runsOfSeries(deps, experiment),
    baselineId === undefined ? undefined : comparisonWith(deps, experiment, baselineId),
  ]);
  const progress = run && run.state !== 'idle' ? await deps.progress(run) : undefined;
  return {
    title: experiment.name,
    user: caller.email,
    isUnderWay: isUnderWay(experiment.state),
    main: html`<h1>${experiment.name}</h1>
${origin(experiment, project)}
<p><a href="${below}/console/p/${project.id}/records?experiment=${experiment.id}">All rows in the console</a></p>
${progress && run && progressSection(progress, deps.temporalLink(run.workflowId))}
${figures(experiment, columns)}
${comparison?.problem !== undefined && html`<p class="error">${comparison.problem}</p>`}
${comparisonSection(choices, baselineId, comparison?.answer, (id) => columns.find((column) => column.id === `metrics/${id}`)?.data_unit ?? null)}
${seriesSection(series, experiment, columns, below)}
${failedSection(failed)}`,
  };
}

const columnsOf = async (deps: ExperimentPageDeps, projectId: string): Promise<Columns> =>
  experimentColumns(...(await Promise.all([deps.metricColumns(projectId), deps.experiments.aggregatedMetrics(projectId)])));

/** Finished or not: what runs is compared so far. */
async function baselinesOf(deps: ExperimentPageDeps, { id, projectId, dataset }: ExperimentView) {
  const { items } = await deps.experiments.list(projectId, { filters: [] }, { offset: 0, limit: MAX_BASELINES });
  return items.filter((other) => other.id !== id && other.dataset?.id === dataset?.id);
}

/** The newest runs of its series, the oldest of them first. */
async function runsOfSeries(deps: ExperimentPageDeps, { projectId, series }: ExperimentView): Promise<Experiment[]> {
  const filter = { name: 'series', operator: 'eq', value: series, case_sensitive: true } as const;
  const { items } = await deps.experiments.list(projectId, { filters: [filter] }, { offset: 0, limit: RUNS_OF_SERIES });
  return items.reverse();
}

/** The comparison, or why there is none: the rest of the page is shown all the same. */
async function comparisonWith(
  deps: ExperimentPageDeps,
  { id, projectId }: ExperimentView,
  baselineId: string,
): Promise<{ answer?: ComparisonAnswer; problem?: string }> {
  const request = { baselineId, experimentIds: [id], slices: [], seed: 0, level: 0.95 } as const;
  try {
    return { answer: await deps.compare(projectId, request) };
  } catch (err) {
    if (err instanceof ServiceError && err.status < 500) return { problem: err.message };
    throw err;
  }
}

async function failedRows(deps: ExperimentPageDeps, projectId: string, experimentId: string): Promise<FoundPage> {
  const body = LogRecordsQueryCountRequest.parse({
    experiment_id: experimentId,
    filter_tree: failedFilter,
  });
  const query = await recordQuery(deps.records, projectId, ['trace'], body);
  const view = {
    columns: ['input', 'error_message', 'status_code', 'dataset_row_ordinal', 'trial'],
    metrics: [],
    includeCounts: false,
    includeMetricMetadata: false,
    truncate: true,
  };
  return searchRecords(deps.records.records, { ...query, offset: 0, limit: FAILED_ROWS }, view);
}

function origin(experiment: ExperimentView, project: { name: string }): Html {
  const { dataset, prompt, group, createdBy, createdAt } = experiment;
  const model = experiment.promptSettings?.model_alias ?? prompt?.settings.model_alias;
  const facts = [
    `project ${project.name}`,
    `group ${group.name}`,
    dataset && `dataset ${dataset.name ?? dataset.id}, version ${dataset.versionIndex}`,
    prompt && `prompt ${prompt.name}, version ${prompt.version}`,
    typeof model === 'string' && `model ${model}`,
    `created by ${createdBy.email} on ${timeText(createdAt)}`,
  ];
  return html`<p class="quiet">${facts.filter((fact) => fact).join(' · ')}</p>`;
}

function progressSection(progress: RunProgressView, temporal: string | undefined): Html {
  const { rowsDone, rowsTotal, rowsFailed, rowsRunning, rowsPerSecond, scoresDone, scoresTotal } = progress;
  const facts = [
    `${rowsDone} of ${rowsTotal} rows`,
    rowsFailed > 0 && `${rowsFailed} failed`,
    rowsRunning > 0 && `${rowsRunning} running`,
    scoresTotal > 0 && `${scoresDone} of ${scoresTotal} scores`,
    rowsPerSecond !== null && !hasEnded(progress.state) && `${figureText(rowsPerSecond, null)} rows a second`,
  ];
  const problem = progress.error ?? progress.message;
  return html`<p><strong>${progress.state}</strong> · ${facts.filter((fact) => fact).join(' · ')}
${temporal !== undefined && html` · <a href="${temporal}">workflow in Temporal</a>`}</p>
<progress max="${Math.max(1, rowsTotal + scoresTotal)}" value="${rowsDone + scoresDone}"></progress>
${problem !== null && html`<p class="error">${problem}</p>`}`;
}

function figures({ aggregates }: ExperimentView, columns: Columns): Html {
  if (!aggregates || Object.keys(aggregates.metrics).length === 0)
    return html`<h2>Metrics</h2><p class="quiet">There are no figures yet.</p>`;
  const byId = new Map(columns.map((column) => [column.id, column]));
  const rows = Object.entries(aggregates.metrics).map(([name, { p50, p95, count, valueDistribution }]) => {
    const column = byId.get(`metrics/${name}`);
    const unit = column?.data_unit ?? null;
    const made = aggregates.counts?.[name];
    const shown = aggregates.rolledUp[name];
    const categories = Object.entries(valueDistribution ?? {}).slice(0, 5);
    return html`<tr><td>${column?.label ?? name}${made?.isJudgedByModelUnderTest && ' *'}</td>
<td class="number">${shown === undefined ? categories.map(([value, times]) => `${value} × ${times}`).join(', ') || '–' : figureText(shown, unit)}</td>
<td class="number">${figureText(p50, unit)}</td><td class="number">${figureText(p95, unit)}</td>
<td class="number">${made?.counts.values ?? count}</td>
<td class="number">${made?.counts.missing}</td><td class="number">${made?.counts.failed}</td><td class="number">${made?.counts.notApplicable}</td>
<td class="number">${made && failedRowsText(made)}</td></tr>`;
  });
  return html`<h2>Metrics</h2>
<div class="scroll"><table><thead><tr><th>Metric</th><th class="number">Figure</th><th class="number">p50</th><th class="number">p95</th>
<th class="number">Values</th><th class="number">Missing</th><th class="number">Failed</th><th class="number">Not applicable</th>
<th class="number">Failed rows</th></tr></thead><tbody>${rows}</tbody></table></div>
${selfJudgedNote(aggregates.counts)}
${gapNotes(aggregates.counts, byId)}
${aggregates.rows !== undefined && html`<p class="quiet">${aggregates.rows} rows, ${aggregates.rowsFailed ?? 0} of them failed.</p>`}`;
}

/** Why metrics lack values. */
function gapNotes(
  counts: NonNullable<ExperimentView['aggregates']>['counts'],
  byId: ReadonlyMap<string, Columns[number]>,
): Html | undefined {
  const notes = Object.entries(counts ?? {}).flatMap(
    ([name, { counts: made, gaps = [] }]) =>
      gapsText(byId.get(`metrics/${name}`)?.label ?? name, {
        values: made.values,
        lacking: made.missing + made.failed + made.notApplicable,
        reasons: gaps,
      }) ?? [],
  );
  return notes.length === 0 ? undefined : html`<ul class="quiet">${notes.map((note) => html`<li>${note}.</li>`)}</ul>`;
}

/** What the mark in the table means, where a model judged its own answers. */
function selfJudgedNote(counts: NonNullable<ExperimentView['aggregates']>['counts']): Html | undefined {
  const models = Object.values(counts ?? {}).flatMap((made) => (made.isJudgedByModelUnderTest ? [made.judgeModel] : []));
  if (models.length === 0) return undefined;
  const judge = [...new Set(models)].filter((model) => model).join(', ') || 'the model under test';
  return html`<p class="error">* judged by ${judge}, which gave the answers itself: ${selfJudgedReason}.</p>`;
}

type MadeOf = NonNullable<NonNullable<ExperimentView['aggregates']>['counts']>[string];

/** Failed rows without a value, and what each counts as. */
const failedRowsText = ({ counts, worst }: MadeOf): string => {
  const rows = counts.failedRowsWithoutValue;
  if (rows === 0) return '0';
  return worst === null ? `${rows} left out` : `${rows} as ${figureText(worst, null)}`;
};

/** How the figures went from run to run. */
function seriesSection(
  runs: readonly Experiment[],
  { id, series }: ExperimentView,
  columns: Columns,
  below: string,
): Html | undefined {
  if (runs.length < 2) return undefined;
  const byId = new Map(columns.map((column) => [column.id, column]));
  const counted = Map.groupBy(
    runs.flatMap(({ aggregates }) => Object.keys(aggregates?.rolledUp ?? {})),
    (name) => name,
  );
  const metrics = [...counted]
    .sort(([, a], [, b]) => b.length - a.length)
    .slice(0, METRICS_OF_SERIES)
    .map(([name]) => name);
  const rows = runs.map(
    (
      run,
    ) => html`<tr><td>${run.id === id ? html`<strong>${run.name}</strong>` : html`<a href="${below}/projects/${run.projectId}/experiments/${run.id}">${run.name}</a>`}</td>
<td>${timeText(run.createdAt)}</td><td>${run.state === 'idle' ? '' : run.state}</td>
${metrics.map((name) => html`<td class="number">${figureText(run.aggregates?.rolledUp[name] ?? null, byId.get(`metrics/${name}`)?.data_unit ?? null)}</td>`)}
<td>${run.gate?.status}</td><td>${run.approval && timeText(run.approval.at)}</td></tr>`,
  );
  return html`<h2>Runs of ${series}</h2>
<div class="scroll"><table><thead><tr><th>Run</th><th>Created</th><th>State</th>${metrics.map((name) => html`<th class="number">${byId.get(`metrics/${name}`)?.label ?? name}</th>`)}
<th>Gate</th><th>Approved</th></tr></thead><tbody>${rows}</tbody></table></div>`;
}

function failedSection({ records, total }: FoundPage): Html | undefined {
  if (total === 0) return undefined;
  const rows = records.map(
    ({
      record,
    }) => html`<tr><td class="number">${record.dataset_row_ordinal}${(record.trial ?? 0) > 0 && html` (trial ${record.trial})`}</td>
<td><pre>${cut(record.input)}</pre></td><td><pre class="error">${cut(errorOf(record))}</pre></td></tr>`,
  );
  return html`<h2>Failed rows</h2>
<p class="quiet">${total > records.length ? `The newest ${records.length} of ${total}.` : `${total} in all.`}</p>
<div class="scroll"><table><thead><tr><th class="number">Row</th><th>Input</th><th>Error</th></tr></thead><tbody>${rows}</tbody></table></div>`;
}

function cut(value: unknown): string {
  const text = typeof value === 'string' ? value : value === null || value === undefined ? '' : JSON.stringify(value);
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text;
}

const timeText = (time: Date): string => `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
