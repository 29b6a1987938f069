import type { ChatMessage } from '../providers/chatMessage.ts';
import type { CreateLLMScorerAutogenRequest } from '../wire/judgeDrafts.ts';
import { judgePlaceholders } from '../wire/judgePlaceholders.ts';
import type { OutputType } from '../wire/scorers.ts';

const answers: Record<OutputType, string> = {
  boolean: 'true or false: ask a question that is answered by yes or no',
  percentage:
    'a rating from 0 to 100, which is stored as 0 to 1: say what the lowest and the highest rating mean, and name no other scale',
  count: 'a whole number of things: say exactly what is counted',
  discrete: 'a grade: give its "range" with the whole numbers "min" and "max", and say in the prompt what each grade means',
  categorical: 'one of several labels: give them as "categories", and say in the prompt when each is right',
  multilabel: 'those of several labels that apply: give them as "categories", and say in the prompt when each applies',
  boolean_multilabel:
    'true or false of each of several labels: give them as "categories", and say in the prompt when each is true',
  retrieved_chunk_list_boolean:
    'true or false of each document that was retrieved: ask about one document, as the judge decides on each by itself',
  freeform: 'a short text',
};

const placeholders = Object.entries(judgePlaceholders)
  .map(([name, { shows }]) => `- {{${name}}}: ${shows}`)
  .join('\n');

/** Writes the messages that ask a model for a judge. */
export function draftMessages({
  instructions,
  output_type,
  scoreable_node_types: kinds,
}: CreateLLMScorerAutogenRequest): ChatMessage[] {
  const content = [
    'Write the prompt of a judge: a model that is shown a record of what an AI application did, and that decides one thing about it.',
    `What the judge is to decide, in the words of who needs it:\n${instructions}`,
    `The judge answers with ${answers[output_type]}.`,
    ...(kinds.length > 0 ? [`It looks at records of these kinds: ${kinds.join(', ')}.`] : []),
    `The prompt shows parts of the record by these placeholders, and by no others. Use those that the question needs; a record that lacks one of them is not judged:\n${placeholders}`,
    'Say the criteria so that two careful people would decide alike: what counts, what does not, and how borderline cases are decided. Do not say in which form the judge answers: that is added.',
    'Answer with one JSON object: "name" (a short name of what is measured), "description" (one sentence), "user_prompt" (the prompt), and where it was asked for "categories" (an array of texts) or "range".',
  ].join('\n\n');
  return [
    {
      role: 'system',
      content: 'You write prompts for impartial evaluators of AI applications. You answer with one JSON object and nothing else.',
    },
    { role: 'user', content },
  ];
}

/** Writes the messages that ask a model for another draft in place of one that cannot be used. */
export const mendDraft = (answer: string, problem: string): ChatMessage[] => [
  { role: 'assistant', content: answer },
  { role: 'user', content: `This cannot be used: ${problem}. Answer with the whole JSON object again, mended.` },
];
