// The published package: one name for each operation, and the types of what goes in and comes out. Importing it does nothing.
export type { ExperimentResponse } from '../shared/wire/experiments.ts';
export {
  type AddToAnnotationQueueOptions,
  type AnnotationQueueResponse,
  type AnnotationTemplate,
  addToAnnotationQueue,
  type CreateAnnotationQueueOptions,
  createAnnotationQueue,
  deleteAnnotationQueue,
  getAnnotationQueue,
  listAnnotationQueues,
} from './annotationQueues.ts';
export { type CallOptions, type OperationOptions, type ProjectChoice, resolveProject } from './callOptions.ts';
export type { DatasetChoice, DatasetReference } from './chooseDataset.ts';
export type { MetricChoice } from './chooseMetrics.ts';
export type { PromptChoice } from './choosePrompt.ts';
export {
  addCodeMetricVersion,
  type CodeOptions,
  type CodeValidation,
  type CreateCodeMetricOptions,
  createCodeMetric,
  type GenerateCodeMetricOptions,
  generateCodeMetric,
  InvalidCodeError,
  type TryCodeMetricOptions,
  tryCodeMetric,
  type ValidateCodeMetricOptions,
  validateCodeMetric,
} from './codeMetrics.ts';
export { type ColumnValues, type ColumnValuesOptions, columnValues, type MetadataKeys, metadataKeys } from './columnValues.ts';
export { type ComparedRow, type ComparedRowsOptions, comparedRows } from './comparedRows.ts';
export { type CompareExperimentsOptions, compareExperiments } from './compareExperiments.ts';
export {
  type CreateDatasetOptions,
  type CreatedDataset,
  createDataset,
  type DatasetChange,
  type DatasetEdit,
  type DatasetResponse,
  type DatasetRow,
  type DatasetVersion,
  datasetChanges,
  datasetRows,
  datasetVersions,
  deleteDataset,
  type EditDatasetOptions,
  editDataset,
  getDataset,
  listDatasets,
} from './datasets.ts';
export { defineExperiment, type ExperimentDefinition } from './defineExperiment.ts';
export {
  ConnectionError,
  ExperimentRunError,
  HttpStatusError,
  NotFoundError,
  RecordsRefusedError,
  TakenOverError,
  ValueError,
} from './errors.ts';
export { type EstimateExperimentOptions, type ExperimentEstimate, estimateExperiment } from './estimateExperiment.ts';
export type { Experiment, MetricFigures } from './experimentAggregates.ts';
export type { ExperimentComparison, ExperimentProgress, ExperimentRunResults, GateResult } from './experimentRunResults.ts';
export {
  type ApproveExperimentOptions,
  approveExperiment,
  type CreateExperimentOptions,
  createExperiment,
  type ExperimentGroupChoice,
  type ExperimentGroupResponse,
  getExperiment,
  getExperiments,
  listExperimentGroups,
  runsOfName,
} from './experiments.ts';
export { type ExportRecordsOptions, exportRecords } from './exportRecords.ts';
export {
  type DatasetExtension,
  DatasetExtensionError,
  type ExtendDatasetOptions,
  extendDataset,
  type WatchDatasetExtensionOptions,
  watchDatasetExtension,
} from './extendDataset.ts';
export {
  type BaselinePick,
  baselinePicks,
  type GateExperimentOptions,
  type GateLimits,
  gateExperiment,
  isBaselinePick,
} from './gateExperiment.ts';
export { type ClientOptions, ServiceClient } from './http.ts';
export {
  type DeleteIntegrationOptions,
  deleteIntegration,
  type Integration,
  type IntegrationSettings,
  listIntegrations,
  saveIntegration,
  type TestIntegrationOptions,
  testIntegration,
} from './integrations.ts';
export {
  type CreateJudgeOptions,
  createJudge,
  type DefaultJudge,
  getDefaultJudge,
  type JudgeAgreement,
  type JudgeAgreementOptions,
  type JudgeTryOut,
  judgeAgreement,
  setDefaultJudge,
  type TriedSample,
  type TryJudgeOptions,
  tryJudge,
} from './judges.ts';
export {
  getRunSettings,
  type LiveProgress,
  type LiveProgressOptions,
  liveProgress,
  type RunSettings,
} from './liveProgress.ts';
export { type LiveRecords, type LiveRecordsOptions, liveRecords } from './liveRecords.ts';
export type { ExplainedScore, HostedRow, LocalMetric, LocalScale, LocalScore, ScoreMap } from './localMetric.ts';
export { type LogOptions, log } from './log.ts';
export { Logger, type LoggerOptions } from './logger.ts';
export { createLogStream, deleteLogStream, type LogStreamResponse, listLogStreams } from './logStreams.ts';
export { type CreateCheckOptions, changeCheck, createCheck, deleteMetric, listMetrics, type Metric } from './metrics.ts';
export { Pages } from './pages.ts';
export { type PlaygroundCallOptions, type PlaygroundEvent, playgroundCall } from './playgroundCall.ts';
export { getPlaygroundLimits, type PlaygroundLimits, setPlaygroundLimits } from './playgroundLimits.ts';
export { type CreatedProject, createProject, deleteProject, listProjects, type ProjectResponse } from './projects.ts';
export type { PromptSettings } from './promptSettings.ts';
export {
  type AddPromptVersionOptions,
  addPromptVersion,
  type CreatePromptOptions,
  createPrompt,
  deletePrompt,
  getPrompt,
  listPrompts,
  type PromptMessage,
  type PromptResponse,
  type PromptVersion,
} from './prompts.ts';
export type { RecordChoice, RunChoice } from './recordChoice.ts';
export { type RecordHistogram, type RecordHistogramOptions, recordHistogram } from './recordHistogram.ts';
export { type RecordIdsOptions, recordIds } from './recordIds.ts';
export { type RerunExperimentOptions, rerunExperiment } from './rerunExperiment.ts';
export { getRetention, type Retention, setRetention } from './retention.ts';
export type { RowSelection } from './rowSelection.ts';
export { runExperiment } from './runExperiment.ts';
export type { RunExperimentOptions } from './runExperimentOptions.ts';
export {
  changeView,
  deleteView,
  getView,
  listViews,
  type SavedView,
  type SavedViewFields,
  saveView,
} from './savedViews.ts';
export type { Session, SessionFields } from './session.ts';
export type { SpanFields, SpanKind } from './spans.ts';
export type { FinishedSpan, SpanBuilder, SpanPlace, TraceBuilder, TraceFields } from './trace.ts';
export { type TraceOutline, traceOutline } from './traceOutline.ts';
export { type WatchExperimentOptions, watchExperiment } from './watchExperiment.ts';
