import { bleu } from './bleu.ts';
import { completeness } from './completeness.ts';
import { contains } from './contains.ts';
import { contextAdherence } from './contextAdherence.ts';
import { conversationQuality } from './conversationQuality.ts';
import { correctness } from './correctness.ts';
import { exactMatch } from './exactMatch.ts';
import { groundTruthAdherence } from './groundTruthAdherence.ts';
import { inputPii } from './inputPii.ts';
import { inputSexism } from './inputSexism.ts';
import { inputTokens } from './inputTokens.ts';
import { inputTone } from './inputTone.ts';
import { inputToxicity } from './inputToxicity.ts';
import { instructionAdherence } from './instructionAdherence.ts';
import { jsonValidity } from './jsonValidity.ts';
import { latency } from './latency.ts';
import type { Metric } from './metric.ts';
import { numericMatch } from './numericMatch.ts';
import { outputPii } from './outputPii.ts';
import { outputSexism } from './outputSexism.ts';
import { outputTokens } from './outputTokens.ts';
import { outputTone } from './outputTone.ts';
import { outputToxicity } from './outputToxicity.ts';
import { promptInjection } from './promptInjection.ts';
import { reasoningCoherence } from './reasoningCoherence.ts';
import { rouge } from './rouge.ts';
import { similarity } from './similarity.ts';
import { toolErrorRate } from './toolErrorRate.ts';
import { totalTokens } from './totalTokens.ts';
import { toxicity } from './toxicity.ts';

/** Every built-in metric, in the order in which the catalogs list them. */
export const builtinMetrics: readonly Metric[] = [
  exactMatch,
  numericMatch,
  contains,
  similarity,
  bleu,
  rouge,
  jsonValidity,
  latency,
  inputTokens,
  outputTokens,
  totalTokens,
  toolErrorRate,
  correctness,
  groundTruthAdherence,
  completeness,
  instructionAdherence,
  contextAdherence,
  reasoningCoherence,
  conversationQuality,
  toxicity,
  inputToxicity,
  outputToxicity,
  inputSexism,
  outputSexism,
  inputPii,
  outputPii,
  inputTone,
  outputTone,
  promptInjection,
];
