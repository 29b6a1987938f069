import { extname } from 'node:path';
import type { GateResult } from '../../client/index.ts';
import { usageError } from '../terminal/commandError.ts';
import { type ExitCode, exitCodes } from '../terminal/exitCodes.ts';
import { withoutControlCharacters } from '../terminal/terminal.ts';
import { gateJunit } from './gateJunit.ts';
import { gateMarkdown } from './gateMarkdown.ts';
import { gateWords, shownTags } from './gateWords.ts';

export const gateFormats = ['text', 'markdown', 'junit', 'json'] as const;
export type GateFormat = (typeof gateFormats)[number];

const endings: Record<string, GateFormat> = { '.txt': 'text', '.md': 'markdown', '.xml': 'junit', '.json': 'json' };

/** The format of a file, by its name. @throws CommandError where the name does not say it */
export function gateFormatOf(path: string): GateFormat {
  const format = endings[extname(path).toLowerCase()];
  if (!format)
    throw usageError(`${path} does not say what it is to hold: end it with .md, .xml (JUnit), .json or .txt, or add --format`);
  return format;
}

export const gateExitCodes: Record<GateResult['status'], ExitCode> = {
  passed: exitCodes.done,
  failed: exitCodes.gateFailed,
  undecided: exitCodes.notEnoughRows,
};

/** @param link where the experiment is shown */
export function gateReport(format: GateFormat, gate: GateResult, link: string): string {
  switch (format) {
    case 'text':
      return gateText(gate);
    case 'markdown':
      return gateMarkdown(gate, link);
    case 'junit':
      return gateJunit(gate);
    case 'json':
      return JSON.stringify(gate, null, 2);
  }
}

function gateText({ status, experiment, baseline, baseline_choice: choice, checks, warnings }: GateResult): string {
  const tags = baseline ? shownTags(baseline) : [];
  const against = baseline ? ` against ${JSON.stringify(baseline.name)}${tags.length > 0 ? ` (${tags.join(', ')})` : ''}` : '';
  const width = Math.max(...checks.map((check) => gateWords[check.status].length));
  return withoutControlCharacters(
    [
      `gate ${gateWords[status]}: ${JSON.stringify(experiment.name)}${against}`,
      ...(choice ? [`  baseline: ${choice}`] : []),
      ...checks.map((check) => `  ${gateWords[check.status].padEnd(width)}  ${check.reason}`),
      ...warnings.map((warning) => `  warning: ${warning}`),
    ].join('\n'),
  );
}
