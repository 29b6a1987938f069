import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

/** The prompts of the catalogue's judges, a file each. */
const PROMPTS = join(import.meta.dirname, '../prompts');

const Head = z.strictObject({
  purpose: z.string().min(1),
  /** Names of the texts that the judge is shown. */
  inputs: z.array(z.string().min(1)).min(1),
  /** The labels that it chooses from, or else the form of its answer. */
  choices: z.union([z.string().min(1), z.array(z.string().min(1)).min(2)]),
});

interface JudgePrompt extends z.output<typeof Head> {
  task: string;
  /** The choices where they are a list. */
  labels: readonly string[];
}

/**
 * Reads the file of a judge's prompt. Lines of a paragraph are joined by a space, so that each sentence may have a line of its own.
 * @throws Error naming the file and the part that is missing
 */
export function readJudgePrompt(file: string, text: string): JudgePrompt {
  const [, head, body = ''] = /^---\r?\n(.*?)\r?\n---\r?\n(.*)$/s.exec(text) ?? [];
  if (head === undefined) throw new Error(`${file} does not begin with its purpose, inputs and choices between two lines of ---`);
  const read = Head.safeParse(parse(head));
  if (!read.success) throw new Error(`${file}: ${z.prettifyError(read.error)}`);
  const paragraphs = body.trim().split(/(?:\r?\n){2,}/);
  const task = paragraphs.map((paragraph) => paragraph.split(/\r?\n/).join(' ')).join('\n\n');
  if (task === '') throw new Error(`${file} has no prompt below its head`);
  const { choices } = read.data;
  return { ...read.data, task, labels: Array.isArray(choices) ? choices : [] };
}

/** Read once, with the metrics: a service with a broken file does not start. */
export const judgePrompts: ReadonlyMap<string, JudgePrompt> = new Map(
  readdirSync(PROMPTS).map((file) => [
    file.replace(/\.md$/, ''),
    readJudgePrompt(file, readFileSync(join(PROMPTS, file), 'utf8')),
  ]),
);

/** The prompt of the file of this name. */
export function judgePrompt(name: string): JudgePrompt {
  const prompt = judgePrompts.get(name);
  if (!prompt) throw new Error(`there is no file ${name}.md in ${PROMPTS}`);
  return prompt;
}
