import { wordsOf } from './usageNames.ts';

/** The meaning of an attribute of a library's own for its span. */
export type Meaning =
  | 'input'
  | 'output'
  | 'kind'
  | 'model'
  | 'session'
  | 'user'
  | 'tags'
  | 'metadata'
  | 'firstTokenTime'
  | 'parameters'
  | 'datasetInput'
  | 'datasetOutput'
  | 'datasetMetadata';

/**
 * Meanings of names by their endings, whichever library they are of: the first that fits counts. `langfuse.observation.input`, `mlflow.spanInputs`,
 * `mastra.agent_run.input`, `genkit:input`, `traceloop.entity.input` and `braintrust.input_json` are all inputs.
 */
const endings: readonly (readonly [Meaning, RegExp])[] = [
  ['datasetInput', /\.dataset[._](?:item\.|row\.)?inputs?$/i],
  [
    'datasetOutput',
    /\.dataset[._](?:item\.|row\.)?(?:expected_?)?outputs?$|\.item\.expected_?output$|\.dataset[._]ground_?truth$/i,
  ],
  ['datasetMetadata', /\.dataset[._](?:item\.|row\.)?metadata$|\.item\.metadata$/i],
  ['session', /(?:^|[._:])(?:session[._]?id|conversation[._]?id|thread_?id)$|\.trace\.session$/i],
  ['user', /(?:^|[._:])(?:end)?user[._]?id$|\.trace\.user$|^(?:gen_ai|llm)\.user$/i],
  ['tags', /(?:^|[.:])tags$/i],
  ['kind', /(?:^|[.:])(?:span[._]?type|span\.kind|observation\.type|run_?type)$|^genkit:metadata:subtype$/i],
  ['model', /(?:^|\.)(?:model\.name|model_?name|model_?id|llm\.model)$/i],
  ['firstTokenTime', /\.completion_start_time$/],
  ['parameters', /(?:^|[.:])(?:model|invocation)[._]?parameters$/i],
  ['metadata', /[.:]metadata$/i],
  ['input', /(?:^|[._:]|span|trace)inputs?(?:_json|_data|_text)?$|\.(?:llm_request|tool_call_args|tool_args)$|^request_data$/i],
  ['output', /(?:^|[._:]|span|trace)outputs?(?:_json|_data|_text)?$|\.(?:llm_response|tool_response)$|^response_data$/i],
  ['input', /^gcp\.vertex\.agent\.data$|^lk\.(?:user_transcript|chat_ctx)$|^(?:agent|llm)(?:\.\w+)?\.messages$/],
  ['output', /^lk\.response\.text$|\.result$|^llm\.\w+\.choices$/],
];

/** Names that say what others are a part of: what follows is the name of a value of the metadata. */
const PART_OF_METADATA = /^(?:[\w-]+\.)*?(?:metadata|association\.properties)\.([^.].*)$/;
/** Names that the conventions have readers for: with the same endings they say something else. */
const ofConventions =
  /^(?:gen_ai|ai|llm|openinference|embedding|reranker|retrieval|document|message|tool|input|output|metadata)\./;
const readByEndings = /^(?:gen_ai\.task\.(?:input|output)|llm(?:\.\w+)?\.messages|llm\.\w+\.choices)$/;
/** Names of what happens around models: nothing of a database, a machine or a request is the input of a step or its session. */
const general = new RegExp(
  `^(?!gcp\\.vertex\\.|enduser\\.id$)(?:${[
    ...[
      'aws',
      'azure',
      'browser',
      'cicd',
      'client',
      'cloud',
      'cloudevents',
      'code',
      'container',
      'db',
      'deployment',
      'destination',
    ],
    ...[
      'device',
      'disk',
      'dns',
      'dotnet',
      'enduser',
      'error',
      'exception',
      'faas',
      'feature_flag',
      'file',
      'gcp',
      'graphql',
      'host',
    ],
    ...[
      'http',
      'hw',
      'jsonrpc',
      'jvm',
      'k8s',
      'mcp',
      'messaging',
      'net',
      'network',
      'nodejs',
      'os',
      'otel',
      'peer',
      'process',
      'rpc',
    ],
    ...['server', 'service', 'source', 'system', 'telemetry', 'thread', 'tls', 'url', 'user_agent', 'vcs', 'webengine'],
  ].join('|')})\\.`,
);
const isGeneral = (name: string): boolean => general.test(name);
/** LangSmith calls its projects sessions, and the kinds of OpenLLMetry are read with its operations. */
const otherwise: ReadonlySet<string> = new Set(['langsmith.trace.session_id', 'traceloop.span.kind', 'openinference.span.kind']);

/** The names of a span's attributes that mean something, and those of its metadata with their short names. */
export interface OwnNames {
  by: Partial<Record<Meaning, readonly string[]>>;
  metadata: readonly (readonly [name: string, short: string])[];
}

/** Finds the meanings of names. What is said of the span comes before what is said of its trace. */
export function ownNamesIn(names: readonly string[]): OwnNames {
  const by: Partial<Record<Meaning, string[]>> = {};
  const metadata: [string, string][] = [];
  for (const name of names) {
    if (isGeneral(name) || otherwise.has(name) || /\.\d+(?:\.|$)/.test(name)) continue;
    const short = PART_OF_METADATA.exec(name)?.[1];
    if (short !== undefined) metadata.push([name, short]);
    const meaning = meaningOf(name);
    if (meaning === undefined) continue;
    by[meaning] ??= [];
    by[meaning].push(name);
  }
  for (const found of Object.values(by)) found.sort((one, other) => Number(ofTrace.test(one)) - Number(ofTrace.test(other)));
  return { by, metadata };
}

const ofTrace = /(?:^|[.:])trace/i;

function meaningOf(name: string): Meaning | undefined {
  const meaning = endings.find(([, ending]) => ending.test(name))?.[0];
  if (meaning === 'output' && /expected_?output|reference_?output/i.test(name)) return undefined; // what is wanted, not what came
  const isContent =
    meaning === 'input' || meaning === 'output' || meaning === 'model' || meaning === 'metadata' || meaning === 'kind';
  return isContent && ofConventions.test(name) && !readByEndings.test(name) ? undefined : meaning;
}

/** Names of the conventions that are metadata and nothing else: settings of the request, and who did what. */
const settled =
  /^(?:gen_ai\.(?:operation|workflow|openai|system|provider|request|agent|usage|token|framework|output\.type|event|task\.(?!input|output)|tool\.(?:name|type|description|status|json_schema|definitions|call\.id)|response\.(?:id|service_tier|finish_reasons?))|llm\.(?:provider|system|request|invocation_parameters|is_streaming|usage|token_count|cost)|graph\.node|ai\.(?:operationId|settings|model|usage|telemetry|request|response\.(?:id|timestamp|model))|openinference|tool\.(?:name|description|parameters)|traceloop\.(?:workflow|entity\.(?:name|path))|langsmith\.(?:trace|span|request)|operation|resource|session|user|span|logfire|event)\b(?!_)/;
/** Endings of names, whichever library they are of, that no input, output or figure has. */
const settledEndings =
  /(?:[._]|[a-z](?=[A-Z]))(?:ids?|names?|status|type|version|step|index|time|timestamp|duration|url|uri|base|host|port|path|key|hash|ratio|percent|enabled|streaming|object|created|json_schema|finish_?reasons?|tool_?choice|tools|model|provider|user)$/i;
const kept: ReadonlySet<Meaning | undefined> = new Set<Meaning>(['kind', 'session', 'user', 'tags', 'metadata', 'parameters']);

/**
 * Returns the prefixed names that became a mere entry of the metadata, so that the sender can see that they mean nothing more here. A name without a
 * prefix is the application's own.
 */
export function unknownNames(names: readonly string[]): ReadonlySet<string> {
  const parts = new Set(ownNamesIn(names).metadata.map(([name]) => name));
  return new Set(
    names.filter(
      (name) =>
        /[.:]/.test(name) &&
        !isGeneral(name) &&
        !settled.test(name) &&
        !settledEndings.test(name) &&
        !parts.has(name) &&
        !kept.has(meaningOf(name)),
    ),
  );
}

/** Kinds of spans by the words of libraries. */
type OwnKind = 'llm' | 'tool' | 'retriever' | 'agent' | 'embedding' | 'step';

const kinds: ReadonlyMap<string, OwnKind> = new Map(
  Object.entries({
    llm: 'llm llm_call llm_request llm_generation generation model model_call model_generation chat_model chat completion',
    tool: 'tool tool_call mcp_tool_call execute_tool tool_execution tool_v2',
    retriever: 'retriever retrieval reranker rerank reranking',
    agent: 'agent agent_run invoke_agent',
    embedding: 'embedding embeddings embedder',
    step: 'prompt parser guardrail evaluator memory',
  } satisfies Record<OwnKind, string>).flatMap(([kind, words]) =>
    words.split(' ').map((word): [string, OwnKind] => [word, kind as OwnKind]),
  ),
);

/** The kind that a library's word names; undefined for the words that any step is called by, such as `span`, `chain` and `function`. */
export const kindNamed = (word: string): OwnKind | undefined => kinds.get(wordsOf(word).join('_'));
