import { actionAdvancement } from './actionAdvancement.ts';
import { actionCompletion } from './actionCompletion.ts';
import { agentEfficiency } from './agentEfficiency.ts';
import { agentFlow } from './agentFlow.ts';
import { audioForms } from './audioForms.ts';
import { bleu } from './bleu.ts';
import { chunkAttributionUtilization } from './chunkAttributionUtilization.ts';
import { chunkRelevance } from './chunkRelevance.ts';
import { completeness } from './completeness.ts';
import { contains } from './contains.ts';
import { contextAdherence } from './contextAdherence.ts';
import { contextPrecision } from './contextPrecision.ts';
import { contextRelevance } from './contextRelevance.ts';
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
import { precisionAtK } from './precisionAtK.ts';
import { promptInjection } from './promptInjection.ts';
import { promptPerplexity } from './promptPerplexity.ts';
import { reasoningCoherence } from './reasoningCoherence.ts';
import { rouge } from './rouge.ts';
import { similarity } from './similarity.ts';
import { sqlAdherence } from './sqlAdherence.ts';
import { sqlCorrectness } from './sqlCorrectness.ts';
import { sqlEfficiency } from './sqlEfficiency.ts';
import { sqlInjection } from './sqlInjection.ts';
import { toolErrorRate } from './toolErrorRate.ts';
import { toolSelectionQuality } from './toolSelectionQuality.ts';
import { totalTokens } from './totalTokens.ts';
import { toxicity } from './toxicity.ts';
import { tunedForms } from './tunedForms.ts';
import { uncertainty } from './uncertainty.ts';
import { userIntentChange } from './userIntentChange.ts';
import { visionForms } from './visionForms.ts';
import { visualFidelity } from './visualFidelity.ts';
import { visualQuality } from './visualQuality.ts';

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
  contextRelevance,
  contextPrecision,
  precisionAtK,
  chunkRelevance,
  chunkAttributionUtilization,
  reasoningCoherence,
  conversationQuality,
  userIntentChange,
  actionCompletion,
  actionAdvancement,
  agentEfficiency,
  agentFlow,
  toolSelectionQuality,
  sqlAdherence,
  sqlCorrectness,
  sqlEfficiency,
  sqlInjection,
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
  uncertainty,
  promptPerplexity,
  visualFidelity,
  visualQuality,
  ...visionForms,
  ...audioForms,
  ...tunedForms,
];
