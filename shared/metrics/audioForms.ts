import { actionCompletion } from './actionCompletion.ts';
import { contextAdherence } from './contextAdherence.ts';
import { correctness } from './correctness.ts';
import { groundTruthAdherence } from './groundTruthAdherence.ts';
import { JUDGED_ALARM } from './groups.ts';
import { inputToxicity } from './inputToxicity.ts';
import { hasAudio } from './judging/images.ts';
import type { Metric } from './metric.ts';
import { outputToxicity } from './outputToxicity.ts';
import { reasoningCoherence } from './reasoningCoherence.ts';
import { userIntentChange } from './userIntentChange.ts';

type Described = Omit<Metric, 'name' | 'needs' | 'score'>;

/**
 * A metric of sounds. Clients ask for it by name and must find it, while judges are sent texts and images alone: there is never a value, and each record
 * says why. It calls no model, so it needs no judge.
 */
function audio({ readsSpans: _, ...described }: Described, name: string): Metric {
  return {
    ...described,
    name,
    label: `${described.label} (Audio)`,
    description: `${described.description} Never computed: judges take texts and images, and no sound.`,
    needs: 'code',
    needsReference: false,
    needsParts: ['audio'],
    multimodal: 'audio',
    score: (record) => ({
      notApplicable: hasAudio(record) ? 'judges take texts and images: no sound can be sent to them' : 'the record has no audio',
    }),
  };
}

const interruption: Described = {
  ...JUDGED_ALARM,
  label: 'Interruption Detection',
  description: 'Whether one speaker cut the other off.',
  groupLabel: 'Expression and Style Metrics',
  kinds: ['session'],
};

/** Metrics of records with sounds, by the wire names that clients have for them. */
export const audioForms: readonly Metric[] = [
  audio(actionCompletion, 'action_completion_audio'),
  audio(contextAdherence, 'context_adherence_audio'),
  audio(correctness, 'correctness_audio'),
  audio(groundTruthAdherence, 'ground_truth_adherence_audio'),
  audio(inputToxicity, 'input_toxicity_audio'),
  audio(interruption, 'interruption_detection'),
  audio(outputToxicity, 'output_toxicity_audio'),
  audio(reasoningCoherence, 'reasoning_coherence_audio'),
  audio(userIntentChange, 'user_intent_change_audio'),
];
