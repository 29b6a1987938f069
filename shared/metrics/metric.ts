import type { CodeRecord, CodeScore } from '../codeMetrics/codeSandbox.ts';
import type { MetricScale } from '../wire/metricScale.ts';
import type { RecordKind } from '../wire/recordKinds.ts';
import type { MetricNeed, MultimodalCapability, OutputType, RollUpMethod } from '../wire/scorers.ts';

/** An uploaded file. Its bytes are read when it is sent to a judge. */
export interface ScoredFile {
  id: string;
  /** `image`, `audio` … */
  modality: string;
  sizeBytes: number;
}

/** One record laid flat for scoring. Texts are what the record's columns show; null where the record has none. */
export interface ScoredRecord {
  kind: RecordKind;
  name: string;
  input: string | null;
  output: string | null;
  /** The dataset row's question and its reference answer. */
  datasetInput: string | null;
  datasetOutput: string | null;
  /** Metadata of the dataset row. A span without any has those of its trace. */
  datasetMetadata?: Readonly<Record<string, string>>;
  metadata: Record<string, unknown>;
  /** Metadata of the trace of a span. */
  traceMetadata?: Record<string, unknown>;
  durationNs: number | null;
  inputTokens: number | null;
  outputTokens: number | null;
  totalTokens: number | null;
  /** US dollars; null where the cost is not known. */
  costUsd?: number | null;
  /** True when its cost is in the sum of its trace. */
  countsCost?: boolean;
  /** True when its tokens are in the sums of its trace; absent: those of a model call are. */
  countsTokens?: boolean;
  errorMessage: string | null;
  model: string | null;
  /** The tools that a model was offered, as JSON text. */
  tools?: string | null;
  /** Characters of the whole texts, where `input` or `output` is the beginning alone: of records below another that are long. */
  inputLength?: number;
  outputLength?: number;
  /** Name of the span above a span. */
  parentName?: string;
  /** The uploaded files that the record names by their ids in its texts; absent where it names none. */
  files?: readonly ScoredFile[];
  /** The cells of its row by the names of their columns, where the scorer was given them. */
  rowValues?: Readonly<Record<string, unknown>>;
  /** True of the trace of a dataset row. */
  isRow?: boolean;
  /** The values of the metrics that the one which scores it requires, by the names that it has for them; null where there is none. */
  requiredScores?: Readonly<Record<string, ScoreValue | null>>;
  /** The spans below a trace (or below a span) at any depth, in order of their start, where the scorer was given them. */
  spans?: readonly ScoredRecord[];
  /** Traces of a session in order of their start, with their spans where the scorer was given those. */
  traces?: readonly ScoredRecord[];
}

export type JudgeImage = string | { fileId: string };

export interface JudgeRequest {
  system?: string;
  prompt: string;
  /** Images that follow the prompt: data URLs, or uploaded files. */
  images?: readonly JudgeImage[];
  /** Texts whose embeddings are asked for in place of an answer to the prompt: the answer's text is a JSON list of them. */
  embeds?: readonly string[];
  /** JSON Schema of the wanted answer: for models that can be held to one; the others follow the words of the prompt. */
  schema?: Record<string, unknown>;
  /** Number of the judge that is asked, from 0. */
  judge?: number;
  signal: AbortSignal;
}

export interface JudgeAnswer {
  text: string;
  inputTokens: number | null;
  outputTokens: number | null;
  model: string;
  costUsd: number | null;
  /** Why the model ended, in its provider's word; null where that does not say. */
  finishReason?: string | null;
  reasoningTokens?: number | null;
  /** Thoughts of the model before its answer; null where nothing is shown of them. */
  reasoning?: string | null;
  /** Parts of the request that were sent otherwise than asked for, because the judge's endpoint does not take them so. */
  adjustments?: readonly string[];
}

/** Thrown by `complete` when no judge can be asked now, by no fault of the judge or the record: the value is to be computed later. */
export class NotNow extends Error {
  override readonly name = 'NotNow';
}

/** Parts that a metric may use beside the record. The judge model is handed in, so that no metric knows a provider. */
export interface ScoreContext {
  /** @throws NotNow, and whatever the judge's provider fails with */
  complete(request: JudgeRequest): Promise<JudgeAnswer>;
  /** Runs code that a user wrote, where it reaches nothing; absent where no code is run. @throws the reason of `signal` */
  runCode?(code: string, record: CodeRecord): Promise<CodeScore>;
  /** True to ask a judge once more whose answer cannot be read. */
  asksAgain?: boolean;
  signal: AbortSignal;
}

/** A list of booleans has one for each document that was retrieved; among figures it counts as its share of true. */
export type ScoreValue = number | boolean | string | string[] | boolean[];

/** Usage of judges, added up over all calls of one score. */
export interface JudgeUsage {
  calls: number;
  model: string;
  /** Null when an endpoint does not report those of a call. */
  inputTokens: number | null;
  outputTokens: number | null;
  /** Null when the price of a call is unknown. */
  costUsd: number | null;
  /** Parts of calls that were sent otherwise than asked for. */
  adjustments?: readonly string[];
}

/**
 * The outcome of scoring one record: a value, a reason why there can be none or why none was asked for, what went wrong in the scorer or with what a
 * judge answered, or why no judge answered at all. Each is a metric state of its own.
 */
export type Score =
  | { value: ScoreValue; explanation?: string; metadata?: Record<string, unknown>; usage?: JudgeUsage }
  | { notApplicable: string }
  | { notComputed: string }
  | { error: string; usage?: JudgeUsage }
  /** `isProviderFailure`: the judge's provider is down, or refuses whatever it is asked. `isExhausted`: its quota is used up. */
  | { gaveUp: string; isProviderFailure?: boolean; isExhausted?: boolean; usage?: JudgeUsage };

type MetricDataType = 'boolean' | 'integer' | 'floating_point' | 'text' | 'string_list';
type MetricDataUnit = 'percentage' | 'milli_seconds' | 'dollars';

/** A metric: what the catalogs say about its column, and how a record is scored. */
export interface Metric extends MetricScale {
  /** Wire name; the column is `metrics/<name>`. The scorer's id for a metric that a user defined, so that renaming moves no values. */
  name: string;
  /** The name a user gave, where `name` is an id (`metric_key_alias` of the catalogs). */
  alias?: string;
  label: string;
  description: string;
  groupLabel: string;
  dataType: MetricDataType;
  /** True where each value is a list of booleans. */
  isList?: true;
  /** How the value is shown; a `percentage` is stored as a fraction in [0, 1]. */
  dataUnit: MetricDataUnit | null;
  outputType: OutputType;
  rollUp: RollUpMethod;
  /** Limits between the display levels, one fewer than there are levels. */
  threshold: { buckets: readonly number[]; displayValueLevels: readonly string[] } | null;
  /** Kinds of record that are scored unless the run's settings name others. */
  kinds: readonly RecordKind[];
  needs: 'code' | 'judge';
  /** True when it looks at the spans below a record; they are read only then. */
  readsSpans?: true;
  /** True when it looks at columns of the dataset row that records do not have; they are read only then. */
  readsRow?: true;
  /** True when only a row with a reference output has a value. */
  needsReference: boolean;
  /** Parts that a record must have beside the others. Without them the metric is not applicable. */
  needsParts?: readonly MetricNeed[];
  /** The medium that it looks at beside texts. */
  multimodal?: MultimodalCapability;
  /** Name of the metric whose judge or code computes this one, which clients know as a small tuned model. */
  tunedFormOf?: string;
  score(record: ScoredRecord, context: ScoreContext): Score | Promise<Score>;
}
