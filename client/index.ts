// The published package: one name for each operation, and the types of what goes in and comes out. Importing it does nothing.
export type { ExperimentResponse } from '../shared/wire/experiments.ts';
export { type AddPromptVersionOptions, addPromptVersion, type PromptVersion } from './addPromptVersion.ts';
export { type AddToAnnotationQueueOptions, addToAnnotationQueue } from './addToAnnotationQueue.ts';
export { type ApproveExperimentOptions, approveExperiment } from './approveExperiment.ts';
export type { DatasetChoice, DatasetReference } from './chooseDataset.ts';
export type { MetricChoice } from './chooseMetrics.ts';
export type { PromptChoice } from './choosePrompt.ts';
export {
  addCodeMetricVersion,
  type CodeOptions,
  type CodeValidation,
  type CreateCodeMetricOptions,
  createCodeMetric,
  InvalidCodeError,
  type TryCodeMetricOptions,
  tryCodeMetric,
  type ValidateCodeMetricOptions,
  validateCodeMetric,
} from './codeMetric.ts';
export { type ColumnValues, type ColumnValuesOptions, columnValues, type MetadataKeys, metadataKeys } from './columnValues.ts';
export { type ComparedRow, type ComparedRowsOptions, comparedRows } from './comparedRows.ts';
export { type CompareExperimentsOptions, compareExperiments } from './compareExperiments.ts';
export {
  type AnnotationQueueResponse,
  type AnnotationTemplate,
  type CreateAnnotationQueueOptions,
  createAnnotationQueue,
} from './createAnnotationQueue.ts';
export { type CreateCheckOptions, changeCheck, createCheck } from './createCheck.ts';
export { type CreateDatasetOptions, type CreatedDataset, createDataset, type DatasetResponse } from './createDataset.ts';
export { type CreateExperimentOptions, createExperiment, type ExperimentGroupChoice } from './createExperiment.ts';
export { type CreateJudgeOptions, createJudge } from './createJudge.ts';
export { createLogStream } from './createLogStream.ts';
export { type CreatedProject, createProject } from './createProject.ts';
export { type CreatePromptOptions, createPrompt, type PromptMessage, type PromptResponse } from './createPrompt.ts';
export { type DatasetChange, datasetChanges } from './datasetChanges.ts';
export { type DatasetRow, datasetRows } from './datasetRows.ts';
export { type DatasetVersion, datasetVersions } from './datasetVersions.ts';
export { defineExperiment, type ExperimentDefinition } from './defineExperiment.ts';
export { deleteAnnotationQueue } from './deleteAnnotationQueue.ts';
export { deleteDataset } from './deleteDataset.ts';
export { type DeleteIntegrationOptions, deleteIntegration } from './deleteIntegration.ts';
export { deleteLogStream } from './deleteLogStream.ts';
export { deleteMetric } from './deleteMetric.ts';
export { deleteProject } from './deleteProject.ts';
export { deletePrompt } from './deletePrompt.ts';
export { type DatasetEdit, type EditDatasetOptions, editDataset } from './editDataset.ts';
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
export { type GenerateCodeMetricOptions, generateCodeMetric } from './generateCodeMetric.ts';
export { getAnnotationQueue } from './getAnnotationQueue.ts';
export { getDataset } from './getDataset.ts';
export { type DefaultJudge, getDefaultJudge } from './getDefaultJudge.ts';
export { getExperiment, runsOfName } from './getExperiment.ts';
export { getExperiments } from './getExperiments.ts';
export { getPlaygroundLimits, type PlaygroundLimits } from './getPlaygroundLimits.ts';
export { getPrompt } from './getPrompt.ts';
export { getRetention, type Retention } from './getRetention.ts';
export { type ClientOptions, ServiceClient } from './http.ts';
export { type JudgeAgreement, type JudgeAgreementOptions, judgeAgreement } from './judgeAgreement.ts';
export { listAnnotationQueues } from './listAnnotationQueues.ts';
export { listDatasets } from './listDatasets.ts';
export { type ExperimentGroupResponse, listExperimentGroups } from './listExperimentGroups.ts';
export { type Integration, listIntegrations } from './listIntegrations.ts';
export { type LogStreamResponse, listLogStreams } from './listLogStreams.ts';
export { listMetrics, type Metric } from './listMetrics.ts';
export { listProjects, type ProjectResponse } from './listProjects.ts';
export { listPrompts } from './listPrompts.ts';
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
export { Pages } from './pages.ts';
export { type PlaygroundCallOptions, type PlaygroundEvent, playgroundCall } from './playgroundCall.ts';
export { type CallOptions, type OperationOptions, type ProjectChoice, resolveProject } from './project.ts';
export type { PromptSettings } from './promptSettings.ts';
export type { RecordChoice, RunChoice } from './recordChoice.ts';
export { type RecordHistogram, type RecordHistogramOptions, recordHistogram } from './recordHistogram.ts';
export { type RecordIdsOptions, recordIds } from './recordIds.ts';
export { type RerunExperimentOptions, rerunExperiment } from './rerunExperiment.ts';
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
export { type IntegrationSettings, saveIntegration } from './saveIntegration.ts';
export type { Session, SessionFields } from './session.ts';
export { setDefaultJudge } from './setDefaultJudge.ts';
export { setPlaygroundLimits } from './setPlaygroundLimits.ts';
export { setRetention } from './setRetention.ts';
export type { SpanFields, SpanKind } from './spans.ts';
export { type TestIntegrationOptions, testIntegration } from './testIntegration.ts';
export type { FinishedSpan, SpanBuilder, SpanPlace, TraceBuilder, TraceFields } from './trace.ts';
export { type TraceOutline, traceOutline } from './traceOutline.ts';
export { type JudgeTryOut, type TriedSample, type TryJudgeOptions, tryJudge } from './tryJudge.ts';
export { type WatchExperimentOptions, watchExperiment } from './watchExperiment.ts';
