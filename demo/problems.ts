import { readFileSync } from 'node:fs';

/** A row of the demo's dataset, as it stands in `problems.jsonl`. */
export interface Problem {
  input: string;
  output: string;
  metadata: { topic: string; working: string };
}

export const problemsFile = new URL('./problems.jsonl', import.meta.url);

export const readProblems = (): Problem[] =>
  readFileSync(problemsFile, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Problem);
